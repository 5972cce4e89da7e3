//! `--publish`: ports of commands that this machine reaches.

use std::str::FromStr;

use super::PublishedPort;

/// One `--publish`: `PORT`, `HOST_PORT:PORT` or `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishRule {
    /// Every port from 1024 on, while a command listens there.
    Auto,
    Port(PublishedPort),
}

impl FromStr for PublishRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let (outside, inside) = match text.rsplit_once(':') {
            Some((outside, _))
                if outside.parse::<u16>().is_err() && outside.contains([':', '.']) =>
            {
                return Err(format!(
                    "`{text}` names an address; ports are published on 127.0.0.1 and [::1] alone: \
                     leave the address out"
                ));
            }
            Some((outside, inside)) => (outside, inside),
            None => (text, text),
        };
        let port = |text: &str| {
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|port| is_number && *port != 0)
        };
        match (port(outside), port(inside)) {
            (Some(outside), Some(inside)) => Ok(Self::Port(PublishedPort { inside, outside })),
            _ => Err(format!(
                "`{text}` is not a port; give PORT, HOST_PORT:PORT (from 1 to 65535) or auto"
            )),
        }
    }
}

/// All `--publish` of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishRules {
    ports: Vec<PublishedPort>,
    is_automatic: bool,
}

impl PublishRules {
    /// Merges the rules. Fails if two of them need the same port of this machine.
    pub fn new(rules: impl IntoIterator<Item = PublishRule>) -> Result<Self, String> {
        let mut merged = Self::default();
        for rule in rules {
            let port = match rule {
                PublishRule::Auto => {
                    merged.is_automatic = true;
                    continue;
                }
                PublishRule::Port(port) => port,
            };
            if merged.ports.contains(&port) {
                continue;
            }
            if merged
                .ports
                .iter()
                .any(|known| known.outside == port.outside)
            {
                let PublishedPort { inside, outside } = port;
                return Err(format!(
                    "--publish {outside}:{inside}: port {outside} leads to another port already; \
                     choose another one with --publish OTHER:{inside}"
                ));
            }
            merged.ports.push(port);
        }
        Ok(merged)
    }

    /// Returns true if no port is published.
    pub fn is_empty(&self) -> bool {
        self.ports.is_empty() && !self.is_automatic
    }

    /// Returns the ports that the operator named, in order.
    pub fn ports(&self) -> &[PublishedPort] {
        &self.ports
    }

    /// Returns true if every port on which a command listens is published.
    pub fn is_automatic(&self) -> bool {
        self.is_automatic
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn port(outside: u16, inside: u16) -> PublishRule {
        PublishRule::Port(PublishedPort { inside, outside })
    }

    #[test]
    fn rule_is_port_pair_of_ports_or_auto() {
        assert_eq!("8123".parse(), Ok(port(8123, 8123)));
        assert_eq!("8080:80".parse(), Ok(port(8080, 80)));
        assert_eq!("auto".parse(), Ok(PublishRule::Auto));
    }

    #[test]
    fn invalid_rule_error_names_form() {
        for text in [
            "", "0", "65536", "+80", "a", "80:", ":80", "80:0", "Auto", "80/tcp",
        ] {
            assert_eq!(
                text.parse::<PublishRule>(),
                Err(format!(
                    "`{text}` is not a port; give PORT, HOST_PORT:PORT (from 1 to 65535) or auto"
                ))
            );
        }
        for text in ["0.0.0.0:80:80", "127.0.0.1:80", "[::1]:80:80"] {
            assert_eq!(
                text.parse::<PublishRule>(),
                Err(format!(
                    "`{text}` names an address; ports are published on 127.0.0.1 and [::1] alone: \
                     leave the address out"
                ))
            );
        }
    }

    #[test]
    fn rules_share_no_port_of_machine() {
        let rules = [port(1, 2), PublishRule::Auto, port(1, 2), port(2, 2)];
        let rules = PublishRules::new(rules).unwrap();
        assert_eq!(rules.ports().len(), 2);
        assert!(rules.is_automatic() && !rules.is_empty());
        assert_eq!(
            PublishRules::new([port(1, 2), port(1, 3)]),
            Err(
                "--publish 1:3: port 1 leads to another port already; choose another one with \
                 --publish OTHER:3"
                    .to_owned()
            )
        );
        assert!(PublishRules::default().is_empty());
    }
}
