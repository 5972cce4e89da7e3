//! What of a call changes from run to run and is left out of comparisons: declared, or learned from two recordings.
//!
//! Noise belongs to a place (protocol, target, method, path), of a database to a shape (protocol, target, a statement without its
//! values, a command of `MongoDB` and its collection), or to all calls. That of a command of Redis belongs to those that are the
//! same in all that is not left out: their first arguments say what is asked. What is recorded and what is asked are compared with
//! the same noise, so a key stays a key.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::body::{Body, Leaf};
use super::closest::short;
use super::key::{Place, header_fields, place};
use super::parts::Parts;
use super::{echoes, fields, learning};
use crate::pattern::{Options, Pattern};
use crate::record::call::{Content, Exchange, Http, HttpRequest, Protocol, Target};
use crate::record::redact;

/// The noise of one place.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    /// `body.order.id`, `query.t`, `header.range`: arrays do not show in a path, so `items[3].id` is `body.items.id`. Of databases
    /// `literal.3`, `param.2`, `arg.2`, `comment.1`.
    names: BTreeSet<String>,
    /// What values look like, with the text of each pattern.
    values: Vec<(String, Arc<Pattern>)>,
}

impl Fields {
    /// Those of these names, and of values in which one of these patterns is found. Fails when one cannot be used.
    pub(super) fn new(names: impl IntoIterator<Item = String>, values: &[String]) -> Result<Self, String> {
        let values = values.iter().map(|source| {
            let pattern = Pattern::new(source, Options { case_insensitive: false });
            pattern
                .map(|pattern| (source.clone(), Arc::new(pattern)))
                .map_err(|error| format!("the noise `{}` cannot be used: {error}", source.escape_debug()))
        });
        Ok(Self { names: names.into_iter().collect(), values: values.collect::<Result<_, _>>()? })
    }

    /// Whether a field is left out.
    pub fn has(&self, name: &str) -> bool {
        !self.names.is_empty() && self.names.contains(name)
    }

    /// Whether a value is left out. One that cannot be searched in time is not: a miss is better than a wrong answer.
    pub fn has_value(&self, value: &str) -> bool {
        self.pattern_of(value).is_some()
    }

    /// The pattern by which a value is left out.
    pub(super) fn pattern_of(&self, value: &str) -> Option<&str> {
        let is_in = |pattern: &Pattern| matches!(pattern.find_at(value, 0), Ok(Some(_)));
        self.values.iter().find(|(_, pattern)| is_in(pattern)).map(|(source, _)| source.as_str())
    }

    /// Whether the same is left out.
    pub fn is_same(&self, other: &Self) -> bool {
        let sources = |fields: &Self| fields.values.iter().map(|(source, _)| source.clone()).collect::<Vec<_>>();
        self.names == other.names
            && (self.values.is_empty() && other.values.is_empty() || sources(self) == sources(other))
    }

    /// Whether nothing is left out.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.values.is_empty()
    }

    fn add(&mut self, more: &Self) {
        self.names.extend(more.names.iter().cloned());
        for (source, pattern) in &more.values {
            if !self.values.iter().any(|(known, _)| known == source) {
                self.values.push((source.clone(), Arc::clone(pattern)));
            }
        }
    }
}

/// What a file declares as noise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredNoise {
    /// Fields, as `body.order.id`, `query.t` or `header.X-Request-Id`.
    pub fields: Vec<String>,
    /// Regular expressions of values.
    pub values: Vec<String>,
    /// Whether it is a list in the file.
    pub is_list: bool,
}

/// All noise of a set.
#[derive(Clone, Debug, Default)]
pub struct Noise {
    everywhere: Fields,
    places: HashMap<Place, Fields>,
    /// Of calls to databases.
    shapes: HashMap<Shape, Vec<Rule>>,
    is_exact: bool,
}

/// Calls to databases that the same noise may belong to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Shape {
    pub(super) protocol: Protocol,
    pub(super) target: Target,
    /// In words, without values.
    pub(super) text: String,
}

/// What is left out of calls of a shape.
#[derive(Clone, Debug)]
struct Rule {
    fields: Fields,
    /// What the others are like in all else; `None` if it belongs to all calls of the shape.
    alike: Option<HashSet<Vec<u8>>>,
}

