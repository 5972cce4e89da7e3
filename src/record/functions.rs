//! Functions of databases by name: those of the server itself, which leave nothing behind in a session, and all others, which
//! may set something there that no answer tells.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::exchange::Protocol;

/// Words of the names of functions after which others answer otherwise: `use_tenant`, `login_as`.
const SWITCHES: [&str; 13] = [
    "act",
    "as",
    "assume",
    "become",
    "enter",
    "impersonate",
    "login",
    "logon",
    "logout",
    "set",
    "sudo",
    "switch",
    "use",
];
/// Words before a bracket that call nothing.
const KEYWORDS: &str = "\
    all and any array as between bpchar by case cast decimal distinct div else except exists filter float from group having in
    intersect interval is lateral like limit materialized mod not numeric offset on or order over recursive row select some
    then time union using values varbit varchar varying when where";
/// Builtins that answer by what they are given, by the clock or by the server, one a line and sorted (`pg_proc` and the grammar of
/// `PostgreSQL`, and extensions that are usual; `MySQL`, "Built-In Function and Operator Reference", and those of `MariaDB`).
static POSTGRES: LazyLock<HashSet<&str>> = LazyLock::new(|| include_str!("functions/postgres.txt").lines().collect());
static MYSQL: LazyLock<HashSet<&str>> = LazyLock::new(|| include_str!("functions/mysql.txt").lines().collect());
/// Beginnings of the names of functions of extensions that have hundreds of them.
const EXTENSION_BEGINS: [&str; 2] = ["st_", "postgis_"];
/// Builtins without arguments: with some it is a function of the same name.
const WITHOUT_ARGUMENTS: [&str; 3] = ["version", "schema", "database"];

/// A function that a statement calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    /// In lower case and without a schema.
    pub(super) name: &'a str,
    /// Whether it is given anything.
    pub(super) is_given: bool,
}

/// Whether a function is none of the server's own: it may have set something of the session. A word that calls nothing counts as
/// one of those.
pub(super) fn is_own(protocol: Protocol, call: Call<'_>) -> bool {
    let Call { name, is_given } = call;
    let builtins = if protocol == Protocol::MySql { &MYSQL } else { &POSTGRES };
    let is_name = name.starts_with(|first: char| first.is_alphabetic() || first == '_');
    let is_builtin = || builtins.contains(name) && !(is_given && WITHOUT_ARGUMENTS.contains(&name));
    let is_of_extension = || EXTENSION_BEGINS.iter().any(|begin| name.starts_with(begin));
    is_name && !KEYWORDS.split_ascii_whitespace().any(|word| word == name) && !is_builtin() && !is_of_extension()
}

/// Whether a statement asks nothing but whether the server is there.
pub(super) fn is_ping(statement: &str) -> bool {
    statement.trim().trim_end_matches(';').eq_ignore_ascii_case("select 1")
}

/// What stands behind a call that was made in a transaction.
pub(super) const INSIDE: &str = " in a transaction";

/// The name of the function of a call: `use_tenant()`, or `use_tenant() in a transaction`.
pub(super) fn named(call: &str) -> Option<&str> {
    call.strip_suffix(INSIDE).unwrap_or(call).strip_suffix("()")
}

/// Whether a call says by its name that others answer otherwise after it.
pub(super) fn switches(call: &str) -> bool {
    named(call).is_some_and(|name| name.split('_').any(|word| SWITCHES.contains(&word)))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn functions_of_the_server_set_nothing() {
        let is_own = |protocol, name, is_given| is_own(protocol, Call { name, is_given });
        let names = ["now", "current_setting", "pg_advisory_lock", "uuid_generate_v4", "in", "$1", "st_x", "extract"];
        assert_eq!(names.map(|name| is_own(Protocol::Postgres, name, true)), [false; 8]);
        let names = ["setq", "pay", "_init", "to_tenant", "is_tenant", "pg_tenant", "has_login", "get_lock", "version"];
        assert_eq!(names.map(|name| is_own(Protocol::Postgres, name, true)), [true; 9]);
        assert!(!is_own(Protocol::Postgres, "version", false));
        let names = ["now", "get_lock", "json_extract", "uuid_to_bin", "convert", "if", "st_x", "date_format"];
        assert_eq!(names.map(|name| is_own(Protocol::MySql, name, true)), [false; 8]);
        let names = ["json_tenant", "ps_tenant", "generate_session", "current_tenant", "schema"];
        assert_eq!(names.map(|name| is_own(Protocol::MySql, name, true)), [true; 5]);
        assert!(!is_own(Protocol::MySql, "schema", false));
    }

    #[test]
    fn names_of_builtins_are_sorted() {
        for list in [include_str!("functions/postgres.txt"), include_str!("functions/mysql.txt")] {
            assert!(list.lines().is_sorted_by(|one, other| one < other));
        }
    }
}
