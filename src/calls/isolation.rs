//! How far a command is held to its recordings.

use std::ffi::OsString;

use schemars::JsonSchema;
use serde::Serialize;

use crate::exec::PROXY_PORT;
use crate::network::proxy::JAVA_OPTIONS;

/// How far a command is held to its recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Every connection is looked at, and nothing else leads out.
    Strict,
    /// Every connection is looked at; the network is that of the system.
    Seccomp,
    /// Only what programs send to a proxy that variables tell them of is seen.
    Env,
}

impl Isolation {
    /// As it is written on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Seccomp => "seccomp",
            Self::Env => "env",
        }
    }
}

/// Variables that make programs use the proxy.
pub(super) fn proxy_variables() -> Vec<(&'static str, String)> {
    let url = format!("http://127.0.0.1:{PROXY_PORT}");
    // Some programs read only one spelling. With the lower-case one of HTTP, curl(1) reads no
    // other.
    let mut variables: Vec<(&'static str, String)> = [
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
    ]
    .into_iter()
    .map(|name| (name, url.clone()))
    .collect();
    // Else what runs on this machine would be called past it.
    variables.extend(["NO_PROXY", "no_proxy"].map(|name| (name, String::new())));
    // Node.js since 24 and 22.21 (its manual, "Built-in proxy support").
    variables.push(("NODE_USE_ENV_PROXY", "1".to_owned()));
    variables
}

/// What Java is told of the proxy (Java's networking properties), behind what it is told anyway.
pub(super) fn with_java_proxy(variables: &mut [(OsString, OsString)]) {
    let options = ["http", "https"]
        .map(|scheme| format!(" -D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={PROXY_PORT}"));
    for (_, value) in variables
        .iter_mut()
        .filter(|(name, _)| name == JAVA_OPTIONS)
    {
        value.push(options.concat());
        // Without it Java calls this machine past the proxy.
        value.push(" -Dhttp.nonProxyHosts=");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn java_is_told_beside_its_trust_store() {
        let mut variables = vec![
            ("A".into(), "b".into()),
            ("JAVA_TOOL_OPTIONS".into(), "-Dx=y".into()),
        ];
        with_java_proxy(&mut variables);
        let java = "-Dx=y -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort={proxy port} -Dhttps.proxyHost=127.0.0.1 \
                    -Dhttps.proxyPort={proxy port} -Dhttp.nonProxyHosts=";
        assert_eq!(
            variables,
            [
                ("A".into(), "b".into()),
                ("JAVA_TOOL_OPTIONS".into(), java.into())
            ]
        );
    }
}
