//! `mappings.yaml` of a set: the tests and their calls, in Keploy's layout.

use std::collections::HashMap;
use std::sync::Arc;

use super::document::{VERSION, kind};
use super::node::{self, Members, Node};
use super::{Problem, emit};
use crate::matching::Recording;

/// Value of the file's `kind`.
const KIND: &str = "TestMocksMapping";

/// Tests of a set, with the calls of each.
#[derive(Debug)]
pub struct Mappings(Vec<Node>);

impl Mappings {
    /// Returns the tests of these calls; `None` if no test is known.
    pub fn of(recordings: &[Recording]) -> Option<Self> {
        let mut tests: Vec<(&str, Vec<Node>)> = Vec::new();
        for recording in recordings {
            let Some(test) = recording.worker.test.as_deref() else {
                continue;
            };
            let call = [
                ("name", recording.name.as_str()),
                ("kind", kind(&recording.exchange.content)),
            ];
            let call = Members::from_iter(call).into();
            match tests.iter_mut().rev().find(|(id, _)| *id == test) {
                Some((_, calls)) => calls.push(call),
                None => tests.push((test, vec![call])),
            }
        }
        let test = |(id, calls)| {
            let mut test = Members::from_iter([("id", id)]);
            test.put("mock_entries", calls);
            test.into()
        };
        let tests: Vec<Node> = tests.into_iter().map(test).collect();
        (!tests.is_empty()).then_some(Self(tests))
    }

    /// Writes the file of the set with this name.
    pub fn write(&self, set: &str) -> String {
        let head = [("version", VERSION), ("kind", KIND), ("test_set_id", set)];
        let mut file = Members::from_iter(head);
        file.put("tests", self.0.clone());
        let mut out = String::new();
        emit::mapping(&mut out, &file.0, 0);
        out
    }
}

/// Reads such a file into the calls that it names.
pub fn read_mappings(bytes: &[u8], recordings: &mut [Recording]) -> Result<(), Problem> {
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|error| Problem::new(0, error.to_string()))?;
    let Some(root) = node::parse(text, 1)? else {
        return Ok(());
    };
    let tests = root.get("tests", |tests| tests.items(test))?;
    let mut test_of: HashMap<&str, Arc<str>> = HashMap::new();
    for (id, names) in &tests {
        let id: Arc<str> = id.as_str().into();
        test_of.extend(names.iter().map(|name| (name.as_str(), Arc::clone(&id))));
    }
    for recording in recordings {
        recording.worker.test = test_of.get(recording.name.as_str()).cloned();
    }
    Ok(())
}

fn test(node: &Node) -> Result<(String, Vec<String>), Problem> {
    let name = |call: &Node| call.need("name", Node::text);
    let calls = node.get("mock_entries", |calls| calls.items(name))?;
    Ok((node.need("id", Node::text)?, calls))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::call::{Content, Dns, Exchange, Link, Target};
    use std::time::UNIX_EPOCH;

    fn recordings() -> Vec<Recording> {
        let dns = Dns {
            name: "a".to_owned(),
            kind: "A".to_owned(),
            code: 0,
            answers: Vec::new(),
        };
        let target = Target {
            host: String::new(),
            port: 53,
        };
        let link = Link {
            target,
            tls: false,
            connection: 0,
        };
        let call: Exchange = link.exchange(Content::Dns(dns), UNIX_EPOCH, UNIX_EPOCH);
        Recording::number(vec![call; 3])
    }

    #[test]
    fn tests_round_trip() {
        let mut written = recordings();
        assert!(Mappings::of(&written).is_none());
        written[0].worker.test = Some("t[a, b]".into());
        written[2].worker.test = Some("t[a, b]".into());
        let text = Mappings::of(&written).unwrap().write("shop");
        let expected = "version: api.keploy.io/v1beta1\nkind: TestMocksMapping\n\
            test_set_id: shop\ntests:\n    - id: 't[a, b]'\n      mock_entries:\n        \
            - name: mock-1\n          kind: DNS\n        - name: mock-3\n          kind: DNS\n";
        assert_eq!(text, expected);
        let mut read = recordings();
        read_mappings(text.as_bytes(), &mut read).unwrap();
        assert_eq!(read, written);
    }

    #[test]
    fn broken_file_names_line() {
        let read = read_mappings(b"tests:\n    - id: [x]\n", &mut recordings());
        assert_eq!(
            read.unwrap_err().to_string(),
            "2: `tests[0].id`: expected a text, got a list"
        );
    }
}
