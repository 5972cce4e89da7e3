//! Parser of messages of `PostgreSQL` clients ("Message Formats").

use super::message::{BindFields, statement};
use crate::protocol::part_list::{PartList, Role, readable};

/// Parses `Query`, `Parse`, `Bind`, `Describe` and `Execute`, which name statements by their text.
pub(crate) fn parts(bytes: &[u8], taken: &mut PartList) -> Option<()> {
    let at = statement(bytes)?;
    taken.head(&bytes[..1]);
    taken.head(bytes.get(5..at.start)?);
    taken.statement(&bytes[at.clone()], false);
    if bytes[0] != b'B' {
        taken.head(&bytes[at.end..]);
        return Some(());
    }
    let bound = BindFields::of(bytes)?;
    taken.head(bound.formats);
    for (number, value) in bound.values.iter().enumerate() {
        match value {
            Some(value) => {
                taken.value(
                    format!("param.{}", number + 1),
                    value,
                    readable(value, bound.is_binary(number)),
                );
            }
            None => taken.put(Role::Head, String::new(), b"null", "NULL".to_owned()),
        }
    }
    taken.head(bound.results);
    Some(())
}
