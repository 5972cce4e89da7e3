//! Numbers of things in words.

/// `1 call`, `2 calls`: the number with the word for one, or the one for several.
pub fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_several() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "call", "calls")), ["0 calls", "1 call", "2 calls"]);
    }
}
