//! Files, programs and hosts of the operator's machine that commands may miss, for the notes on those that failed.

use std::path::PathBuf;

use replay_files::policy::Policy;
use replay_sandbox::{DEVICES, HomeWatch, OwnPlaces, Scratch, Tier, WallStatus};

use crate::config::Config;
use crate::tools::{MissingOfMachine, MissingThings, UnsetVariable};

/// Begins to watch what commands may miss of the operator's machine. Without a watch only the output
/// of commands tells.
pub(super) fn of_machine(
    config: &Config,
    policy: &Policy,
    scratch: &Scratch,
    standing: &WallStatus,
) -> MissingOfMachine {
    let sandbox = &config.sandbox;
    let files: Vec<_> = sandbox
        .home_files
        .iter()
        .filter_map(|file| Some((file.path.clone(), file.missing.clone()?)))
        .collect();
    let watch = sandbox
        .private_home
        .then(|| HomeWatch::start(scratch, files.iter().map(|(path, _)| path.as_str())));
    if let Some(Err(error)) = &watch {
        tracing::warn!("what commands miss in their HOME cannot be told: {error}");
    }
    let tier = standing.tier.unwrap_or(Tier::Off);
    let places = OwnPlaces::of(tier);
    let paths = |places: &[&str]| places.iter().map(PathBuf::from).collect::<Vec<_>>();
    let (mut writable, mut visible) = (paths(places.writable), paths(places.readable));
    let of_status = standing.home.iter().chain(&standing.tmp);
    writable.extend(of_status.map(|place| place.as_path().to_owned()));
    writable.extend(DEVICES.map(PathBuf::from));
    writable.extend(sandbox.devices.nodes.iter().map(|(node, _)| node.clone()));
    for root in policy.roots() {
        let places = if root.writable() {
            &mut writable
        } else {
            &mut visible
        };
        places.push(root.path().to_owned());
    }
    visible.extend(policy.other_names().map(|(name, _)| name.to_owned()));
    visible.extend(sandbox.system.iter().map(|seen| seen.path.clone()));
    visible.extend(writable.iter().cloned());
    if tier == Tier::Off {
        // Nothing is outside.
        visible.clear();
    }
    let names = sandbox.environment.iter();
    let names = names.filter_map(|(name, _)| name.to_str().map(str::to_owned));
    let expanding = sandbox.definitions.expanding_files();
    let things = MissingThings {
        watch: watch.and_then(Result::ok),
        files,
        path: sandbox.unseen_path.clone(),
        scripts: sandbox.left_out_scripts.clone(),
        visible,
        writable,
        downloads: sandbox.downloads.places(),
        hosts: sandbox.configured_hosts(),
        private: sandbox.definitions.private().to_vec(),
        hints: sandbox.hints.clone(),
        given: names.collect(),
        expanding: expanding.map(str::to_owned).collect(),
        variables: sandbox
            .withheld
            .iter()
            .map(|withheld| UnsetVariable {
                name: withheld.name.clone(),
                unseen: withheld.unseen.clone(),
                flags: withheld.flags(),
            })
            .collect(),
    };
    MissingOfMachine::new(things, tier)
}