impl Noise {
    /// Adds what is declared, for the place of a call, or for all without one. Fails, and adds nothing, when a pattern
    /// cannot be used.
    pub fn declare(&mut self, of: Option<&Exchange>, declared: &DeclaredNoise) -> Result<(), String> {
        let is_plain = |exchange: &Exchange| {
            matches!(exchange.content.protocol(), Protocol::Postgres | Protocol::MySql | Protocol::Redis)
        };
        let spelt = if of.is_some_and(is_plain) { str::to_ascii_lowercase } else { normal };
        let fields = Fields::new(declared.fields.iter().map(|name| spelt(name)), &declared.values)?;
        match of {
            Some(exchange) => self.put(exchange, &fields),
            None => self.everywhere.add(&fields),
        }
        Ok(())
    }

    /// Has values that each run makes anew choose as any other, if so.
    pub fn exactly(&mut self, is_exact: bool) {
        self.is_exact = is_exact;
    }

    /// Whether nothing is left out but what is declared or learned.
    pub(super) fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Adds noise of a call.
    pub(super) fn put(&mut self, exchange: &Exchange, fields: &Fields) {
        let Some((shape, parts)) = shape(exchange, &exchange.target) else {
            self.places.entry(place(exchange, &exchange.target)).or_default().add(fields);
            return;
        };
        if fields.is_empty() {
            return;
        }
        let rules = self.shapes.entry(shape).or_default();
        let kept = parts.is_narrow.then(|| parts.kept(fields));
        // All that is left out of a whole shape is one rule.
        let known = rules.iter_mut().find(|rule| kept.is_none() || rule.fields.is_same(fields));
        match (known, kept) {
            (Some(Rule { alike: Some(alike), .. }), Some(kept)) => drop(alike.insert(kept)),
            (Some(rule), _) => rule.fields.add(fields),
            (None, kept) => {
                let alike = kept.map(|kept| HashSet::from([kept]));
                rules.push(Rule { fields: fields.clone(), alike });
            }
        }
    }

    /// Adds another noise.
    pub fn add(&mut self, other: &Self) {
        self.everywhere.add(&other.everywhere);
        for (place, fields) in &other.places {
            self.places.entry(place.clone()).or_default().add(fields);
        }
        for (shape, rules) in &other.shapes {
            self.shapes.entry(shape.clone()).or_default().extend(rules.iter().cloned());
        }
    }

    /// The fields that changed between two recordings of the same run, and where they did.
    ///
    /// Calls of one place are paired in their order. A field is noise if it differs in a pair and none of the values that
    /// it had in one recording occurs in the other: an identifier or a time does that, a field that two calls have in
    /// another order does not. Calls of different shape or number teach nothing. Of the fields of the head that are in no key
    /// those count that would choose between the calls of a place. Of databases see `learning`.
    pub fn learn(a: &[Exchange], b: &[Exchange]) -> (Self, Vec<Lesson>) {
        let (mut noise, given) = (Self::default(), [given(a), given(b)]);
        let mut lessons = Vec::new();
        let mut theirs = by_place(b);
        for (place, ours) in by_place(a) {
            let theirs = theirs.remove(&place).unwrap_or_default();
            let calls = (ours.len(), theirs.len());
            let changes = if calls.0 == calls.1 { changed(&ours, &theirs, &given) } else { Vec::new() };
            if !changes.is_empty() {
                let names = changes.iter().map(|change| change.field.clone());
                noise.places.entry(place.clone()).or_default().names.extend(names);
            }
            if calls.0 != calls.1 || !changes.is_empty() {
                lessons.push(Lesson { place: place.to_string(), calls, changes });
            }
        }
        let theirs = theirs.into_iter().map(|(place, theirs)| (place.to_string(), (0, theirs.len())));
        lessons.extend(theirs.map(|(place, calls)| Lesson { place, calls, changes: Vec::new() }));
        lessons.extend(learning::learn(a, b, &given, &mut noise));
        (noise, lessons)
    }

