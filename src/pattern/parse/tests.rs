use super::*;
use crate::class;
use pretty_assertions::assert_eq;

fn tree(source: &str) -> Tree {
    parse(source, Options::default()).unwrap_or_else(|error| panic!("{source}: {error}"))
}

fn root(source: &str) -> Node {
    tree(source).root
}

fn chars(text: &str) -> Node {
    Node::Concat(text.chars().map(Node::Char).collect())
}

fn reference(group: u32) -> Node {
    Node::BackReference {
        groups: vec![group],
        ignore_case: false,
    }
}

fn class(ranges: &[(char, char)]) -> Node {
    Node::Class(Class::new(ranges.iter().copied()))
}

fn refusal(source: &str) -> (&'static str, usize) {
    match parse(source, Options::default()) {
        Err(PatternError::Syntax { reason, offset, .. }) => (reason, offset),
        other => panic!("{source}: {other:?}"),
    }
}

#[test]
fn pattern_parses_to_expected_tree() {
    let repeat = |min, max, greedy, body: Node, groups| Node::Repeat {
        min,
        max,
        greedy,
        body: Box::new(body),
        groups,
    };
    let group = |index, body: Node| Node::Group {
        index,
        body: Box::new(body),
    };
    let expected = Node::Alternation(vec![
        Node::Concat(vec![
            Node::Start { lines: true },
            repeat(0, None, false, group(1, Node::Char('a')), 1..2),
            Node::Look {
                behind: true,
                negated: true,
                body: Box::new(group(2, Node::Empty)),
            },
        ]),
        Node::Empty,
        Node::Concat(vec![
            repeat(2, Some(3), true, Node::WordBoundary { negated: true }, 3..3),
            reference(2),
        ]),
    ]);
    // `\B` itself cannot be repeated, a group around it can.
    assert_eq!(root("^(a)*?(?<!())||(?:\\B){2,3}\\2"), expected);
}

#[test]
fn group_names_are_found_anywhere() {
    let tree = tree(
        "\\k<b>(?<a>x)|(?<b>y)(?<\\u{61}\\ud83d\\ude00_\\u0061>z)"
            .replace("\\ud83d\\ude00", "")
            .as_str(),
    );
    assert_eq!(tree.groups, 3);
    assert_eq!(
        tree.names,
        [("a".into(), 1), ("b".into(), 2), ("a_a".into(), 3)]
    );
    let Node::Alternation(alternatives) = tree.root else {
        panic!("{:?}", tree.root)
    };
    let Node::Concat(first) = &alternatives[0] else {
        panic!("{:?}", alternatives[0])
    };
    assert_eq!(first[0], reference(2));
    let twice = root("(?:(?<x>a)|(?<x>b))\\k<x>");
    let Node::Concat(parts) = twice else {
        panic!("{twice:?}")
    };
    assert_eq!(
        parts[1],
        Node::BackReference {
            groups: vec![1, 2],
            ignore_case: false
        }
    );
    assert_eq!(root("(?<Ünï_$1>)"), root("()"));
}

#[test]
fn duplicate_name_needs_different_alternatives() {
    for good in [
        "(?<a>)|(?<a>)",
        "(?:(?<a>)|(?:(?<a>)|(?<a>)))",
        "(?:(?<a>)|b)|(?<a>)",
        "(?<a>)|(?:(?<b>)|c)(?<a>)",
    ] {
        tree(good);
    }
    for bad in [
        "(?<a>)(?<a>)",
        "(?<a>(?<a>))",
        "(?:(?<a>)|b)(?<a>)",
        "(?<a>)(?:b|(?<a>))",
        "(?:(?<a>)|(?<b>))(?<b>)",
    ] {
        assert_eq!(refusal(bad).0, "Duplicate capture group name", "{bad}");
    }
}

