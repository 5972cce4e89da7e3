//! Functions of databases by name: those of the server itself, which leave nothing behind in a session, and all others, which
//! may set something there that no answer tells.

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
    all and any array as between bpchar by case decimal distinct else exists filter float from in is lateral not numeric on or
    over row select some then time varbit varchar varying when";
/// Builtins that answer by what they are given, by the clock or by the server (`PostgreSQL`, "Functions and Operators"; `MySQL`,
/// "Built-In Function and Operator Reference"), and those of extensions that are usual.
const BUILTINS: &str = "\
    abs addtime age ascii avg benchmark bin bit_count btrim cardinality cast ceil ceiling char char_length
    character_length charset chr clock_timestamp coalesce collation concat concat_ws connection_id conv convert
    convert_from convert_to convert_tz cos count crypt curdate currval curtime database datediff day dayname dayofmonth
    dayofweek dayofyear decode digest div elt encode exp extract field find_in_set floor format found_rows from_days
    from_unixtime gen_salt get_bit get_byte get_lock greatest hex hmac hour if ifnull inet_aton inet_ntoa initcap insert
    instr interval is_free_lock isfinite isnull justify_days justify_hours last_day last_insert_id lastval lcase least
    left length ln locate log log10 log2 lower lpad ltrim make_date make_interval make_time make_timestamp
    make_timestamptz max md5 microsecond mid min minute mod month monthname name_const nextval now nullif num_nonnulls
    num_nulls octet_length overlay pi position pow power quarter quote quote_ident quote_literal quote_nullable radians
    rand random release_lock repeat replace reverse right round row_count rpad rtrim schema session_user setval sign sin
    sleep split_part sqrt starts_with statement_timestamp str_to_date strpos substr substring subtime sum sysdate
    system_user timediff timeofday translate trim trunc truncate ucase unhex unistr unix_timestamp unnest upper user
    utc_date utc_time utc_timestamp uuid uuidv4 uuidv7 value values version week weekday weekofyear width_bucket year
    yearweek";
/// Beginnings of the names of such functions.
const BUILTIN_BEGINS: &str = "\
    aes_ any_ array_ bit_ bool_ col_ compress current_ date_ enum_ format_ from_ gen_random_ generate_ has_ inet_ is_
    isnull json jsonb_ local nlssort obj_ pg_ pgp_ postgis_ ps_ range_ regexp_ row_to_ sha shobj_ st_ string_ time_to_
    timestamp to_ ts txid_ uuid_";

/// Whether a function, by its name in lower case and without a schema, is none of the server's own: it may have set something of
/// the session. A word that calls nothing counts as one of those.
pub(super) fn is_own(name: &str) -> bool {
    let is_name = name.starts_with(|first: char| first.is_alphabetic() || first == '_');
    let is_builtin = || {
        KEYWORDS.split_ascii_whitespace().any(|word| word == name)
            || BUILTINS.split_ascii_whitespace().any(|known| known == name)
            || BUILTIN_BEGINS.split_ascii_whitespace().any(|begin| name.starts_with(begin))
    };
    is_name && !is_builtin()
}

/// Whether a call, as `use_tenant()`, says by its name that others answer otherwise after it.
pub(super) fn switches(call: &str) -> bool {
    call.strip_suffix("()").is_some_and(|name| name.split('_').any(|word| SWITCHES.contains(&word)))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn functions_of_the_server_set_nothing() {
        let names =
            ["now", "current_setting", "pg_advisory_lock", "uuid_generate_v4", "in", "$1", "setq", "pay", "_init"];
        assert_eq!(names.map(is_own), [false, false, false, false, false, false, true, true, true]);
    }
}
