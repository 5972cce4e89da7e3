use pretty_assertions::assert_eq;

use super::{Client, Clients, FailureForm, ReplyParts, ReplyProfile, ReplyStyle};

fn ids<'a>(clients: impl IntoIterator<Item = &'a Client>) -> Vec<&'a str> {
    clients
        .into_iter()
        .map(|client| client.id.as_str())
        .collect()
}

#[test]
fn embedded_table_is_valid() {
    let read = Clients::default().with(include_str!("clients.toml"));
    assert!(!read.unwrap().read.is_empty());
}

#[test]
fn client_is_found_by_name_and_version() {
    let table = "[new]\ntitle = 'New'\nnames = ['agent*']\nfrom = '2.1'\n\
                 [old]\ntitle = 'Old'\nnames = ['agent', 'agent-b']\nbefore = '2.1'\n";
    let clients = Clients::default().with(table).unwrap();
    let found = |name, version| ids(clients.of(name, version));
    assert_eq!(found("agent", "2.1.0-beta"), ["new"]);
    assert_eq!(found("agent-b", "v2.0.99"), ["old"]);
    assert_eq!(found("agent-c", "2.0"), [""; 0]);
    assert_eq!(found("agent-c", "10"), ["new"]);
    assert_eq!(found("agent", "unknown"), ["old"]);
}

#[test]
fn operator_table_adds_and_overrides() {
    let known =
        "[a]\ntitle = 'A'\nnames = ['a*']\n[a.replies]\nerrors = 'results'\nreply_chars = 9\n";
    let own = "[b]\ntitle = 'B'\nnames = ['a1']\n[a.replies]\nreply_chars = 7\n";
    let clients = Clients::default().with(known).unwrap().with(own).unwrap();
    assert_eq!(ids(clients.iter()), ["b", "a"]);
    assert_eq!(ids(clients.of("a1", "")), ["b"]);
    let expected = ReplyProfile {
        errors: FailureForm::Results,
        reply_chars: Some(7),
        ..ReplyProfile::default().with_style(ReplyStyle::Lean)
    };
    assert_eq!(clients.named("a").unwrap().replies, expected);
    let exact = "[c]\ntitle = 'C'\nnames = ['c']\n[c.replies]\nstyle = 'exact'\n";
    let clients = clients.with(exact).unwrap();
    let parts = ["b", "c"].map(|id| clients.named(id).unwrap().replies.structured);
    assert_eq!(parts, [ReplyParts::Text, ReplyParts::Both]);
    let lean = clients.with_style(ReplyStyle::Lean);
    assert_eq!(
        lean.named("c").unwrap().replies.structured,
        ReplyParts::Text
    );
}

#[test]
fn fault_of_table_names_client_and_key() {
    let error = |table| Clients::default().with(table).unwrap_err().to_string();
    assert_eq!(
        error("[a]\ntitle = 'A'\nnames = []\nrepies = 1\n"),
        "[a]: unknown field `repies`, expected one of `title`, `names`, `protects`, `from`, `before`, `replies`, `setup`"
    );
    assert!(error("[a").starts_with("TOML parse error at line 1"));
}

#[test]
fn entry_of_each_client_gives_back_its_command_line() {
    let args = ["--allow".to_owned(), ".:rw".to_owned()];
    let setups = Clients::embedded()
        .iter()
        .filter_map(|client| client.setup.as_ref());
    for setup in setups {
        let entry = serde_json::Value::Object(setup.entry("/bin/replay", &args));
        let line = setup.command_line(&entry);
        assert_eq!(
            line,
            Some(vec!["/bin/replay", "--allow", ".:rw"]),
            "{entry}"
        );
    }
}
