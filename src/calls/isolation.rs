//! Isolation of a command whose calls are recorded or answered.

use std::ffi::OsString;

use replay_sandbox::exec::PROXY_PORT;
use schemars::JsonSchema;
use serde::Serialize;

use replay_proxy::JAVA_OPTIONS;

/// Degree to which a command's network traffic is intercepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Every connection is intercepted, and no other way leads out.
    Strict,
    /// Every connection is intercepted; the network is that of the system.
    Seccomp,
    /// Only traffic to the proxy of the `HTTP_PROXY` variables is seen.
    Env,
}

impl Isolation {
    /// Value on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Seccomp => "seccomp",
            Self::Env => "env",
        }
    }
}

/// Environment variables that make programs use the proxy.
pub(super) fn proxy_variables() -> Vec<(&'static str, String)> {
    let url = format!("http://127.0.0.1:{PROXY_PORT}");
    // Some programs read only one spelling. curl(1) reads only the lower-case one for HTTP.
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
    // Otherwise programs would call this machine directly.
    variables.extend(["NO_PROXY", "no_proxy"].map(|name| (name, String::new())));
    // Node.js since 24 and 22.21 (its manual, "Built-in proxy support").
    variables.push(("NODE_USE_ENV_PROXY", "1".to_owned()));
    variables
}

/// Adds the proxy to Java's options (Java's networking properties).
pub(super) fn with_java_proxy(variables: &mut [(OsString, OsString)]) {
    let options = ["http", "https"]
        .map(|scheme| format!(" -D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={PROXY_PORT}"));
    for (_, value) in variables
        .iter_mut()
        .filter(|(name, _)| name == JAVA_OPTIONS)
    {
        value.push(options.concat());
        // Without this option Java calls this machine directly.
        value.push(" -Dhttp.nonProxyHosts=");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn java_options_get_proxy_appended() {
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
