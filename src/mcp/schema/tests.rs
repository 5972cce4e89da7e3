use pretty_assertions::assert_eq;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Constraint, Fault, Validator};

fn validator(schema: &Value) -> Validator {
    Validator::new(schema).unwrap()
}

#[test]
fn fault_has_place_keyword_and_kind() {
    let schema = json!({
        "$defs": {"a/b": {"properties": {"n": {"type": ["integer", "null"], "minimum": 2}}, "additionalProperties": false}},
        "properties": {"list": {"items": {"$ref": "#/$defs/a~1b"}}, "word": {"enum": ["a"]}, "same": {"const": 1.0}},
        "required": ["word", "other"],
        "patternProperties": {"^x(?!y)": {"pattern": "^[0-9]+$"}},
    });
    let value = json!({"list": [{"n": 1}, {"n": 0.5}, {"n": 2.0, "m": 3}], "word": "b", "same": 1, "xa": "b", "xy": "b"});
    let fault = |place: &str, keyword: &str, kind| (place.to_owned(), keyword.to_owned(), kind);
    let faults: Vec<_> = validator(&schema)
        .faults(&value, 10)
        .into_iter()
        .map(|fault| (fault.place, fault.keyword, fault.kind))
        .collect();
    assert_eq!(
        faults,
        [
            fault(
                "/list/0/n",
                "/$defs/a~1b/properties/n/minimum",
                Constraint::Other("be at least 2".to_owned())
            ),
            fault(
                "/list/1/n",
                "/$defs/a~1b/properties/n/type",
                Constraint::Type(vec!["integer".to_owned(), "null".to_owned()])
            ),
            fault(
                "/list/1/n",
                "/$defs/a~1b/properties/n/minimum",
                Constraint::Other("be at least 2".to_owned())
            ),
            fault(
                "/list/2",
                "/$defs/a~1b/additionalProperties",
                Constraint::Unexpected(vec!["m".to_owned()])
            ),
            fault(
                "/word",
                "/properties/word/enum",
                Constraint::Enum(json!(["a"]))
            ),
            fault("", "/required", Constraint::Required("other".to_owned())),
            fault(
                "/xa",
                "/patternProperties/^x(?!y)/pattern",
                Constraint::Pattern("^[0-9]+$".to_owned())
            ),
        ]
    );
    let all = validator(&schema);
    let first = all.faults(&value, 1);
    assert_eq!(
        first[0],
        Fault {
            value: &value["list"][0]["n"],
            ..all.faults(&value, 10)[0].clone()
        }
    );
    assert_eq!(first.len(), 1);
}

#[test]
fn invalid_schema_is_rejected_with_place() {
    let refused = [
        (
            json!(5),
            "at ``: 5 is not a schema; a schema is an object, true or false",
        ),
        (
            json!({"properties": {"a": {"type": "text"}}}),
            "at `/properties/a/type`: \"text\" is not a type; types are null, boolean, string, \
             array, object, number, integer",
        ),
        (
            json!({"items": {"$ref": "https://example.com/s"}}),
            "at `/items/$ref`: `https://example.com/s` is not in this schema, and other schemas \
             are not fetched",
        ),
        (
            json!({"$ref": "#/$defs/none"}),
            "at `/$ref`: `#/$defs/none` is not in this schema, and other schemas are not fetched",
        ),
        (json!({"anyOf": {}}), "at `/anyOf`: {} is not a list"),
        (
            json!({"not": 1}),
            "at `/not`: 1 is not a schema; a schema is an object, true or false",
        ),
        (
            json!({"minLength": -1}),
            "at `/minLength`: -1 is not a count",
        ),
    ];
    for (schema, message) in refused {
        assert_eq!(Validator::new(&schema).unwrap_err(), message);
    }
    let pattern = Validator::new(&json!({"pattern": "("})).unwrap_err();
    assert!(
        pattern.starts_with("at `/pattern`: `(` is not a valid pattern: "),
        "{pattern}"
    );
    let deep = (0..200).fold(json!(true), |schema, _| json!({"not": schema}));
    assert!(
        Validator::new(&deep)
            .unwrap_err()
            .ends_with("schemas are nested more than 128 deep")
    );
}

#[test]
fn recursive_schema_terminates() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}),
        json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}], "unevaluatedProperties": false}),
    ] {
        let value = json!({"a": 1});
        assert!(!validator(&schema).is_valid(&value));
    }
}

#[test]
fn references_resolve_by_pointer_id_and_anchor() {
    let schema = json!({
        "$id": "https://example.com/all",
        "$defs": {"named": {"$id": "part", "type": "string"}, "anchored": {"$anchor": "here", "type": "null"}, "a b": {"type": "array"}},
        "properties": {
            "self": {"$ref": "#"},
            "whole": {"$ref": "https://example.com/all#/$defs/named"},
            "part": {"$ref": "part"},
            "here": {"$ref": "#here"},
            "quoted": {"$ref": "#/$defs/a%20b"},
        },
    });
    let validator = validator(&schema);
    let good =
        json!({"self": {"part": "s"}, "whole": "s", "part": "s", "here": null, "quoted": []});
    assert_eq!(validator.faults(&good, 9), []);
    let bad = json!({"self": {"part": 1}, "whole": 1, "part": 1, "here": 1, "quoted": 1});
    let places: Vec<String> = validator
        .faults(&bad, 9)
        .into_iter()
        .map(|fault| fault.place)
        .collect();
    assert_eq!(
        places,
        ["/self/part", "/whole", "/part", "/here", "/quoted"]
    );
}

