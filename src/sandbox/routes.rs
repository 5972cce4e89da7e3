//! How often somebody in this network namespace looked for a way out that is not there, as the kernel counts it.

/// The kernel's counters (proc(5), `net/snmp` and `net/snmp6`): packets and connections without a route. `None` if they
/// cannot be read.
pub fn refused() -> Option<u64> {
    Some(of_version_4(&read("/proc/self/net/snmp")?)? + of_version_6(&read("/proc/self/net/snmp6").unwrap_or_default()))
}

fn read(path: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    std::fs::read_to_string(path).ok()
}

/// Two lines begin with `Ip:`, the first with names, the second with numbers.
fn of_version_4(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Ip:"));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let at = names.split_ascii_whitespace().position(|name| name == "OutNoRoutes")?;
    numbers.split_ascii_whitespace().nth(at)?.parse().ok()
}

fn of_version_6(text: &str) -> u64 {
    let number = text.lines().find_map(|line| line.strip_prefix("Ip6OutNoRoutes"));
    number.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_number_below_its_name() {
        let text = "Ip: Forwarding OutDiscards OutNoRoutes ReasmTimeout\nIp: 2 0 7 0\nIcmp: InMsgs\nIcmp: 9\n";
        assert_eq!(of_version_4(text), Some(7));
        assert_eq!(of_version_4("Ip: Forwarding\nIp: 2\n"), None);
        assert_eq!(of_version_6("Ip6OutDiscards   \t3\nIp6OutNoRoutes                  \t12\n"), 12);
        assert_eq!(of_version_6(""), 0);
    }
}
