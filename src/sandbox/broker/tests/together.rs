//! The broker against callers that race, die or are whole programs.

use pretty_assertions::assert_eq;
use rustix::fs::CWD;

use super::*;

#[test]
fn symlink_race_does_not_escape() {
    const TRIES: u32 = 2000;
    let tree = Tree::new();
    fs::create_dir(tree.at("in/d")).unwrap();
    fs::write(tree.at("in/d/f"), "").unwrap();
    symlink("../out", tree.at("in/link")).unwrap();
    let path = CString::new(tree.at("in/d/f").as_os_str().as_bytes()).unwrap();
    let done = AtomicBool::new(false);
    let (from, to) = (tree.at("in/d"), tree.at("in/link"));
    let before = state(&tree.at("out/f"));
    let (changed, denied) = thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, &from, CWD, &to, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let outcome = tree.confined(|| {
            let mut changed = 0;
            for mode in 0..TRIES {
                let mode = 0o600 | (mode as usize & 0o77);
                match change(
                    libc::SYS_fchmodat,
                    [AT_CWD, path.as_ptr() as usize, mode, 0, 0, 0],
                ) {
                    Ok(()) => changed += 1,
                    Err(errno) => assert!([libc::EACCES, libc::ENOENT].contains(&errno), "{errno}"),
                }
            }
            changed
        });
        done.store(true, Ordering::Relaxed);
        outcome
    });
    assert_eq!(state(&tree.at("out/f")), before);
    assert!(
        changed > 0 && !denied.is_empty(),
        "{changed} of {TRIES} tries met the directory, {denied:?} the link"
    );
}

#[test]
fn answer_without_waiting_caller_is_not_found() {
    let (send, receive) = mpsc::channel();
    let (stop, wait) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            rustix::thread::set_no_new_privs(true).unwrap();
            send.send(install_with_listener(filter(SUPERVISED).instructions()).unwrap())
                .unwrap();
            wait.recv().unwrap_err();
        });
        let listener: OwnedFd = receive.recv().unwrap();
        let errno = respond(&listener, 12_345, Ok(0)).unwrap_err().kind();
        assert_eq!(
            (errno, still_valid(&listener, 12_345)),
            (io::ErrorKind::NotFound, false)
        );
        drop(stop);
    });
}

/// Processor on which a thread ran last, field 39 of `proc_pid_stat(5)`.
fn processor_of(thread: rustix::thread::Pid) -> String {
    let stat = fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    fields.split_whitespace().nth(36).unwrap().to_owned()
}

/// The filter for undo refuses unknown ioctls, so the caller cannot ask for it.
#[test]
fn journaled_caller_shares_the_processor_of_its_broker() {
    const CALLS: usize = 200;
    let (send, receive) = mpsc::channel();
    let serving = rustix::thread::gettid();
    thread::scope(|scope| {
        let calling = scope.spawn(move || {
            rustix::thread::set_no_new_privs(true).unwrap();
            let settings = FilterSettings {
                journaled: true,
                ..SUPERVISED
            };
            send.send(install_with_listener(filter(settings).instructions()).unwrap())
                .unwrap();
            let own = rustix::thread::gettid();
            let shares = || {
                rustix::fs::mkdir("/dev/null/missing", Mode::empty()).unwrap_err();
                processor_of(own) == processor_of(serving)
            };
            (0..CALLS).filter(|_| shares()).count()
        });
        let listener = receive.recv().unwrap();
        let mut broker = Broker::new(listener, Vec::new(), Vec::new(), Vec::new());
        serve_all(&mut broker);
        let shared = calling.join().unwrap();
        let is_supported = share_processor(&broker.listener).is_ok();
        // The scheduler may move a thread now and then.
        assert!(
            !is_supported || shared > CALLS * 9 / 10,
            "{shared} of {CALLS} calls shared a processor"
        );
    });
}

#[test]
fn a_second_listener_is_refused() {
    let tree = Tree::new();
    let (second, _) = tree.confined(|| {
        install_with_listener(filter(SUPERVISED).instructions())
            .map_err(|error| error.raw_os_error())
    });
    assert_eq!(second.unwrap_err(), Some(libc::EBUSY));
}

#[test]
fn programs_do_their_work_inside_and_none_outside() {
    let tree = Tree::new();
    symlink("../out/f", tree.at("in/link")).unwrap();
    let before = [
        state(&tree.at("in/kept/f")),
        state(&tree.at("out/f")),
        state(&tree.at("out")),
    ];
    // Other processes than this one, whose memory and descriptors the broker reaches by their
    // numbers alone.
    let run = |script: &str| {
        let mut shell = std::process::Command::new("/bin/sh");
        let output = shell
            .arg("-c")
            .arg(script)
            .current_dir(tree.at("in"))
            .env("LC_ALL", "C")
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let works = [
        "cp -p f g && test $(stat -c %a g) = 640",
        "touch -d '2001-02-03 04:05:06 UTC' g && test $(stat -c %Y g) = 981173106",
        "install -m 0604 g h && test $(stat -c %a h) = 604",
        "mkdir -m 2750 x && tar cf t f g h && tar xpf t -C x && test $(stat -c %a x/h) = 604",
        "mkdir y && cd y && chmod 710 . && chmod +x ../g && test -x ../g",
        "chown -h $(id -u):$(id -g) link && chmod -R go= x",
        "exec 3<g; chmod 600 /proc/self/fd/3; chmod 600 /dev/fd/3",
    ];
    let fails = [
        ("chmod 777 ../out/f", "Permission denied"),
        ("chmod 777 link", "Permission denied"),
        ("chmod 777 \"$PWD/../out\"", "Permission denied"),
        ("touch -d 2001-02-03 kept/f", "Permission denied"),
        ("chown -h $(id -u) kept", "Permission denied"),
        ("chmod u+s g", "Operation not permitted"),
        (
            "exec 3<../out/f; chmod 777 /proc/self/fd/3",
            "Permission denied",
        ),
    ];
    let ((works, fails), denied) = tree.confined(|| {
        (
            works.map(run),
            fails.map(|(script, said)| (run(script), said)),
        )
    });
    for (index, (code, said)) in works.into_iter().enumerate() {
        assert_eq!((code, said.as_str()), (Some(0), ""), "script {index}");
    }
    for ((code, said), expected) in fails {
        assert_eq!((code, said.contains(expected)), (Some(1), true), "{said}");
    }
    assert_eq!(
        [
            state(&tree.at("in/kept/f")),
            state(&tree.at("out/f")),
            state(&tree.at("out"))
        ],
        before
    );
    assert_eq!(denied.len(), 6, "{denied:?}");
}
