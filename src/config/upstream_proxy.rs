//! Upstream proxy of the operator: from the flag, the profile or the environment.
#![expect(clippy::disallowed_methods, reason = "start-up reads the environment")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use replay_network::http_client::Trust;
use replay_network::rules::Rules;
use replay_network::upstream_proxy::{
    ProxySetting, ProxySettingError, ProxySettings, UpstreamProxy,
};
use replay_sandbox::addresses;

use super::{credentials, telemetry};

const FLAG: &str = "--upstream-proxy";
const KEY: &str = "`upstream_proxy` of the profile";

/// Proxy of the operator, and where it comes from.
#[derive(Default)]
pub(super) struct ResolvedProxy {
    pub(super) proxy: Option<Arc<UpstreamProxy>>,
    /// File that the URL was read from.
    pub(super) file: Option<PathBuf>,
    /// Variables that name no usable proxy.
    pub(super) faults: Vec<ProxySettingError>,
}

/// Resolves the proxy. A wrong variable is no error, since it may be meant for other programs.
pub(super) fn resolve(
    flag: Option<&str>,
    key: Option<&str>,
    here: &Path,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<ResolvedProxy> {
    let settings = ProxySettings::from_variables(|name| variable(name)?.into_string().ok());
    let (name, value) = match (flag, key) {
        (Some(value), _) => (FLAG, value),
        (None, Some(value)) => (KEY, value),
        (None, None) => return Ok(of_environment(settings)),
    };
    if value == "off" {
        return Ok(ResolvedProxy::default());
    }
    let (url, file) = match value.strip_prefix("file:") {
        Some(path) => {
            let path = super::absolute(here, Path::new(path));
            let secret = credentials::read(&path).context(name)?;
            let url = String::from_utf8(secret).ok().context(name);
            let url = url.with_context(|| format!("`{}` is not UTF-8", path.display()))?;
            (url, Some(path))
        }
        None if has_password(value) => bail!(
            "{name}: a URL with a password can be read by others, in the list of processes or in \
             the profile; write it to a file of mode 0600, and name that as file:PATH, or set \
             HTTPS_PROXY instead"
        ),
        None => (value.to_owned(), None),
    };
    let setting = ProxySetting {
        name: name.to_owned(),
        url,
    };
    let proxy = UpstreamProxy::new(settings.with_proxy(setting), trust)?;
    Ok(ResolvedProxy {
        proxy: proxy.map(Arc::new),
        file,
        faults: Vec::new(),
    })
}

/// Returns the proxy of the environment of this process.
pub(crate) fn proxy_of_environment() -> Option<Arc<UpstreamProxy>> {
    let settings = ProxySettings::from_variables(|name| std::env::var(name).ok());
    of_environment(settings).proxy
}

/// Returns the proxy of the environment. A wrong variable counts as not set.
fn of_environment(mut settings: ProxySettings) -> ResolvedProxy {
    let mut faults = Vec::new();
    loop {
        match UpstreamProxy::new(settings.clone(), trust) {
            Ok(proxy) => {
                return ResolvedProxy {
                    proxy: proxy.map(Arc::new),
                    file: None,
                    faults,
                };
            }
            Err(error) => {
                for setting in [&mut settings.http, &mut settings.https] {
                    setting.take_if(|setting| setting.name == error.name);
                }
                faults.push(error);
            }
        }
    }
}

/// Refuses a rule that names one of the proxies.
pub(super) fn refuse_in_rules(rules: &Rules, proxy: &UpstreamProxy) -> Result<()> {
    for server in proxy.servers() {
        // A lookup is worth its time only for a rule about an address.
        if server.addresses().is_none()
            && rules.name_address_at(server.port)
            && let Ok(found) = addresses(&server.host)
        {
            server.set_addresses(found);
        }
        let known = server.addresses().unwrap_or_default();
        rules.refuse_proxy(&server.host, &known, server.port, &server.setting)?;
    }
    Ok(())
}

fn trust() -> Option<Trust> {
    let authorities = telemetry::authorities();
    Trust::of(&authorities, "SSL_CERT_FILE=FILE").ok()
}

/// Returns true if the authority of a URL has a user with a password.
fn has_password(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority
        .rsplit_once('@')
        .is_some_and(|(user, _)| user.contains(':'))
}
