//! Real kills of a process that changes a tree, undoes changes, or recovers from an earlier kill.

use std::env;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::super::Options;
use super::picture::differences;
use super::program::{Actor, KINDS, Step};
use super::property::{World, store};

/// Environment variable with the tree of the child process.
const CHILD: &str = "JOURNAL_KILLED_IN";
/// Number of successive processes, each on the tree that the one before left.
const KILLS: u32 = 3;

/// Random number generator.
struct Dice(u64);

impl Dice {
    fn new() -> Self {
        Self(RandomState::new().hash_one("dice") | 1)
    }

    fn roll(&mut self, sides: u64) -> u64 {
        // xorshift64
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) % sides
    }

    fn step(&mut self) -> Step {
        let mut word = || self.roll(1 << 16).try_into().unwrap();
        let (a, b, c) = (word(), word(), word());
        Step(self.roll(KINDS.into()).try_into().unwrap(), a, b, c)
    }
}

fn roots(dir: &Path) -> Vec<PathBuf> {
    ["one", "two"].map(|name| dir.join(name)).to_vec()
}

/// Changes the tree and undoes that until killed. Sends a byte to the parent before each step.
fn child(dir: &Path) -> ! {
    let (roots, mut dice) = (roots(dir), Dice::new());
    let store = store(dir, &roots);
    let say = || std::io::stderr().write_all(b".").unwrap();
    say();
    store.recover().unwrap();
    loop {
        let mut recorder = store.begin("call").unwrap();
        for made in 0..dice.roll(25) {
            say();
            let who = format!("{}-{}-{made}", std::process::id(), recorder.number());
            Actor {
                roots: &roots,
                recorder: Some(&mut recorder),
                made: 0,
                who: &who,
            }
            .run(&[dice.step()]);
        }
        let number = store.end(recorder).unwrap().number;
        if dice.roll(2) == 0 {
            say();
            assert_eq!(
                store
                    .undo(&[number], "undo", Options::default())
                    .unwrap()
                    .conflicts,
                []
            );
        }
    }
}

#[test]
fn killed_process_can_be_undone() {
    if let Some(dir) = env::var_os(CHILD) {
        child(Path::new(&dir));
    }
    let rounds = env::var("JOURNAL_KILLS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(20);
    let (_, module) = module_path!().split_once("::").unwrap();
    let test = format!("{module}::killed_process_can_be_undone");
    let mut dice = Dice::new();
    for round in 0..rounds {
        let world = World::new();
        let before: Vec<Step> = (0..40).map(|_| dice.step()).collect();
        world.unseen(&before, "before");
        let first = world.picture();
        for _ in 0..KILLS {
            let mut process = Command::new(env::current_exe().unwrap())
                .args(["--exact", "--nocapture", &test])
                .env(CHILD, world.dir.path())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut said = process.stderr.take().unwrap();
            let mut heard = vec![0; 1 + usize::try_from(dice.roll(60)).unwrap()];
            said.read_exact(&mut heard).unwrap();
            // A random moment during its work.
            std::thread::sleep(Duration::from_micros(dice.roll(5_000)));
            process.kill().unwrap();
            process.wait().unwrap();
            heard.clear();
            said.read_to_end(&mut heard).unwrap();
            assert_eq!(
                String::from_utf8_lossy(&heard).replace('.', ""),
                "",
                "round {round}: it failed by itself"
            );
        }
        let store = world.store();
        store.recover().unwrap();
        for number in store.numbers().unwrap().into_iter().rev() {
            let outcome = store.undo(&[number], "undo", Options::default()).unwrap();
            assert_eq!(outcome.conflicts, [], "round {round}, undo {number}");
        }
        let found = differences(&first, &world.picture());
        assert!(found.is_empty(), "round {round}:\n{}", found.join("\n"));
    }
}
