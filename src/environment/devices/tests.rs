//! Tests of the devices for commands, with a machine of the test's own.

use std::collections::BTreeMap;
use std::io;

use pretty_assertions::assert_eq;

use super::*;

/// Files by path; a link with its target.
#[derive(Default)]
struct FakeMachine {
    nodes: BTreeMap<PathBuf, NodeType>,
    links: BTreeMap<PathBuf, PathBuf>,
    entries: BTreeMap<(u32, u32), DeviceEntry>,
}

impl FakeMachine {
    fn with(mut self, path: &str, node: NodeType) -> Self {
        self.nodes.insert(path.into(), node);
        self
    }

    fn with_link(mut self, path: &str, target: &str) -> Self {
        self.links.insert(path.into(), target.into());
        self.with(path, NodeType::Link)
    }

    fn with_entry(mut self, number: (u32, u32), subsystem: &str, is_virtual: bool) -> Self {
        let subsystem = subsystem.to_owned();
        self.entries.insert(
            number,
            DeviceEntry {
                subsystem,
                is_virtual,
            },
        );
        self
    }
}

impl DeviceTree for FakeMachine {
    fn names(&self, dir: &Path) -> Vec<OsString> {
        let below = self
            .nodes
            .keys()
            .filter_map(|path| path.strip_prefix(dir).ok());
        below
            .filter_map(|rest| Some(rest.iter().next()?.to_owned()))
            .collect()
    }

    fn node(&self, path: &Path) -> io::Result<NodeType> {
        let node = self.nodes.get(path).copied();
        node.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        let mut at = PathBuf::new();
        for part in path {
            at.push(part);
            at = self.links.get(&at).cloned().unwrap_or(at);
        }
        let exists = self.nodes.keys().any(|known| known.starts_with(&at));
        exists.then_some(at)
    }

    fn entry(&self, major: u32, minor: u32) -> Option<DeviceEntry> {
        self.entries.get(&(major, minor)).cloned()
    }
}

fn machine() -> FakeMachine {
    const GPU: &str = "/sys/devices/pci0000:00/0000:01:00.0";
    let node = NodeType::Character;
    FakeMachine::default()
        .with("/dev/nvidiactl", node(195, 255))
        .with("/dev/nvidia0", node(195, 0))
        .with("/dev/nvidia-modeset", node(195, 254))
        .with("/dev/nvidia-caps/nvidia-cap1", node(240, 1))
        .with("/dev/nvidia-caps/nvidia-cap2", node(240, 2))
        .with("/dev/dri/card0", node(226, 0))
        .with("/dev/dri/renderD128", node(226, 128))
        .with("/dev/kvm", node(10, 232))
        .with("/dev/uinput", node(10, 223))
        .with("/dev/ttyUSB0", node(188, 0))
        .with("/dev/ttyS0", node(4, 64))
        .with("/dev/tty1", node(4, 1))
        .with("/dev/mem", node(1, 1))
        .with("/dev/harmless", node(1, 1))
        .with("/dev/null", node(1, 3))
        .with("/dev/event0", node(13, 64))
        .with("/dev/nvme0", node(241, 0))
        .with("/dev/sda", NodeType::Block)
        .with("/dev/disk/file", NodeType::Other)
        .with("/dev/pts/0", node(136, 0))
        .with_link("/dev/serial", "/dev/ttyUSB0")
        .with_entry((10, 232), "misc", true)
        .with_entry((10, 223), "misc", true)
        .with_entry((4, 64), "tty", false)
        .with_entry((4, 1), "tty", true)
        .with_entry((13, 64), "input", false)
        .with_entry((241, 0), "nvme", false)
        .with_entry((226, 128), "drm", false)
        .with("/sys/bus/pci/drivers/nvidia/bind", NodeType::Other)
        .with_link("/sys/bus/pci/drivers/nvidia/0000:01:00.0", GPU)
        .with_link("/sys/bus/pci/devices/0000:01:00.0", GPU)
        .with(&format!("{GPU}/numa_node"), NodeType::Other)
        .with(&format!("{GPU}/drm/renderD128/dev"), NodeType::Other)
        .with_link(&format!("{GPU}/drm/renderD128/device"), GPU)
        .with_link("/sys/dev/char/226:128", &format!("{GPU}/drm/renderD128"))
        .with("/sys/class/drm/version", NodeType::Other)
        .with("/sys/devices/system/node/online", NodeType::Other)
}

fn found(asked: &[&str]) -> Result<Devices, String> {
    let asked: Vec<PathBuf> = asked.iter().map(PathBuf::from).collect();
    let found = Devices::find(Definitions::embedded(), &asked, &machine());
    found.map_err(|error| error.to_string())
}

fn paths(list: &[&str]) -> Vec<PathBuf> {
    list.iter().map(PathBuf::from).collect()
}

#[test]
fn nvidia_group_has_nodes_without_screens_and_partitions() {
    let found = found(&["nvidia"]).unwrap();
    let by = |path: &str| (PathBuf::from(path), "nvidia".to_owned());
    assert_eq!(
        found,
        Devices {
            nodes: vec![
                by("/dev/nvidiactl"),
                by("/dev/nvidia0"),
                by("/dev/nvidia-caps/nvidia-cap2"),
            ],
            system: paths(&[
                "/sys/bus/pci/drivers/nvidia/0000:01:00.0",
                "/sys/devices/pci0000:00/0000:01:00.0",
                "/sys/bus/pci/devices",
                "/sys/devices/system/node",
                "/sys/class/drm",
            ]),
            names_threads: true,
            unseen: vec![("dri".into(), "a GPU".into())],
        }
    );
}

