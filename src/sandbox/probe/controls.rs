//! Controls: operations that must work inside the sandbox. Without them, a sandbox that refuses
//! everything would look perfect.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;

use rustix::fs::{AtFlags, CWD, FileType, Mode};

use super::attempt::Control;
use super::metadata::now;
use super::stage::Stage;

pub(super) const CONTROLS: &[Control] = &[
    works("write", |s| fs::write(s.rw.join("control"), "x")),
    works("read what may only be read", |s| {
        same(&fs::read(s.ro.join("file"))?, b"read-only")
    }),
    works("list", |s| {
        fs::read_dir(&s.ro)?
            .next()
            .unwrap_or_else(|| Err(missing("an entry")))
            .map(drop)
    }),
    works("run a program of the system", |_| {
        success(&mut Command::new("/bin/true"))
    }),
    works("run a program of an allowed directory", |s| {
        let script = s.rw.join("control.sh");
        fs::write(&script, "#!/bin/sh\nexit 0\n")?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        success(&mut Command::new(script))
    }),
    works("rename", |s| {
        fs::write(s.rw.join("before"), "x")?;
        fs::rename(s.rw.join("before"), s.rw.join("after"))
    }),
    works(
        "rename between allowed directories, or be told EXDEV",
        |s| {
            fs::write(s.rw.join("across"), "x")?;
            match fs::rename(s.rw.join("across"), s.rw2.join("across")) {
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => Ok(()),
                result => result,
            }
        },
    ),
    works("hard link", |s| {
        fs::write(s.rw.join("one-name"), "x")?;
        fs::hard_link(s.rw.join("one-name"), s.rw.join("two-names"))
    }),
    works("read by a link between allowed directories", |s| {
        fs::write(s.rw2.join("aim"), "x")?;
        symlink(s.rw2.join("aim"), s.rw.join("link-across"))?;
        same(&fs::read(s.rw.join("link-across"))?, b"x")
    }),
    works("make and remove directories and pipes", |s| {
        fs::create_dir(s.rw.join("made"))?;
        rustix::fs::mknodat(
            CWD,
            s.rw.join("made/pipe"),
            FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )?;
        fs::remove_dir_all(s.rw.join("made"))
    }),
    works("change own metadata", |s| {
        let file = s.rw.join("metadata");
        fs::write(&file, "x")?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640))?;
        rustix::fs::utimensat(CWD, &file, &now(), AtFlags::empty())?;
        let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
        rustix::fs::chown(&file, Some(user), Some(group))?;
        OpenOptions::new()
            .read(true)
            .open(&file)?
            .set_permissions(fs::Permissions::from_mode(0o600))?;
        match fs::metadata(&file)?.permissions().mode() & 0o777 {
            0o600 => Ok(()),
            other => Err(io::Error::other(format!("mode {other:o}"))),
        }
    }),
    works("a directory that hands its group down", |s| {
        let dir = s.rw.join("group");
        fs::create_dir(&dir)?;
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o2775))?;
        fs::create_dir(dir.join("below"))?;
        for dir in [dir.join("below"), dir] {
            let mode = fs::metadata(dir)?.permissions().mode();
            if mode & 0o2000 == 0 {
                return Err(io::Error::other(format!("mode {mode:o}")));
            }
        }
        Ok(())
    }),
    works("set an attribute", |s| {
        let file = s.rw.join("attributes");
        fs::write(&file, "x")?;
        rustix::fs::setxattr(
            &file,
            c"user.control",
            b"y",
            rustix::fs::XattrFlags::empty(),
        )?;
        let mut value = [0; 8];
        let length = rustix::fs::getxattr(&file, c"user.control", &mut value)?;
        same(&value[..length], b"y")
    }),
    works("HOME", |_| {
        let home = std::env::var_os("HOME").ok_or_else(|| missing("HOME"))?;
        fs::write(Path::new(&home).join("control"), "x")
    }),
    works("TMPDIR", |_| {
        let dir =
            std::env::var_os("TMPDIR").map_or_else(|| "/tmp".into(), std::path::PathBuf::from);
        let file = dir.join(format!("control-{}", std::process::id()));
        fs::write(&file, "x")?;
        fs::remove_file(file)
    }),
    works("/dev/null, zero, full, random, urandom", |_| {
        OpenOptions::new()
            .write(true)
            .open("/dev/null")?
            .write_all(b"x")?;
        for name in ["zero", "full", "random", "urandom"] {
            File::open(Path::new("/dev").join(name))?.read_exact(&mut [0; 8])?;
        }
        Ok(())
    }),
    works("/proc/self", |_| {
        fs::read_to_string("/proc/self/status").map(drop)
    }),
    works("pair of sockets", |_| {
        let (mut one, mut two) = UnixStream::pair()?;
        one.write_all(b"x")?;
        two.read_exact(&mut [0])
    }),
    works("threads", |_| {
        std::thread::Builder::new()
            .spawn(|| ())?
            .join()
            .map_err(|_| io::Error::other("it panicked"))
    }),
    works("end an own process", |_| {
        let mut child = Command::new("/bin/sleep").arg("60").spawn()?;
        child.kill()?;
        child.wait().map(drop)
    }),
    works("pipeline of a shell", |_| {
        success(Command::new("/bin/sh").args(["-c", "echo x | cat | grep -q x"]))
    }),
    works("watch an allowed directory", |s| {
        let watch = rustix::fs::inotify::init(rustix::fs::inotify::CreateFlags::CLOEXEC)?;
        rustix::fs::inotify::add_watch(&watch, &s.rw, rustix::fs::inotify::WatchFlags::CREATE)?;
        Ok(())
    }),
    works("lock a file", |s| {
        let file = File::create(s.rw.join("lock"))?;
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
        Ok(())
    }),
    in_namespaces("loopback", |_| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        TcpStream::connect(listener.local_addr()?).map(drop)
    }),
    in_namespaces("socket in an allowed directory", |s| {
        let listener = UnixListener::bind(s.rw.join("socket"))?;
        let mut stream = UnixStream::connect(s.rw.join("socket"))?;
        stream.write_all(b"x")?;
        let mut got = [0];
        listener.accept()?.0.read_exact(&mut got)?;
        same(&got, b"x")
    }),
    in_namespaces("terminal of its own", |_| {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        File::open(name.to_str().map_err(|_| missing("a name"))?).map(drop)
    }),
    in_namespaces("/tmp and /dev/shm", |_| {
        for dir in ["/tmp", "/dev/shm"] {
            let file = Path::new(dir).join(format!("control-{}", std::process::id()));
            fs::write(&file, "x")?;
            fs::remove_file(file)?;
        }
        Ok(())
    }),
];

const fn works(name: &'static str, run: fn(&Stage) -> io::Result<()>) -> Control {
    Control {
        name,
        namespaces_only: false,
        run,
    }
}

const fn in_namespaces(name: &'static str, run: fn(&Stage) -> io::Result<()>) -> Control {
    Control {
        name,
        namespaces_only: true,
        run,
    }
}

fn missing(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("no {what}"))
}

fn same(got: &[u8], wanted: &[u8]) -> io::Result<()> {
    if got == wanted {
        Ok(())
    } else {
        Err(io::Error::other(format!(
            "{} bytes of something else",
            got.len()
        )))
    }
}

fn success(command: &mut Command) -> io::Result<()> {
    let status = command.status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(status.to_string()))
    }
}
