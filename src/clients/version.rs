//! Versions of clients: numbers between dots, without the rest.

use serde::{Deserialize, Deserializer};

/// A version; missing numbers are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version([u64; 4]);

impl Version {
    /// Reads the numbers at the start of a text; without any it is version 0.
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut numbers = [0; 4];
        let parts = text.split(['.', '-', '+', ' ']);
        for (number, part) in numbers.iter_mut().zip(parts) {
            let Ok(read) = part.parse() else { break };
            *number = read;
        }
        Self(numbers)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::parse(&String::deserialize(deserializer)?))
    }
}