#[test]
fn escapes_follow_annex_b() {
    for (source, expected) in [
        ("\\n\\r\\t\\v\\f", chars("\n\r\t\u{b}\u{c}")),
        ("\\cA\\cz\\c!", chars("\u{1}\u{1a}\\c!")),
        ("\\0\\7\\377\\400", chars("\0\u{7}\u{ff} 0")),
        ("\\8\\9\\08", chars("89\08")),
        ("\\x41\\x4\\xg", chars("Ax4xg")),
        ("\\u0041\\u004\\ug", chars("Au004ug")),
        ("\\a\\z\\A\\Q\\é", chars("azAQé")),
        ("\\k<a>", chars("k<a>")),
        ("{}a{,2}", chars("{}a{,2}")),
        ("x]{1", chars("x]{1")),
        ("\\ud83d\\ude00é", chars("😀é")),
        ("\\p{L}", chars("p{L}")),
    ] {
        assert_eq!(root(source), expected, "{source}");
    }
    assert_eq!(root("\\u{2}"), root("u{2}"));
    assert_eq!(
        root("(?:)\\01"),
        Node::Concat(vec![Node::Empty, Node::Char('\u{1}')])
    );
    let Node::Concat(parts) = root("()\\01\\1\\2") else {
        panic!("not a sequence")
    };
    assert_eq!(
        parts[1..],
        [Node::Char('\u{1}'), reference(1), Node::Char('\u{2}')]
    );
}

