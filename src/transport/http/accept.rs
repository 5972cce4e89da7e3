//! What a client can read: one JSON text, or a stream of events (RFC 9110, 12.5.1).

/// The media types of a reply that will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accept {
    /// `application/json`; also where nothing was said.
    pub json: bool,
    /// `text/event-stream`. It must be asked for by its name: who takes anything takes JSON.
    pub events: bool,
}

impl Accept {
    /// Reads the values of all `Accept` headers.
    pub fn of<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let mut said = false;
        let mut accept = Self { json: false, events: false };
        for range in values.flat_map(|value| value.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            if kind.is_empty() {
                continue;
            }
            said = true;
            let refused = parts.filter_map(|part| part.strip_prefix("q=")).any(|weight| weight.parse() == Ok(0.0));
            match &*kind {
                _ if refused => {}
                "*/*" | "application/*" | "application/json" => accept.json = true,
                "text/event-stream" => accept.events = true,
                _ => {}
            }
        }
        if said { accept } else { Self { json: true, events: false } }
    }

    /// Whether nothing that could be sent can be read.
    pub fn is_nothing(self) -> bool {
        !self.json && !self.events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_what_everybody_gets_who_does_not_ask_for_events() {
        let cases: [(&[&str], bool, bool); 9] = [
            (&[], true, false),
            (&[""], true, false),
            (&["*/*"], true, false),
            (&["application/json"], true, false),
            (&["application/json, text/event-stream"], true, true),
            (&["application/json", "text/event-stream;q=0.5"], true, true),
            (&["text/event-stream"], false, true),
            (&["text/html, application/json;q=0"], false, false),
            (&["text/html,application/xhtml+xml,*/*;q=0.8"], true, false),
        ];
        for (values, json, events) in cases {
            assert_eq!(Accept::of(values.iter().copied()), Accept { json, events }, "{values:?}");
        }
        assert!(Accept::of(["image/png"].into_iter()).is_nothing());
    }
}