#[test]
fn dri_group_has_render_nodes_without_cards() {
    let found = found(&["dri", "kvm"]).unwrap();
    assert_eq!(
        found,
        Devices {
            nodes: vec![
                ("/dev/dri/renderD128".into(), "dri".into()),
                ("/dev/kvm".into(), "kvm".into()),
            ],
            system: paths(&[
                "/sys/class/drm",
                "/sys/devices/pci0000:00/0000:01:00.0",
                "/sys/dev/char/226:128",
                "/sys/bus/pci/devices",
            ]),
            names_threads: false,
            unseen: vec![("nvidia".into(), "an NVIDIA GPU".into())],
        }
    );
}

#[test]
fn path_of_group_member_gets_its_system_paths() {
    let found = found(&["/dev/nvidia0", "/dev/null", "/dev/ttyUSB0", "/dev/ttyS0"]).unwrap();
    let by = |path: &str| (PathBuf::from(path), path.to_owned());
    let nodes = ["/dev/nvidia0", "/dev/ttyUSB0", "/dev/ttyS0"]
        .map(by)
        .to_vec();
    assert_eq!((found.nodes, found.system.len()), (nodes, 5));
    assert!(found.names_threads);
}

#[test]
fn without_flag_existing_gpus_are_noted_once() {
    let noted = [("nvidia", "an NVIDIA GPU"), ("dri", "a GPU")];
    assert_eq!(
        found(&[]).unwrap(),
        Devices {
            unseen: noted
                .map(|(name, note)| (name.into(), note.into()))
                .to_vec(),
            ..Devices::default()
        }
    );
}

#[test]
fn unsafe_or_missing_device_is_refused_with_reason() {
    for (given, reason) in [
        (
            "gpu",
            "--device `gpu` is neither a group of devices nor a path below /dev; give one of nvidia, amd, dri, wsl, kvm, \
             or a path such as /dev/ttyUSB0",
        ),
        (
            "/dev/../etc/passwd",
            "--device `/dev/../etc/passwd` is neither a group of devices nor a path below /dev; give one of nvidia, amd, \
             dri, wsl, kvm, or a path such as /dev/ttyUSB0",
        ),
        (
            "amd",
            "--device amd: this machine has no /dev/kfd; load its driver, or leave the flag out",
        ),
        (
            "/dev/ttyUSB7",
            "--device `/dev/ttyUSB7`: entity not found; connect the device or load its driver, or leave the flag out",
        ),
        (
            "/dev/serial",
            "--device `/dev/serial` leads through a symbolic link, which can lead elsewhere later; give the device \
             itself: /dev/ttyUSB0",
        ),
        (
            "/dev/sda",
            "--device `/dev/sda` is a block device; only a character device can be given: leave it out",
        ),
        (
            "/dev/disk/file",
            "--device `/dev/disk/file` is no device; only a character device can be given: leave it out",
        ),
        (
            "/dev/pts/0",
            "--device `/dev/pts/0`: commands have their own in this directory; leave it out",
        ),
        (
            "/dev/mem",
            "--device `/dev/mem` gives memory and ports of the machine, which commands never get; leave it out",
        ),
        (
            "/dev/harmless",
            "--device `/dev/harmless` gives memory and ports of the machine, which commands never get; leave it out",
        ),
        (
            "/dev/event0",
            "--device `/dev/event0` gives its keyboards and mice, which commands never get; leave it out",
        ),
        (
            "/dev/nvme0",
            "--device `/dev/nvme0` gives its disks, which commands never get; leave it out",
        ),
        (
            "/dev/tty1",
            "--device `/dev/tty1` gives its consoles, which commands never get; leave it out",
        ),
        (
            "/dev/uinput",
            "--device `/dev/uinput` is an interface of the kernel (subsystem misc), which only a group gives; leave it \
             out, or name it in `nodes` of a [device.NAME] of your environment.toml",
        ),
    ] {
        assert_eq!(found(&[given]).unwrap_err(), reason);
    }
}

#[test]
fn glob_number_matches_digits_alone() {
    for (glob, path, is_match) in [
        ("/dev/nvidia#", "/dev/nvidia12", true),
        ("/dev/nvidia#", "/dev/nvidiactl", false),
        ("/dev/nvidia#", "/dev/nvidia", false),
        ("/dev/nvidia-caps/*", "/dev/nvidia-caps/nvidia-cap2", true),
        ("/dev/nvidia-caps/*", "/dev/nvidia-caps", false),
        ("/dev/kvm", "/dev/kvm/x", false),
    ] {
        assert_eq!(
            matches_path(glob, Path::new(path)),
            is_match,
            "{glob} {path}"
        );
    }
}

#[test]
fn description_names_given_and_unseen_devices() {
    let of_machine = |asked: &[&str]| found(asked).unwrap().describe();
    assert_eq!(
        of_machine(&[]).as_deref(),
        Some(
            "devices: none; an NVIDIA GPU of the machine is not shown (--device nvidia); a GPU of the machine is not shown \
             (--device dri)"
        )
    );
    assert_eq!(
        of_machine(&["dri", "nvidia"]).as_deref(),
        Some(
            "devices: /dev/dri/renderD128, /dev/nvidiactl, /dev/nvidia0, /dev/nvidia-caps/nvidia-cap2"
        )
    );
    assert_eq!(Devices::default().describe(), None);
}