#[test]
fn earlier_drafts_keep_their_meaning() {
    let holds = |schema: &Value, value: Value| validator(schema).is_valid(&value);
    let tuple = json!({"items": [{"type": "integer"}], "additionalItems": {"type": "string"}});
    assert!(holds(&tuple, json!([1, "a"])) && !holds(&tuple, json!([1, 2])));
    let dependencies = json!({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}});
    assert!(
        holds(&dependencies, json!({"a": 1, "b": 1})) && !holds(&dependencies, json!({"a": 1}))
    );
    assert!(
        holds(&dependencies, json!({"c": 1, "d": 1})) && !holds(&dependencies, json!({"c": 1}))
    );
    let more =
        json!({"minimum": 1, "exclusiveMinimum": true, "maximum": 3, "exclusiveMaximum": true});
    assert!(holds(&more, json!(2)) && !holds(&more, json!(1)) && !holds(&more, json!(3)));
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..6_i64).prop_map(Value::from),
        (-4..9_i32).prop_map(|half| Value::from(f64::from(half) / 2.0)),
        "[ab1]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map("[abc]", inner, 0..4).prop_map(|members| json!(members))
        ]
    })
}

fn schemas() -> impl Strategy<Value = Value> {
    let kind = || {
        prop::sample::select(vec![
            "null", "boolean", "string", "array", "object", "number", "integer",
        ])
    };
    let count = || 0..4_u64;
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        kind().prop_map(|kind| json!({"type": kind})),
        vec(kind(), 1..3)
            .prop_filter("no type twice", |kinds| kinds.len() == 1
                || kinds[0] != kinds[1])
            .prop_map(|kinds| json!({"type": kinds})),
        vec(values(), 1..3)
            .prop_filter("no value twice", |values| values.len() == 1
                || !super::is_equal(&values[0], &values[1]))
            .prop_map(|values| json!({"enum": values})),
        values().prop_map(|value| json!({"const": value})),
        (
            -2..4_i64,
            prop::sample::select(vec![
                "minimum",
                "maximum",
                "exclusiveMinimum",
                "exclusiveMaximum"
            ])
        )
            .prop_map(|(bound, keyword)| json!({keyword: bound})),
        prop::sample::select(vec![json!(1), json!(2), json!(0.5), json!(1.5)])
            .prop_map(|of| json!({"multipleOf": of})),
        (
            count(),
            prop::sample::select(vec![
                "minLength",
                "maxLength",
                "minItems",
                "maxItems",
                "minProperties",
                "maxProperties"
            ])
        )
            .prop_map(|(count, keyword)| json!({keyword: count})),
        Just(json!({"uniqueItems": true})),
        prop::sample::select(vec!["^a", "b$", "^[ab]+$", "(?=a).b", "1"])
            .prop_map(|pattern| json!({"pattern": pattern})),
        vec("[abc]", 0..3).prop_map(|mut names| {
            names.sort();
            names.dedup();
            json!({"required": names})
        }),
        ("[abc]", "[abc]").prop_map(|(one, other)| json!({"dependentRequired": {one: [other]}})),
        Just(json!({"$ref": "#/$defs/d"})),
    ];
    leaf.prop_recursive(4, 40, 4, move |inner| {
        let list = || vec(inner.clone(), 1..3);
        let named = || btree_map("[abc]", inner.clone(), 1..3);
        prop_oneof![
            (list(), prop::sample::select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]))
                .prop_map(|(list, keyword)| json!({keyword: list})),
            (
                inner.clone(),
                prop::sample::select(vec![
                    "not",
                    "items",
                    "contains",
                    "propertyNames",
                    "additionalProperties",
                    "unevaluatedItems",
                    "unevaluatedProperties"
                ])
            )
                .prop_map(|(one, keyword)| json!({keyword: one})),
            named().prop_map(|named| json!({"properties": named})),
            named().prop_map(|named| json!({"dependentSchemas": named})),
            inner.clone().prop_map(|one| json!({"patternProperties": {"^[ab]": one}})),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(one, then, other)| json!({"if": one, "then": then, "else": other})),
            (inner.clone(), count(), count())
                .prop_map(|(one, least, most)| json!({"contains": one, "minContains": least, "maxContains": most})),
            // Several keywords beside each other.
            vec(inner, 2..5).prop_map(|all| {
                let mut members = serde_json::Map::new();
                for one in all {
                    if let Value::Object(more) = one {
                        members.extend(more);
                    }
                }
                Value::Object(members)
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn verdict_agrees_with_jsonschema(mut schema in schemas(), definition in schemas(), values in vec(values(), 8)) {
        if let Value::Object(members) = &mut schema {
            // A definition that refers to itself never ends.
            let definition = if definition.to_string().contains("$ref") { json!({"type": "string"}) } else { definition };
            members.insert("$defs".to_owned(), json!({"d": definition}));
        } else {
            return Ok(());
        }
        let (own, peer) = (validator(&schema), jsonschema::validator_for(&schema).unwrap());
        for value in &values {
            prop_assert_eq!(own.is_valid(value), peer.is_valid(value), "{} against {}", value, &schema);
        }
    }
}
