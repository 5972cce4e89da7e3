//! Credentials: commands use them through placeholders and never see the secret.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{CommandResult, World, everywhere, own_network};
use crate::tree::Tree;

const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ0123";
const FLAGS: [&str; 8] = [
    "--allow-host",
    "api.example.com",
    "--allow-host",
    "other.example.com",
    "--credential",
    "GH_TOKEN=env:REAL",
    "--for",
    "https://api.example.com/**",
];
/// Shell function `get`, the prefix of every check: prints the response, with the placeholder
/// replaced by a name.
const SHELL: &str =
    "get() { curl -A curl -sS -m 20 \"$@\" | sed \"s/$GH_TOKEN/STAND-IN/g\"; echo; }\n";

/// Writes the files that the servers need.
fn lay_out(dir: &std::path::Path) {
    let names = ["api.example.com", "db.example.com"].map(str::to_owned);
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(names.to_vec()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap().pem();
    for (name, text) in [
        ("secret", SECRET),
        ("authority.pem", &certificate),
        ("server.pem", &certificate),
        ("server.key", &key.serialize_pem()),
        ("credentials.py", include_str!("credentials.py")),
        ("credentials.sh", include_str!("credentials.sh")),
    ] {
        fs::write(dir.join(name), text).unwrap();
    }
}

/// Runs `replay` with these arguments before the shell command.
fn run_as(world: &World, words: &[&str], flags: &[&str], line: &str) -> CommandResult {
    let tree = world.tree.path();
    for name in ["ready", "alive", "notes"] {
        let _ = fs::remove_file(tree.join(name));
    }
    let mut command = Command::new("unshare");
    command
        .args(own_network())
        .arg("sh")
        .arg(tree.join("credentials.sh"))
        .arg(tree);
    command.arg(&world.program).args(words).args([
        "--sandbox",
        world.setting.tier,
        "--log-level",
        "warn",
    ]);
    command
        .arg("--allow")
        .arg(format!("{}:rw", tree.join("work").display()))
        .current_dir(tree.join("work"));
    let line = format!("{SHELL}{line}");
    let ran = command
        .args(flags)
        .args(["--", "sh", "-c", &line])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let notes = fs::read_to_string(tree.join("notes")).unwrap_or_default();
    let notes = notes.lines().map(str::to_owned).collect();
    let ran = CommandResult {
        out: text(&ran.stdout),
        err: text(&ran.stderr),
        notes,
        status: ran.status.code(),
    };
    assert!(
        !ran.out.contains(SECRET) && !ran.err.contains(SECRET),
        "{ran:?}"
    );
    ran
}

fn run(world: &World, flags: &[&str], line: &str) -> CommandResult {
    run_as(world, &["sandbox", "run"], flags, line)
}

#[test]
fn secret_reaches_its_host_and_never_returns() {
    everywhere(|world| {
        lay_out(world.tree.path());
        let line = include_str!("credentials.txt");
        let ran = run(world, &FLAGS, line);
        assert_eq!(
            ran.out,
            include_str!("credentials.out"),
            "{:?}: {}",
            world.setting,
            ran.err
        );
        let notes: String = ran.notes.into_iter().map(|note| note + "\n").collect();
        assert_eq!(
            notes,
            include_str!("credentials.notes"),
            "{:?}",
            world.setting
        );
        assert_eq!(
            ran.err,
            include_str!("credentials.err"),
            "{:?}",
            world.setting
        );
    });
}

#[test]
fn used_secret_is_in_no_other_process() {
    everywhere(|world| {
        lay_out(world.tree.path());
        world.file("look.py", include_str!("look.py"));
        let backwards: String = SECRET.chars().rev().collect();
        let line = format!(
            "get https://api.example.com/echo -H \"Authorization: Bearer $GH_TOKEN\" > answer
            get https://api.example.com/holders
            sleep 1000 &
            python3 look.py {backwards}
            kill $!
            test $(printenv | grep -c \"=$GH_TOKEN$\") = 1 && echo one variable"
        );
        let ran = run(world, &FLAGS, &line);
        let expected = "{\"the server\": 1, \"looked at more than three\": 1, \"others\": 0}\n\
                        looked environments memories files found []\none variable\n";
        assert_eq!(
            (&*ran.out, &*ran.err),
            (expected, ""),
            "{:?}",
            world.setting
        );
        assert_eq!(
            ran.notes[0], "11.0.0.2:443 GET /echo HTTP/1.1 Bearer SECRET identity",
            "{:?}",
            world.setting
        );
    });
}

#[test]
fn git_logs_in_by_placeholder_password() {
    everywhere(|world| {
        lay_out(world.tree.path());
        let git = |line: &str| {
            let made = Command::new("sh")
                .arg("-c")
                .arg(line)
                .current_dir(world.tree.path())
                .output()
                .unwrap();
            assert!(made.status.success(), "{made:?}");
        };
        git("export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
            rm -rf made repository.git; git init -q made && cd made && echo hello > file && git add file && git commit -qm one
            cd .. && git clone -q --bare made repository.git && cd repository.git && git update-server-info && chmod -R a+rX .");
        let _ = fs::remove_dir_all(world.tree.path().join("work/cloned"));
        let ran = run(
            world,
            &FLAGS,
            "git clone -q https://api.example.com/repository.git cloned; cat cloned/file; cat cloned/.git/config | grep -c password",
        );
        assert_eq!(
            (&*ran.out, &*ran.err),
            ("hello\n0\n", ""),
            "{:?}: {:?}",
            world.setting,
            ran.notes
        );
        let logged_in = ran
            .notes
            .iter()
            .filter(|note| note.contains("Basic x-access-token:SECRET"))
            .count();
        assert!(logged_in > 1, "{:?}", ran.notes);
    });
}

#[test]
fn server_logs_hold_no_secret() {
    everywhere(|world| {
        if world.setting.nobody {
            return;
        }
        let tree = Tree::new();
        tree.file("work/a", "");
        lay_out(tree.root());
        fs::set_permissions(tree.path("secret"), fs::Permissions::from_mode(0o600)).unwrap();
        let audit = tree.text("audit.log");
        let credential = format!("GH_TOKEN=file:{}", tree.text("secret"));
        let flags = ["--audit", &audit, "--log-level", "trace"];
        let rules = [
            "--allow-host",
            "api.example.com",
            "--credential",
            &credential,
            "--for",
            "https://api.example.com/**",
        ];
        let mut server = world.serve(&tree, "credentials.sh", &[&flags[..], &rules].concat());
        let line = "curl -sS https://api.example.com/echo -H \"Authorization: Bearer $GH_TOKEN\" | grep -c $GH_TOKEN";
        let said = server.call("execute_command", json!({"command": line}));
        assert_eq!(said.text(), "1\n[exit code: 0]");
        let logs = [server.stderr(), fs::read_to_string(&audit).unwrap()];
        assert!(logs.iter().all(|log| !log.contains(SECRET)));
        assert!(
            fs::read_to_string(tree.path("notes"))
                .unwrap()
                .contains("Bearer SECRET")
        );
    });
}

#[test]
fn recording_holds_placeholder_not_secret() {
    everywhere(|world| {
        if world.setting.nobody || world.setting.tier == "landlock" {
            return;
        }
        lay_out(world.tree.path());
        let line = "get https://api.example.com/drip -H \"Authorization: Bearer $GH_TOKEN\" | grep -c STAND-IN";
        let ran = run_as(
            world,
            &["calls", "record", "--isolation", "strict"],
            &FLAGS,
            line,
        );
        assert_eq!(ran.out, "1\n", "{}", ran.err);
        assert_eq!(
            ran.notes,
            ["11.0.0.2:443 GET /drip HTTP/1.1 Bearer SECRET identity"]
        );
        let found = Command::new("grep")
            .args(["-rc", SECRET, "."])
            .current_dir(world.tree.path().join("work"))
            .output();
        let found = String::from_utf8(found.unwrap().stdout).unwrap();
        assert!(
            found.contains("mocks.yaml:0") && found.lines().all(|line| line.ends_with(":0")),
            "{found}"
        );
    });
}

/// Creates a `PostgreSQL` database with this password. It uses SCRAM or, for `template1`, a
/// plain-text password.
fn lay_out_database(dir: &std::path::Path) {
    let place = dir.join("postgres");
    fs::create_dir(&place).unwrap();
    let line = "chown 65534:65534 postgres && chmod 700 postgres && chmod 644 secret
        setpriv --reuid=65534 --regid=65534 --clear-groups -- initdb -D postgres -U owner -A scram-sha-256 --pwfile=secret -N -E UTF8 --locale=C
        cp server.pem postgres/server.crt && cp server.key postgres/server.key
        chown 65534:65534 postgres/server.* && chmod 600 postgres/server.key
        echo 'hostssl template1 owner 0.0.0.0/0 password' > postgres/pg_hba.conf
        echo 'hostssl all owner 0.0.0.0/0 scram-sha-256' >> postgres/pg_hba.conf";
    let made = Command::new("sh")
        .args(["-ec", line])
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}

#[test]
fn program_logs_in_to_postgresql_by_placeholder() {
    let is_there = |name: &str| {
        Command::new(name)
            .arg("--version")
            .output()
            .is_ok_and(|ran| ran.status.success())
    };
    everywhere(|world| {
        // The server runs for another user than root.
        let can = rustix::process::geteuid().is_root()
            && is_there("initdb")
            && is_there("postgres")
            && is_there("psql");
        if !can || world.setting.nobody {
            return;
        }
        lay_out(world.tree.path());
        lay_out_database(world.tree.path());
        let flags = [
            "--allow-host",
            "*.example.com:5432",
            "--credential",
            "PGPASSWORD=env:REAL",
            "--for",
            "postgres://db.example.com",
            "--for",
            "postgres://other.example.com",
        ];
        let line = r#"
            ask() { timeout 60 psql -w "host=$1 user=owner $2" -Atc "select ssl from pg_stat_ssl where pid = pg_backend_pid()" 2>&1 | sed 's/.*FATAL: *//' | sort -u; }
            ask db.example.com "dbname=postgres sslmode=disable"
            ask db.example.com "dbname=postgres sslmode=verify-full sslrootcert=$SSL_CERT_FILE"
            ask db.example.com "dbname=template1 sslmode=require"
            ask db.example.com "dbname=postgres password=another"
            ask other.example.com dbname=postgres"#;
        let ran = run(world, &flags, line);
        let expected = "t\nt\nt\npassword authentication failed for user \"owner\"\nreplay: the \
            server does not speak TLS, and the password is sent only over TLS\n";
        assert_eq!(
            (&*ran.out, &*ran.err),
            (expected, ""),
            "{:?}",
            world.setting
        );
        assert!(
            ran.notes
                .chunks(2)
                .all(|told| told[1] == "11.0.0.3:5432 b''"),
            "{:?}",
            ran.notes
        );
    });
}

/// Creates a `MariaDB` instance with a user that has this password.
fn lay_out_mariadb(dir: &std::path::Path) {
    let user = format!(
        "CREATE USER owner@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('{SECRET}');\nGRANT ALL ON *.* TO owner@'%';\n"
    );
    fs::create_dir(dir.join("mariadbd")).unwrap();
    let line = "chown 65534:65534 mariadbd && chmod 700 mariadbd
        setpriv --reuid=65534 --regid=65534 --clear-groups -- mariadb-install-db --no-defaults --datadir=\"$PWD/mariadbd\" --auth-root-authentication-method=normal
        cp server.pem mariadbd/server.crt && cp server.key mariadbd/server.key
        chown 65534:65534 mariadbd/server.* && chmod 600 mariadbd/server.key";
    let made = Command::new("sh")
        .args(["-ec", line])
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    fs::write(dir.join("mariadbd/users"), user).unwrap();
}

#[test]
fn program_logs_in_to_mysql_by_placeholder() {
    let is_there = |name: &str| {
        Command::new(name)
            .arg("--version")
            .output()
            .is_ok_and(|ran| ran.status.success())
    };
    everywhere(|world| {
        // The server runs for another user than root.
        let can =
            rustix::process::geteuid().is_root() && is_there("mariadbd") && is_there("mariadb");
        if !can || world.setting.nobody {
            return;
        }
        lay_out(world.tree.path());
        lay_out_mariadb(world.tree.path());
        let flags = [
            "--allow-host",
            "*.example.com:3306",
            "--credential",
            "MYSQL_PWD=env:REAL",
            "--for",
            "mysql://db.example.com",
            "--for",
            "mysql://other.example.com",
        ];
        let line = r#"
            ask() { timeout 60 mariadb --no-defaults -N -u owner -h "$@" -e "select 'in'; show status like 'Ssl_version'" 2>&1 | sed 's/^ERROR [^:]*: //'; }
            ask db.example.com
            ask db.example.com --ssl-ca=$SSL_CERT_FILE --ssl-verify-server-cert information_schema
            ask db.example.com --default-auth=caching_sha2_password
            ask db.example.com --compress
            ask db.example.com -panother
            MYSQL_PWD= ask db.example.com
            ask db.example.com -u nobody
            ask other.example.com"#;
        let ran = run(world, &flags, line);
        assert_eq!(
            (&*ran.out, &*ran.err),
            (include_str!("mysql.out"), ""),
            "{:?}",
            world.setting
        );
        assert_eq!(ran.notes, ["11.0.0.3:3306 b''"], "{:?}", world.setting);
        let line = "mariadb --no-defaults -N -u owner -h db.example.com -e \"select 'recorded'\"";
        let ran = run_as(
            world,
            &["calls", "record", "--isolation", "strict"],
            &flags,
            line,
        );
        assert_eq!(ran.out, "recorded\n", "{:?}: {}", world.setting, ran.err);
        let found = Command::new("grep")
            .args(["-rlF", SECRET, "work"])
            .current_dir(world.tree.path())
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&found.stdout),
            "",
            "{:?}",
            world.setting
        );
    });
}