    /// How many calls to databases one recording has that the other has not, this noise left out: of those nothing is learned.
    pub fn unlike(&self, a: &[Exchange], b: &[Exchange]) -> usize {
        let asked = |exchanges: &[Exchange]| {
            let calls = exchanges.iter().filter(|exchange| learning::counts(exchange)).filter_map(|exchange| {
                let (shape, parts) = shape(exchange, &exchange.target)?;
                let noise = self.own(exchange, &exchange.target);
                let parts = if noise.is_empty() { parts } else { Parts::of_call(exchange, &noise)? };
                // A command of which something is learned is answered however often one run says it.
                let is_learned = parts.is_narrow && parts.leaves_out(&noise);
                (!is_learned).then(|| (shape, parts.kept(&noise)))
            });
            calls.collect::<Vec<_>>()
        };
        let mut theirs: HashMap<(Shape, Vec<u8>), usize> = HashMap::new();
        for question in asked(b) {
            *theirs.entry(question).or_default() += 1;
        }
        let mut left = 0;
        for question in asked(a) {
            match theirs.get_mut(&question) {
                Some(count @ 1..) => *count -= 1,
                _ => left += 1,
            }
        }
        left
    }

    /// What is left out of a call by its place or shape, to be written beside it.
    pub fn learned(&self, exchange: &Exchange) -> Option<DeclaredNoise> {
        let Fields { names, values } = self.own(exchange, &exchange.target);
        let values: Vec<String> = values.into_iter().map(|(source, _)| source).collect();
        let any = !names.is_empty() || !values.is_empty();
        any.then(|| DeclaredNoise { fields: names.into_iter().collect(), values, is_list: false })
    }

    /// The noise of a call, as if it went to this target.
    pub(super) fn at(&self, exchange: &Exchange, target: &Target) -> Fields {
        let mut fields = self.everywhere.clone();
        fields.add(&self.own(exchange, target));
        fields
    }

    fn own(&self, exchange: &Exchange, target: &Target) -> Fields {
        let mut fields = self.places.get(&place(exchange, target)).cloned().unwrap_or_default();
        // Most sets have none of databases.
        if !self.shapes.is_empty()
            && let Some((shape, parts)) = shape(exchange, target)
        {
            let fits = |rule: &&Rule| rule.alike.as_ref().is_none_or(|alike| alike.contains(&parts.kept(&rule.fields)));
            for rule in self.shapes.get(&shape).into_iter().flatten().filter(fits) {
                fields.add(&rule.fields);
            }
        }
        fields
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.everywhere.is_empty() && self.places.values().all(Fields::is_empty) && self.shapes.is_empty()
    }
}

/// The shape of a call to a database, as if it went to this target, and its parts.
pub(super) fn shape(exchange: &Exchange, target: &Target) -> Option<(Shape, Parts)> {
    let parts = Parts::of_call(exchange, &Fields::default())?;
    let shape = Shape { protocol: exchange.content.protocol(), target: target.clone(), text: parts.shape() };
    Some((shape, parts))
}

/// What two recordings tell of one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lesson {
    /// As `POST shop:80/orders`, `Postgres db:5432 SELECT * FROM orders WHERE id = ?`.
    pub place: String,
    /// How many calls of it each recording has. If these are not as many, nothing is learned.
    pub calls: (usize, usize),
    /// The fields that are noise.
    pub changes: Vec<Change>,
}

/// A field that is different in each recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `body.order.id`.
    pub field: String,
    /// The values of the first pair of calls that differs, for one line each.
    pub values: (String, String),
}

/// A name as it is compared: what other writers call the same, in one spelling.
fn normal(name: &str) -> String {
    let (kind, rest) = name.split_once('.').unwrap_or((name, ""));
    match kind.to_ascii_lowercase().as_str() {
        "body" => name.replacen(kind, "body", 1),
        "query" | "url_params" => format!("query.{rest}"),
        "header" => format!("header.{}", rest.to_ascii_lowercase()),
        _ => format!("body.{name}"),
    }
}

fn by_place(exchanges: &[Exchange]) -> BTreeMap<Place, Vec<&Http>> {
    let mut places: BTreeMap<Place, Vec<&Http>> = BTreeMap::new();
    for exchange in exchanges {
        if let Content::Http(http) = &exchange.content {
            places.entry(place(exchange, &exchange.target)).or_default().push(http);
        }
    }
    places
}

/// Names and values of everything that could be noise in a request.
pub(super) fn leaves(request: &HttpRequest) -> Vec<Leaf> {
    let mut leaves = Body::query(&request.path).leaves("query");
    for (name, value) in header_fields(request) {
        leaves.push(Leaf { name: format!("header.{name}"), value });
    }
    leaves.extend(Body::of(request).leaves("body"));
    leaves
}

