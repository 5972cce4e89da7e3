//! `replay sandbox probe`: attacks the walls of this configuration on this machine.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use replay_probe::{Promise, Victims, probe as attack};
use replay_sandbox::Tier;
use replay_sandbox::exec::place_of;

use super::{launcher, output, request};
use crate::cli::{Options, Sandbox};
use crate::commands::process::catch_signals;
use crate::compose::alone_with_ports;
use crate::config::Config;

/// Runs the attacks. Returns the report, and true if every promised wall held.
///
/// The attacks use directories of their own, not those of `options`. A signal for this process ends
/// them.
pub(super) fn probe(mut options: Options) -> Result<(String, bool)> {
    let signals = catch_signals()?;
    if options.walls.sandbox == Some(Sandbox::Off) {
        bail!(
            "probe attacks the walls around commands, and --sandbox off removes them; leave it \
            out"
        );
    }
    let base = ProbeDirectory::make()?;
    // The directory `ro` is readable and executable inside the walls.
    let program = base.0.join("ro/replay");
    copy_program(&program)?;
    let mut victims =
        Victims::lay_out(&base.0, None).context("the targets of the attacks cannot be created")?;
    options.directories.allow = Vec::new();
    options.directories.allow_write = vec![base.0.join("rw"), base.0.join("rw2")];
    options.directories.allow_read = vec![base.0.join("ro")];
    let config = Config::for_server(&options)?;
    let server = alone_with_ports(&config)?;
    let commands = &server.services().commands;
    let launcher = launcher(commands)?;
    let promise = Promise {
        tier: commands.standing.tier.unwrap_or(Tier::Off),
        network: commands.standing.effective_network(),
        root: rustix::process::geteuid().is_root(),
        landlock: commands.standing.landlock_abi.is_some(),
    };
    let root = server
        .services()
        .policy
        .project()
        .context("the attacks need an allowed directory; add --allow DIR:rw")?;
    let dir = place_of(root)?;
    let mut stage = victims.stage(std::process::id(), None);
    let given = &config.sandbox.devices.nodes;
    stage.devices = given.iter().map(|(path, _)| path.clone()).collect();
    let report = attack(
        &mut victims,
        &stage,
        &program,
        promise.network,
        &mut |argv| {
            output(
                launcher,
                &request(argv.to_vec(), dir.clone(), false),
                signals.as_fd(),
            )
        },
    )?;
    let standing = commands.standing.word();
    let text = format!(
        "walls: {standing}, network: {}\n\n{}",
        promise.network.as_str(),
        report.text(promise)
    );
    Ok((text, report.holds(promise)))
}

/// Temporary directory of the attacks, removed on drop.
struct ProbeDirectory(PathBuf);

impl ProbeDirectory {
    fn make() -> Result<Self> {
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        let name = format!("replay-probe-{:016x}", u64::from_ne_bytes(random));
        #[expect(
            clippy::disallowed_methods,
            reason = "a directory that nobody was allowed, made and removed here"
        )]
        let base = Self(fs::canonicalize(std::env::temp_dir())?.join(name));
        let make = |path: &Path| fs::DirBuilder::new().mode(0o700).create(path);
        make(&base.0)
            .and_then(|()| make(&base.0.join("ro")))
            .context("no temporary directory")?;
        Ok(base)
    }
}

impl Drop for ProbeDirectory {
    fn drop(&mut self) {
        #[expect(
            clippy::disallowed_methods,
            reason = "a directory that nobody was allowed, made and removed here"
        )]
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn copy_program(to: &Path) -> Result<()> {
    fs::copy("/proc/self/exe", to)
        .map(drop)
        .context("this program cannot be copied")
}