#[test]
fn character_classes_have_no_operators() {
    for (source, expected) in [
        ("[]", class(&[])),
        ("[^]", class(&[('\0', char::MAX)])),
        ("[[a&&b]", class(&[('[', '['), ('a', 'b'), ('&', '&')])),
        (
            "[\\w-z]",
            class(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z'), ('-', '-')]),
        ),
        ("[+-\\d]", class(&[('+', '+'), ('-', '-'), ('0', '9')])),
        (
            "[\\b\\c1\\c_\\c!-]",
            class(&[
                ('\u{8}', '\u{8}'),
                ('\u{11}', '\u{11}'),
                ('\u{1f}', '\u{1f}'),
                ('\\', '\\'),
                ('c', 'c'),
                ('!', '!'),
                ('-', '-'),
            ]),
        ),
        ("[a-]", class(&[('a', 'a'), ('-', '-')])),
        ("[\\ud83d\\ude00-\\ude4f]", class(&[('😀', '🙏')])),
        ("[\\xA0-\\uFFFF]", class(&[('\u{A0}', char::MAX)])),
        (
            ".",
            class(&[
                ('\0', '\t'),
                ('\u{b}', '\u{c}'),
                ('\u{e}', '\u{2027}'),
                ('\u{202a}', char::MAX),
            ]),
        ),
        ("(?s:.)", class(&[('\0', char::MAX)])),
    ] {
        assert_eq!(root(source), expected, "{source}");
    }
}

#[test]
fn surrogate_halves_are_joined() {
    for (source, expected) in [
        ("\\ud83d[\\ude00-\\ude4f]", class(&[('😀', '🙏')])),
        (
            "[\\ud800-\\udbff][\\udc00-\\udfff]",
            class(&[('\u{10000}', char::MAX)]),
        ),
        (
            "[\\ud83c\\ud83d]\\ude00",
            class(&[('\u{1f200}', '\u{1f200}'), ('😀', '😀')]),
        ),
        ("\\ud83d", class(&[])),
        ("[^\\ud83d]", class(&[('\0', char::MAX)])),
        ("[^\\ud800-\\udfff]", class(&[('\0', '\u{ffff}')])),
    ] {
        assert_eq!(root(source), expected, "{source}");
    }
    assert_eq!(
        class::SURROGATES,
        (*halves::LEAD.start(), *halves::TRAIL.end())
    );
}

#[test]
fn modifiers_apply_to_their_group() {
    assert_eq!(
        root("a(?i:a)a"),
        Node::Concat(vec![
            Node::Char('a'),
            class(&[('A', 'A'), ('a', 'a')]),
            Node::Char('a')
        ])
    );
    let all = root("(?i-m:^(?-i:k)()\\1$)");
    let Node::Concat(parts) = all else {
        panic!("{all:?}")
    };
    assert_eq!(parts[..2], [Node::Start { lines: false }, Node::Char('k')]);
    assert_eq!(
        parts[3..],
        [
            Node::BackReference {
                groups: vec![1],
                ignore_case: true
            },
            Node::End { lines: false }
        ]
    );
    let folded = parse(
        "[^a]s",
        Options {
            case_insensitive: true,
        },
    )
    .unwrap()
    .root;
    let expected = [
        class(&[('\0', '@'), ('B', '`'), ('b', char::MAX)]),
        class(&[('S', 'S'), ('s', 's')]),
    ];
    assert_eq!(folded, Node::Concat(expected.to_vec()));
}

#[test]
fn huge_repetition_count_is_clamped() {
    let counts = |source: &str| match root(source) {
        Node::Repeat { min, max, .. } => (min, max),
        other => panic!("{other:?}"),
    };
    assert_eq!(counts("a{0002,}"), (2, None));
    assert_eq!(counts("a{99999999999999999999999}"), (2_147_483_647, None));
    assert_eq!(counts("a{3,2147483646}"), (3, Some(2_147_483_646)));
}

#[test]
fn syntax_faults_use_v8_messages_and_offsets() {
    for (source, expected) in [
        ("a(b", ("Unterminated group", 1)),
        ("(?:(?=b)", ("Unterminated group", 0)),
        ("é)", ("Unmatched ')'", 2)),
        ("é[a", ("Unterminated character class", 2)),
        ("[a-", ("Unterminated character class", 0)),
        ("x\\", ("\\ at end of pattern", 1)),
        ("[\\", ("\\ at end of pattern", 1)),
        ("*a", ("Nothing to repeat", 0)),
        ("a|+", ("Nothing to repeat", 2)),
        ("a**", ("Nothing to repeat", 2)),
        ("^*", ("Nothing to repeat", 1)),
        ("\\b{2}", ("Nothing to repeat", 2)),
        ("{1}", ("Nothing to repeat", 0)),
        ("(?<=a)*", ("Invalid quantifier", 6)),
        ("a{2,1}", ("numbers out of order in {} quantifier", 1)),
        ("[xz-a]", ("Range out of order in character class", 2)),
        ("(?i)a", ("Invalid group", 0)),
        ("(?>a)", ("Invalid group", 0)),
        ("(?", ("Invalid group", 0)),
        ("(?ii:a)", ("Repeated flag in flag group", 0)),
        ("(?i--m:a)", ("Multiple dashes in flag group", 0)),
        ("(?-:a)", ("Invalid flag group", 0)),
        ("(?<1>a)", ("Invalid capture group name", 3)),
        ("(?<a", ("Invalid capture group name", 3)),
        ("(?<\\x61>a)", ("Invalid capture group name", 3)),
        ("(?<a>)\\k", ("Invalid named reference", 6)),
        ("(?<a>)\\k<b>", ("Invalid named capture referenced", 6)),
        ("(?<a>)[\\k]", ("Invalid escape", 7)),
    ] {
        assert_eq!(refusal(source), expected, "{source}");
    }
}

#[test]
fn syntax_hints_cover_usual_slips() {
    let hint = |source: &str| parse(source, Options::default()).unwrap_err().hint();
    assert!(hint("(?i)a").contains("`caseInsensitive`"));
    assert!(hint("a*+").contains("possessive"));
    assert!(hint("(?>a)").contains("atomic"));
    assert!(hint("(?P<a>b)").contains("`(?<name>...)`"));
    assert_eq!(
        parse("foo(", Options::default()).unwrap_err().to_string(),
        "invalid regular expression: Unterminated group at offset 3\n  foo(\n     ^"
    );
}

#[test]
fn pattern_size_and_depth_are_limited() {
    let bytes = MAX_PATTERN_BYTES + 1;
    assert_eq!(
        parse(&"a".repeat(bytes), Options::default()),
        Err(PatternError::TooLong { bytes })
    );
    let nested = |depth: usize| format!("{}a{}", "(?:".repeat(depth), ")*".repeat(depth));
    tree(&nested(MAX_PATTERN_DEPTH));
    let offset = MAX_PATTERN_DEPTH * 3;
    assert_eq!(
        parse(&nested(MAX_PATTERN_DEPTH + 1), Options::default()),
        Err(PatternError::TooDeep { offset })
    );
    let many = format!("{}{}", "(?<a>)|".repeat(4000), "\\k<a>".repeat(5000));
    assert_eq!(
        parse(&many, Options::default()),
        Err(PatternError::TooLarge)
    );
}
