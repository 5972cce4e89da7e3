//! `replay sandbox`: the walls themselves, looked at from the command line; and the plan that both this and the server
//! make of a configuration.

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::config::Config;
use crate::policy::{Policy, Root};
use crate::sandbox::explain::{Why, explain as text};
use crate::sandbox::{Place, Plan, PlannedRoot, Standing, Tier};

/// What the launcher is told for one tier. Fails when an allowed directory cannot be looked at any more.
pub fn plan(config: &Config, policy: &Policy, tier: Tier, scratch: &Path) -> Result<Plan> {
    let sandbox = &config.sandbox;
    Ok(Plan {
        tier,
        network: sandbox.network,
        roots: policy.roots().iter().map(planned).collect::<Result<_>>()?,
        protected: policy.protected().map(Into::into).collect(),
        system: sandbox.system.iter().map(|seen| (&seen.path).into()).collect(),
        scratch: scratch.into(),
        private_home: sandbox.private_home,
        environment: sandbox.environment.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        limits: sandbox.limits.clone(),
    })
}

fn planned(root: &Root) -> Result<PlannedRoot> {
    let stat = rustix::fs::fstat(root).with_context(|| format!("`{}` cannot be looked at", root.path().display()))?;
    let place = Place { path: root.path().into(), dev: stat.st_dev, ino: stat.st_ino };
    Ok(PlannedRoot { place, writable: root.writable() })
}

/// The text of `replay sandbox explain`. When nothing stands, the rules are those of the best tier.
pub fn explain(config: &Config, policy: &Policy, standing: &Standing) -> Result<String> {
    let plan = plan(config, policy, standing.tier.unwrap_or(Tier::Namespaces), Path::new(""))?;
    let asked: Vec<&Path> = policy.protected_by_operator().collect();
    let uname = rustix::system::uname();
    let kernel = format!(
        "{} {} ({})",
        uname.sysname().to_string_lossy(),
        uname.release().to_string_lossy(),
        uname.machine().to_string_lossy()
    );
    let why = Why { kernel: &kernel, system: &config.sandbox.system, protected_by_operator: &asked };
    Ok(text(&plan, standing, &why))
}
