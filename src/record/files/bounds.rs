//! Numbers of a document that its fields could hold, and that mean nothing.

use super::Problem;
use super::node::{Kind, Node};

/// Fails, with the line, on a port that there is not, or on a status code that no answer has.
pub(super) fn check(spec: &Node) -> Result<(), Problem> {
    let metadata = member(spec, "metadata");
    let port = metadata.and_then(|metadata| Some((metadata, member(metadata, "targetPort")?)));
    if let Some((metadata, port)) = port
        && text(port).parse::<u16>().is_err()
    {
        let got = text(port).escape_debug().to_string();
        let problem = Problem::new(port.line, format!("expected a port from 0 to 65535, got `{got}`"));
        return Err(problem.inside("targetPort", 0).inside("metadata", metadata.line).inside("spec", 0));
    }
    let is_ours = metadata.is_some_and(|metadata| member(metadata, "targetHost").is_some());
    let Some(resp) = member(spec, "resp") else { return Ok(()) };
    let Some(status) = member(resp, "status_code") else { return Ok(()) };
    // What is no number at all is said by who reads the field.
    let Ok(code) = text(status).parse::<u16>() else { return Ok(()) };
    // 0 is ours for a call that was not answered.
    let is_nothing =
        code == 0 && is_ours && ["header", "headers", "body", "body_ref"].iter().all(|key| is_empty(resp, key));
    if is_nothing || (100..=999).contains(&code) {
        return Ok(());
    }
    let problem = Problem::new(status.line, format!("expected a status code from 100 to 999, got `{code}`"));
    Err(problem.inside("status_code", 0).inside("resp", 0).inside("spec", 0))
}

fn member<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    let Kind::Map(members) = &node.kind else { return None };
    members.iter().find(|(name, _)| name == key).map(|(_, node)| node)
}

fn text(node: &Node) -> &str {
    match &node.kind {
        Kind::Scalar(scalar) => &scalar.text,
        _ => "",
    }
}

fn is_empty(node: &Node, key: &str) -> bool {
    match member(node, key).map(|member| &member.kind) {
        None => true,
        Some(Kind::Scalar(scalar)) => scalar.text.is_empty() || scalar.is_null(),
        Some(Kind::Map(members)) => members.is_empty(),
        Some(Kind::List(items)) => items.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::parse;
    use super::*;
    use pretty_assertions::assert_eq;

    fn checked(text: &str) -> Result<(), String> {
        let node = parse(text, 1).unwrap().unwrap();
        check(&node).map_err(|problem| problem.to_string())
    }

    #[test]
    fn what_there_is_not_is_said_with_its_place() {
        assert_eq!(
            checked("metadata:\n  targetHost: a\n  targetPort: \"99999\"\n"),
            Err("3: `spec.metadata.targetPort`: expected a port from 0 to 65535, got `99999`".to_owned())
        );
        assert_eq!(
            checked("resp:\n  body: x\n  status_code: 0\n"),
            Err("3: `spec.resp.status_code`: expected a status code from 100 to 999, got `0`".to_owned())
        );
        assert!(checked("metadata:\n  targetHost: a\nresp:\n  status_code: 0\n  body: x\n").is_err());
        assert!(checked("resp:\n  status_code: 99\n").is_err());
    }

    #[test]
    fn what_was_not_answered_is_kept() {
        assert_eq!(
            checked("metadata:\n  targetHost: a\n  targetPort: \"80\"\nresp:\n  status_code: 0\n  header: {}\n"),
            Ok(())
        );
        assert_eq!(checked("resp:\n  status_code: 200\n  body: x\n"), Ok(()));
        assert_eq!(checked("resp: 5\n"), Ok(()));
    }
}
