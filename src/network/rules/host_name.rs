//! Names of hosts in one spelling.

/// Longest name, and longest label of one, in bytes (RFC 1035, 2.3.4; without the final dot).
const MAX_NAME_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;

/// Returns the name in lower case and without the final dot; `None` if it is no host name. A name
/// that ends in a number is none: programs read it as an IPv4 address (`inet_aton(3)`).
pub fn canonical(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let is_label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=MAX_LABEL_BYTES).contains(&label.len()) && label.bytes().all(inner)
    };
    let is_name =
        text.len() <= MAX_NAME_BYTES && text.split('.').all(is_label) && !ends_in_number(text);
    is_name.then(|| text.to_ascii_lowercase())
}

/// Returns true if programs read the last label as a number: decimal, octal or hexadecimal.
pub(super) fn ends_in_number(text: &str) -> bool {
    let last = text
        .rsplit('.')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let hexadecimal = last.strip_prefix("0x");
    hexadecimal.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        || !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns a name in its DNS form, with non-ASCII labels as punycode (RFC 3492). The only mapping
/// is to lower case, so the result is a proposal for people and no basis for a decision.
pub(super) fn punycode(name: &str) -> String {
    let label = |label: &str| {
        if label.is_ascii() {
            label.to_owned()
        } else {
            format!("xn--{}", encode(label))
        }
    };
    name.to_lowercase()
        .split('.')
        .map(label)
        .collect::<Vec<_>>()
        .join(".")
}

/// RFC 3492, 6.3, with its parameters of section 5.
fn encode(label: &str) -> String {
    const BASE: u32 = 36;
    const LEAST: u32 = 1;
    const MOST: u32 = 26;
    let code: Vec<u32> = label.chars().map(u32::from).collect();
    let mut out: String = label.chars().filter(char::is_ascii).collect();
    let basic = out.len() as u32;
    let (mut done, mut delta, mut bias, mut next) = (basic, 0_u32, 72, 128);
    if basic > 0 {
        out.push('-');
    }
    let digit = |value: u32| {
        char::from(if value < 26 {
            b'a' + value as u8
        } else {
            b'0' + (value - 26) as u8
        })
    };
    while (done as usize) < code.len() {
        let least = code
            .iter()
            .copied()
            .filter(|point| *point >= next)
            .min()
            .unwrap_or(next);
        delta = delta.wrapping_add((least - next).wrapping_mul(done + 1));
        next = least;
        for point in &code {
            if *point < next {
                delta = delta.wrapping_add(1);
            }
            if *point != next {
                continue;
            }
            let mut rest = delta;
            for step in (BASE..).step_by(BASE as usize) {
                let threshold = step.saturating_sub(bias).clamp(LEAST, MOST);
                if rest < threshold {
                    break;
                }
                out.push(digit(threshold + (rest - threshold) % (BASE - threshold)));
                rest = (rest - threshold) / (BASE - threshold);
            }
            out.push(digit(rest));
            bias = {
                let mut delta = if done == basic {
                    delta / 700
                } else {
                    delta / 2
                };
                delta += delta / (done + 1);
                let mut shift = 0;
                while delta > (BASE - LEAST) * MOST / 2 {
                    delta /= BASE - LEAST;
                    shift += BASE;
                }
                shift + (BASE - LEAST + 1) * delta / (delta + 38)
            };
            (delta, done) = (0, done + 1);
        }
        (delta, next) = (delta.wrapping_add(1), next + 1);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn host_name_has_one_spelling() {
        let long = format!("{}.example", "a".repeat(64));
        let cases = [
            ("API.Example.com.", Some("api.example.com")),
            ("_dmarc.x-y.example", Some("_dmarc.x-y.example")),
            ("localhost", Some("localhost")),
            ("a..b", None),
            ("a.b..", None),
            ("", None),
            ("127.1", None),
            ("example.0x7f", None),
            ("0x", None),
            ("a b", None),
            (&long, None),
        ];
        for (text, expected) in cases {
            assert_eq!(canonical(text).as_deref(), expected, "{text}");
        }
    }

    /// RFC 3492, 7.1, and names that are in use.
    #[test]
    fn non_ascii_names_become_punycode() {
        let cases = [
            ("Bücher.example", "xn--bcher-kva.example"),
            ("münchen.de", "xn--mnchen-3ya.de"),
            ("他们为什么不说中文", "xn--ihqwcrb4cv8a8dqg056pqjye"),
            ("ليهمابتكلموشعربي؟", "xn--egbpdaj6bu4bxfgehfvwxn"),
            ("3年b組金八先生", "xn--3b-ww4c5e180e575a65lsy2b"),
        ];
        for (name, expected) in cases {
            assert_eq!(punycode(name), expected);
        }
    }
}
