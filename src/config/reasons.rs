//! An error with its causes, in one line.

/// Formats `what failed: why: why that`. A cause that is already part of the text is skipped, since
/// some errors include the one below.
pub(crate) fn reasons(error: &anyhow::Error) -> String {
    let mut said = String::new();
    for reason in error.chain().map(ToString::to_string) {
        if said.is_empty() {
            said = reason;
        } else if !said.contains(&reason) {
            said = format!("{said}: {reason}");
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_reason_appears_once() {
        let error = anyhow::anyhow!("no such file")
            .context("`a` cannot be read: no such file")
            .context("the profile");
        assert_eq!(
            reasons(&error),
            "the profile: `a` cannot be read: no such file"
        );
    }
}
