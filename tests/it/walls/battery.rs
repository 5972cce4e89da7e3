use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use replay::sandbox::attack::{Promise, Victims, probe};
use replay::sandbox::{Network, Tier};

use super::direct::Direct;

fn go(tier: Tier, owner: Option<(u32, u32)>) {
    let dir = tempfile::Builder::new().prefix("replay-walls-").tempdir().unwrap();
    let base = dir.path().join("base");
    std::fs::create_dir(&base).unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir(base.join("ro")).unwrap();
    let program = base.join("ro/replay");
    std::fs::copy(env!("CARGO_BIN_EXE_replay"), &program).unwrap();
    let mut victims = Victims::lay_out(&base, owner).unwrap();
    let (rw, rw2, ro) = (base.join("rw"), base.join("rw2"), base.join("ro"));
    let network = Network::Loopback;
    let roots: [(&Path, bool); 3] = [(&rw, true), (&rw2, true), (&ro, false)];
    let direct = Direct::start(&program, tier, network, &roots, owner, dir.path()).unwrap();
    let stage = victims.stage(std::process::id(), Some(direct.child.id()));
    let report = probe(&mut victims, &stage, &program, network, &mut |argv| {
        let (out, err, event) = direct.run(argv, &rw);
        println!("{event:?} stderr: {}", String::from_utf8_lossy(&err));
        Ok(out)
    })
    .unwrap();
    let promise = Promise { tier, network };
    for (name, outcome) in &report.attempts {
        println!("{name}: {outcome:?}");
    }
    println!("{}", report.text(promise));
    assert_eq!(report.faults(promise), Vec::<String>::new());
}

#[test]
fn namespaces_root() {
    go(Tier::Namespaces, None);
}
#[test]
fn namespaces_user() {
    go(Tier::Namespaces, Some((65534, 65534)));
}
#[test]
fn landlock_root() {
    go(Tier::Landlock, None);
}
#[test]
fn landlock_user() {
    go(Tier::Landlock, Some((65534, 65534)));
}
#[test]
fn off_user() {
    go(Tier::Off, Some((65534, 65534)));
}