fn changed(ours: &[&Http], theirs: &[&Http], given: &[Given; 2]) -> Vec<Change> {
    let heads = changed_fields(ours, theirs);
    let [ours, theirs] = [ours, theirs].map(|calls| calls.iter().map(|http| leaves(&http.request)).collect::<Vec<_>>());
    let mut changes: BTreeMap<String, (String, String)> = BTreeMap::new();
    for (one, two) in ours.iter().zip(&theirs) {
        let same_shape = one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.name == two.name);
        if !same_shape {
            return Vec::new();
        }
        for (one, two) in one.iter().zip(two).filter(|(one, two)| one.value != two.value) {
            changes.entry(one.name.clone()).or_insert_with(|| (one.value.clone(), two.value.clone()));
        }
    }
    let values = |of: &[Vec<Leaf>], name: &str| -> BTreeSet<String> {
        of.iter().flatten().filter(|leaf| leaf.name == name).map(|leaf| leaf.value.clone()).collect()
    };
    // A body that is no fields is the call itself, not a part of it that changes.
    changes.retain(|name, _| {
        let (here, there) = (values(&ours, name), values(&theirs, name));
        let are_secret =
            |values: &BTreeSet<String>, given: &Given| are_secret(values.iter().map(String::as_bytes), given);
        let is_secret = are_secret(&here, &given[0]) && are_secret(&there, &given[1]);
        name != "body" && here.is_disjoint(&there) && !is_secret
    });
    let shown = |value: &str| short(value.strip_prefix('=').unwrap_or(value));
    let changes = changes.into_iter().chain(heads);
    changes.map(|(field, (one, two))| Change { field, values: (shown(&one), shown(&two)) }).collect()
}

/// What stands for secrets in the answers of a recording.
pub(super) type Given = BTreeSet<Vec<u8>>;

fn given(exchanges: &[Exchange]) -> Given {
    let answers = exchanges.iter().flat_map(echoes::answer);
    answers.flat_map(|part| redact::places(part).into_iter().map(|at| part[at].to_vec())).collect()
}

/// Whether values are secrets that need no noise: a single one, of which a replay has another one in any case, or such as answers
/// gave, which a replay gives again.
pub(super) fn are_secret<'a>(values: impl Iterator<Item = &'a [u8]>, given: &Given) -> bool {
    let values: Vec<&[u8]> = values.collect();
    let are_given = |value: &&[u8]| {
        let places = redact::places(value);
        !places.is_empty() && (values.len() == 1 || places.into_iter().all(|at| given.contains(&value[at])))
    };
    values.iter().all(are_given)
}

/// Fields of the head that would choose between these recordings of a place, and of which each recording has its own values:
/// by name, with the values of the first pair that differs.
fn changed_fields(ours: &[&Http], theirs: &[&Http]) -> BTreeMap<String, (String, String)> {
    let heads = |calls: &[&Http]| -> Vec<BTreeMap<String, String>> {
        let head = |http: &&Http| {
            let mut head: BTreeMap<String, String> = BTreeMap::new();
            for (name, value) in fields::plain(&http.request) {
                head.entry(name).and_modify(|all| *all = format!("{all}, {value}")).or_insert(value);
            }
            head
        };
        calls.iter().map(head).collect()
    };
    let made_anew = |calls: &[&Http]| {
        let fields: Vec<_> = calls.iter().map(|http| fields::of(&http.request, &Fields::default())).collect();
        fields::made_anew(fields.iter().map(Vec::as_slice))
    };
    let (anew, anew_there) = (made_anew(ours), made_anew(theirs));
    let (ours, theirs) = (heads(ours), heads(theirs));
    let values = |of: &[BTreeMap<String, String>], name: &str| -> BTreeSet<Option<String>> {
        of.iter().map(|head| head.get(name).cloned()).collect()
    };
    let mut changes = BTreeMap::new();
    for name in ours.iter().flat_map(BTreeMap::keys).collect::<BTreeSet<_>>() {
        let (here, there) = (values(&ours, name), values(&theirs, name));
        let chooses = here.len() > 1 || there.len() > 1;
        let is_anew = anew.contains(name) && anew_there.contains(name);
        if !chooses || is_anew || !here.intersection(&there).all(Option::is_none) {
            continue;
        }
        let mut pairs = ours.iter().zip(&theirs).filter_map(|(one, two)| Some((one.get(name)?, two.get(name)?)));
        if let Some((one, two)) = pairs.next() {
            changes.insert(format!("header.{name}"), (one.clone(), two.clone()));
        }
    }
    changes
}
