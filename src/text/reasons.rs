//! An error with the reasons below it, in one line.

/// `what failed: why: why that`. What is said already is not said again: some errors tell of the
/// one below them, too.
pub fn reasons(error: &anyhow::Error) -> String {
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
    fn a_reason_is_said_once() {
        let error = anyhow::anyhow!("no such file")
            .context("`a` cannot be read: no such file")
            .context("the profile");
        assert_eq!(
            reasons(&error),
            "the profile: `a` cannot be read: no such file"
        );
    }
}
