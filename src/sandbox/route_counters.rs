//! Kernel counters of packets and connections without a route, for a network namespace.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Upper bound for the size of both files.
const MOST_BYTES: usize = 16 * 1024;

/// Open counters (proc(5), `net/snmp` and `net/snmp6`) of the network namespace in which they were
/// opened. They stay open, because opening takes longer than reading.
#[derive(Debug)]
pub(crate) struct RouteCounters {
    version_4: File,
    /// `None` without IPv6.
    version_6: Option<File>,
}

impl RouteCounters {
    /// Opens the counters of this process's network namespace; `None` if that fails.
    pub(crate) fn open() -> Option<Self> {
        Some(Self {
            version_4: open("/proc/self/net/snmp")?,
            version_6: open("/proc/self/net/snmp6"),
        })
    }

    /// Number of packets and connections without a route, until now. `None` if it cannot be read.
    pub(crate) fn refused(&self) -> Option<u64> {
        let mut buffer = [0; MOST_BYTES];
        let version_4 = of_version_4(read(&self.version_4, &mut buffer)?)?;
        let version_6 = self
            .version_6
            .as_ref()
            .and_then(|file| read(file, &mut buffer));
        Some(version_4 + version_6.map_or(0, of_version_6))
    }
}

fn open(path: &str) -> Option<File> {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    File::open(path).ok()
}

/// One read returns at most a page; a read from the start recounts.
fn read<'a>(file: &File, buffer: &'a mut [u8]) -> Option<&'a str> {
    let mut length = 0;
    loop {
        match file.read_at(&mut buffer[length..], length as u64).ok()? {
            0 => return std::str::from_utf8(&buffer[..length]).ok(),
            read => length += read,
        }
    }
}

/// Two lines begin with `Ip:`: names first, then numbers.
fn of_version_4(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Ip:"));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let at = names
        .split_ascii_whitespace()
        .position(|name| name == "OutNoRoutes")?;
    numbers.split_ascii_whitespace().nth(at)?.parse().ok()
}

fn of_version_6(text: &str) -> u64 {
    let number = text
        .lines()
        .find_map(|line| line.strip_prefix("Ip6OutNoRoutes"));
    number
        .and_then(|number| number.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_is_found_by_column_name() {
        let text = "Ip: Forwarding OutDiscards OutNoRoutes ReasmTimeout\nIp: 2 0 7 0\nIcmp: InMsgs\nIcmp: 9\n";
        assert_eq!(of_version_4(text), Some(7));
        assert_eq!(of_version_4("Ip: Forwarding\nIp: 2\n"), None);
        assert_eq!(
            of_version_6("Ip6OutDiscards   \t3\nIp6OutNoRoutes                  \t12\n"),
            12
        );
        assert_eq!(of_version_6(""), 0);
    }
}
