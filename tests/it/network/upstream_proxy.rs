//! The operator's proxy: rules come first, then connections are chained through it.

use std::fs;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{CONNECT, CommandResult, REQUEST_BY_HOST, World, everywhere};
use crate::tree::Tree;

const PASSWORD: &str = "SEKRET";
/// User and password as in a URL.
const LOGIN: &str = "me:p%40ss-SEKRET@";
/// Requests to an allowed host that only the proxy knows, and to a host that no rule allows.
const ASK: &str = "python3 ask.py inner.test=inner.test other.test=other.test";
const RULE: [&str; 2] = ["--allow-host", "inner.test"];
const SUBCOMMAND: [&str; 4] = ["sandbox", "run", "--log-level", "warn"];

/// Lays out the proxies and the programs.
fn lay_out(world: &World) {
    world.file("ask.py", REQUEST_BY_HOST);
    world.file("connect.py", CONNECT);
    fs::write(
        world.tree.path().join("proxies.py"),
        include_str!("proxies.py"),
    )
    .unwrap();
}

fn run(world: &World, proxy: &str, flags: &[&str], line: &str) -> CommandResult {
    let variables = [("ALL_PROXY", proxy)];
    world.run_in(&variables, &SUBCOMMAND, flags, line)
}

fn shows_no_password(ran: &CommandResult) {
    let shown = format!("{ran:?}");
    assert!(!shown.contains(PASSWORD), "{shown}");
}

#[test]
fn each_kind_of_proxy_reaches_allowed_host() {
    everywhere(|world| {
        lay_out(world);
        let own = rcgen::generate_simple_self_signed(["11.0.0.6".to_owned()]).unwrap();
        let dir = world.tree.path();
        let whole = own.signing_key.serialize_pem() + &own.cert.pem();
        fs::write(dir.join("proxies.pem"), whole).unwrap();
        fs::write(dir.join("root.pem"), own.cert.pem()).unwrap();
        for (proxy, kind) in [
            ("http://11.0.0.6:3128".to_owned(), "connect"),
            (format!("http://{LOGIN}11.0.0.6:3129"), "connect-login"),
            ("socks5://11.0.0.6:1080".to_owned(), "socks"),
            (format!("socks5h://{LOGIN}11.0.0.6:1081"), "socks-login"),
            (format!("https://{LOGIN}11.0.0.6:3130"), "tls"),
        ] {
            let look = "env | grep -i proxy; cat /proc/*/environ 2>/dev/null | grep -ac SEKRET";
            let ran = run(world, &proxy, &RULE, &format!("{ASK}; {look}"));
            let out = "inner.test inner.test 200\nother.test other.test PermissionError\n0\n";
            let err = "replay: blocked: other.test:80 (python3); the operator can allow it with \
                       --allow-host other.test\n";
            let notes = [
                format!("{kind} inner.test:80"),
                "11.0.0.2:80 GET /good HTTP/1.1".to_owned(),
            ];
            assert_eq!(
                (ran.out.as_str(), ran.err.as_str(), &ran.notes[..]),
                (out, err, &notes[..]),
                "{:?} {kind}",
                world.setting
            );
            shows_no_password(&ran);
        }
    });
}

#[test]
fn refusals_of_proxy_are_reported() {
    everywhere(|world| {
        lay_out(world);
        let corrects = "the operator can correct ALL_PROXY, or leave the proxy out with \
                        --upstream-proxy off";
        let cases = [
            (
                "http://11.0.0.6:3129".to_owned(),
                13,
                "says 407",
                "the operator's ALL_PROXY needs a user and password".to_owned(),
            ),
            (
                "http://me:bad@11.0.0.6:3129".to_owned(),
                13,
                "says 407",
                "it does not accept the user and password of the operator's ALL_PROXY".to_owned(),
            ),
            (
                "http://11.0.0.6:3403".to_owned(),
                13,
                "says 403",
                "it does not allow this host".to_owned(),
            ),
            (
                "http://11.0.0.6:3407".to_owned(),
                13,
                "says 407",
                "it wants Negotiate or NTLM, which is not supported; the operator can run px or \
                 cntlm on this machine, and name that in ALL_PROXY"
                    .to_owned(),
            ),
            (
                "http://11.0.0.6:3500".to_owned(),
                111,
                "gives no valid answer",
                format!("it may be no proxy, or one of another kind; {corrects}"),
            ),
            (
                "socks5://me:bad@11.0.0.6:1081".to_owned(),
                13,
                "refuses the login",
                "it does not accept the user and password of the operator's ALL_PROXY".to_owned(),
            ),
            (
                "socks5://11.0.0.6:9".to_owned(),
                101,
                "gives no connection",
                format!("it cannot be reached (Connection refused); {corrects}"),
            ),
        ];
        for (proxy, errno, answer, advice) in cases {
            let ran = run(
                world,
                &proxy,
                &["--allow-host", "inner.test:8080"],
                "for _ in 1 2; do python3 connect.py inner.test 8080; done",
            );
            let address = proxy.rsplit(['/', '@']).next().unwrap();
            let err = format!(
                "replay: the proxy {address} {answer} to inner.test:8080, 2 times; {advice}\n"
            );
            assert_eq!(
                (ran.out, ran.err),
                (format!("{errno}\n{errno}\n"), err),
                "{:?}",
                world.setting
            );
        }
        let unknown = run(
            world,
            "http://11.0.0.6:3128",
            &["--allow-host", "*.test:8080"],
            "python3 connect.py nothing.test 8080",
        );
        let err = "replay: the proxy 11.0.0.6:3128 says 502 to nothing.test:8080; it cannot reach \
                   the host\n";
        assert_eq!(
            (&*unknown.out, &*unknown.err),
            ("113\n", err),
            "{:?}",
            world.setting
        );
    });
}

#[test]
fn silent_proxy_ends_with_timeout() {
    everywhere(|world| {
        if world.setting.nobody {
            return;
        }
        lay_out(world);
        let ran = run(
            world,
            "http://11.0.0.6:3600",
            &["--allow-host", "inner.test:8080"],
            "python3 -c 'import socket; socket.create_connection((\"inner.test\", 8080), 60)' 2>&1 | tail -1",
        );
        let err = "replay: the proxy 11.0.0.6:3600 gives no answer to inner.test:8080; it took too \
                   long; the operator can correct ALL_PROXY, or leave the proxy out with \
                   --upstream-proxy off\n";
        assert_eq!(
            (&*ran.out, &*ran.err),
            ("TimeoutError: timed out\n", err),
            "{:?}",
            world.setting
        );
    });
}

#[test]
fn exceptions_and_off_connect_directly() {
    everywhere(|world| {
        lay_out(world);
        let ask = "python3 ask.py api.example.com=api.example.com";
        let flags = ["--allow-host", "api.example.com"];
        let proxy = ("http_proxy", "http://11.0.0.6:3128");
        let (via, served) = (
            "connect api.example.com:80",
            "11.0.0.2:80 GET /good HTTP/1.1",
        );
        let no = |list| [proxy, ("HTTP_PROXY", ""), ("NO_PROXY", list)];
        for (variables, expected) in [
            (no(""), &[via, served][..]),
            (no("*.example.com"), &[served]),
            (no("api.example.com:80"), &[served]),
            (no("api.example.com:81"), &[via, served]),
        ] {
            let ran = world.run_in(&variables, &SUBCOMMAND, &flags, ask);
            assert_eq!(
                ran.notes, expected,
                "{:?} {variables:?}: {}",
                world.setting, ran.err
            );
        }
        let off = [&flags[..], &["--upstream-proxy", "off"]].concat();
        let ran = world.run_in(&no(""), &SUBCOMMAND, &off, ask);
        assert_eq!(ran.notes, [served], "{:?}: {}", world.setting, ran.err);
        let flag = [&flags[..], &["--upstream-proxy", "socks5://11.0.0.6:1080"]].concat();
        let ran = world.run_in(&no(""), &SUBCOMMAND, &flag, ask);
        assert_eq!(
            ran.notes,
            ["socks api.example.com:80", served],
            "{:?}",
            world.setting
        );
    });
}

#[test]
fn private_address_is_judged_before_proxy() {
    everywhere(|world| {
        lay_out(world);
        let ran = run(
            world,
            "http://11.0.0.6:3128",
            &[
                "--allow-host",
                "*.example.com:80",
                "--allow-host",
                "*.inner.test:80",
            ],
            "python3 connect.py private.example.com 80; python3 connect.py silent.inner.test 80",
        );
        let err = "replay: blocked: private.example.com:80, it resolves to 10.0.0.9 (python3); the \
                   operator can allow it with --allow-host 10.0.0.9\n";
        assert_eq!(
            (&*ran.out, &*ran.err, ran.notes),
            (
                "13\nconnected\n",
                err,
                vec!["connect silent.inner.test:80".to_owned()]
            ),
            "{:?}",
            world.setting
        );
    });
}

#[test]
fn rule_for_proxy_itself_is_refused() {
    everywhere(|world| {
        lay_out(world);
        let proxy = "http://11.0.0.6:3128";
        let ran = run(world, proxy, &["--allow-host", "11.0.0.6:3128"], "true");
        let why = "replay: the network rule `11.0.0.6:3128` names the operator's proxy \
                   (ALL_PROXY), which leads past all rules; leave it out, since allowed hosts are \
                   reached through the proxy, or give commands the proxy with --upstream-proxy \
                   off\n";
        assert_eq!(
            (&*ran.err, ran.status),
            (why, Some(2)),
            "{:?}",
            world.setting
        );
        let wide = ["--allow-host", "11.0.0.0/24:*"];
        let ran = run(world, proxy, &wide, "python3 connect.py 11.0.0.6 3128");
        let err = "replay: blocked: 11.0.0.6:3128, it is the operator's proxy (ALL_PROXY), which \
                   leads past all rules; allowed hosts are reached through it without proxy \
                   settings (python3); no rule is proposed for this target\n";
        assert_eq!((&*ran.out, &*ran.err), ("13\n", err), "{:?}", world.setting);
        let off = ["--allow-host", "11.0.0.6:3128", "--upstream-proxy", "off"];
        let ran = run(world, proxy, &off, "python3 connect.py 11.0.0.6 3128");
        assert_eq!(
            (&*ran.out, &*ran.err),
            ("connected\n", ""),
            "{:?}",
            world.setting
        );
    });
}

#[test]
fn commands_keep_proxy_variables_only_with_direct_way() {
    everywhere(|world| {
        lay_out(world);
        let variables = [
            ("HTTPS_PROXY", "http://11.0.0.6:3128"),
            ("no_proxy", "localhost"),
        ];
        let line = "echo $HTTPS_PROXY $no_proxy";
        let has = |flags: &[&str]| {
            let ran = world.run_in(&variables, &SUBCOMMAND, flags, line);
            ran.out.trim().to_owned()
        };
        assert_eq!(
            has(&["--network", "host"]),
            "http://11.0.0.6:3128 localhost"
        );
        assert_eq!(has(&["--network", "none"]), "");
        assert_eq!(has(&[]), "");
        assert_eq!(has(&RULE), "");
        let own = ["--env", "HTTPS_PROXY=http://mine:1", "--env", "no_proxy"];
        assert_eq!(has(&own), "http://mine:1 localhost");
    });
}

#[test]
fn network_log_names_proxy() {
    everywhere(|world| {
        lay_out(world);
        if world.setting.nobody {
            return;
        }
        let log = world.tree.path().join("net.log");
        let flags = [
            "--allow-host",
            "*.example.com",
            "--allow-host",
            "*.test:80",
            "--net-log",
            log.to_str().unwrap(),
        ];
        let line =
            "for host in api.example.com inner.test x.test; do python3 connect.py $host 80; done";
        let proxy = format!("http://{LOGIN}11.0.0.6:3129");
        let ran = run(world, &proxy, &flags, line);
        assert_eq!(ran.out, "connected\nconnected\n113\n", "{}", ran.err);
        let text = fs::read_to_string(&log).unwrap();
        assert!(!text.contains(PASSWORD), "{text}");
        let said: Vec<Value> = text
            .lines()
            .map(|line| {
                let line: Value = serde_json::from_str(line).unwrap();
                json!([
                    line["host"],
                    line["address"],
                    line["decision"],
                    line["via"],
                    line["why"]
                ])
            })
            .collect();
        let via = "http://11.0.0.6:3129";
        let why = "the proxy says 502; it cannot reach the host";
        let expected = [
            json!(["api.example.com", "11.0.0.2", "allowed", via, null]),
            json!(["inner.test", null, "allowed", via, null]),
            json!(["x.test", null, "blocked", via, why]),
        ];
        assert_eq!(said, expected);
        let _ = fs::remove_file(log);
    });
}

#[test]
fn learning_works_behind_proxy() {
    everywhere(|world| {
        lay_out(world);
        let variables = [("ALL_PROXY", "http://11.0.0.6:3128")];
        let line = "python3 ask.py inner.test=inner.test; python3 connect.py 11.0.0.6 3128";
        let learn = ["net", "learn", "--log-level", "warn"];
        let ran = world.run_in(&variables, &learn, &[], line);
        let err = "replay: blocked: 11.0.0.6:3128, it is the operator's proxy (ALL_PROXY), which \
                   leads past all rules; allowed hosts are reached through it without proxy \
                   settings (python3); no rule is proposed for this target\nreplay: hosts were \
                   reached through http://11.0.0.6:3128 (ALL_PROXY); without it a name that leads \
                   to a private address needs another rule\n";
        assert_eq!(
            (&*ran.out, &*ran.err),
            (
                "inner.test inner.test 200\n13\n--allow-host inner.test\n",
                err
            ),
            "{:?}",
            world.setting
        );
    });
}

#[test]
fn strict_recording_goes_through_proxy() {
    everywhere(|world| {
        if world.setting.nobody || world.setting.tier != "namespaces" {
            return;
        }
        lay_out(world);
        let variables = [("http_proxy", "http://11.0.0.6:3128")];
        let record = ["calls", "record", "--isolation", "strict"];
        let line = "python3 ask.py inner.test=inner.test; env | grep -ci http_proxy";
        let ran = world.run_in(&variables, &record, &[], line);
        assert_eq!(ran.out, "inner.test inner.test 200\n0\n", "{}", ran.err);
        let notes = ["connect inner.test:80", "11.0.0.2:80 GET /good HTTP/1.1"];
        assert_eq!(ran.notes, notes, "{}", ran.err);
        let refused = [("http_proxy", "http://11.0.0.6:3403")];
        let line = "python3 ask.py inner.test=inner.test";
        let ran = world.run_in(&refused, &record, &[], line);
        let told = "the proxy 11.0.0.6:3403 says 403 to inner.test:80; it does not allow this host";
        assert!(ran.err.contains(told), "{}", ran.err);
    });
}

#[test]
fn reply_and_start_name_proxy() {
    everywhere(|world| {
        if world.setting.nobody {
            return;
        }
        lay_out(world);
        let tree = Tree::new();
        tree.file("work/connect.py", CONNECT);
        tree.file("proxies.py", include_str!("proxies.py"));
        let flags = [
            "--allow-host",
            "inner.test:443",
            "--upstream-proxy",
            "http://11.0.0.6:3129",
        ];
        let mut server = world.serve(&tree, "world.sh", &flags);
        let said = server.call(
            "execute_command",
            json!({"command": "python3 connect.py inner.test 443"}),
        );
        let advice = "the operator's --upstream-proxy needs a user and password";
        assert_eq!(
            said.text(),
            format!(
                "13\n[the proxy 11.0.0.6:3129 says 407 to inner.test:443; {advice}]\n[exit code: 0]"
            )
        );
        let blocked = json!([{
            "target": "inner.test:443",
            "times": 1,
            "by": ["python3"],
            "proxy": {"address": "11.0.0.6:3129", "answer": "says 407", "advice": advice}
        }]);
        assert_eq!(said.result()["structuredContent"]["blocked"], blocked);
        server.close_stdin();
        server.wait_exit();
        let line = "allowed hosts are reached through http://11.0.0.6:3129 (--upstream-proxy)";
        let lines = server.stderr();
        assert_eq!(lines.matches(line).count(), 1, "{lines}");
    });
}

#[test]
fn proxy_settings_are_checked_at_start() {
    everywhere(|world| {
        if world.setting.nobody {
            return;
        }
        lay_out(world);
        let secret = world.tree.path().join("proxy-url");
        fs::write(&secret, format!("http://{LOGIN}11.0.0.6:3129\n")).unwrap();
        let named = format!("file:{}", secret.display());
        let with = |value: &str| {
            let flags = [&RULE[..], &["--upstream-proxy", value]].concat();
            let ran = world.run(&flags, "python3 ask.py inner.test=inner.test");
            shows_no_password(&ran);
            ran
        };
        let open = with(&named);
        assert!(open.err.contains("run chmod 600 on it"), "{}", open.err);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&secret, mode).unwrap();
        assert_eq!(with(&named).out, "inner.test inner.test 200\n");
        let typed = with(&format!("http://{LOGIN}11.0.0.6:3129"));
        assert!(
            typed.err.contains("name that as file:PATH"),
            "{}",
            typed.err
        );
        let wrong = with("socks4://11.0.0.6:1080");
        let why = "replay: --upstream-proxy: SOCKS4 is not supported; name a socks5:// or http:// \
                   proxy\n";
        assert_eq!(wrong.err, why);
        let flags = ["--allow-host", "api.example.com"];
        let ask = "python3 ask.py api.example.com=api.example.com";
        let ignored = run(world, "socks4://11.0.0.6:1080", &flags, ask);
        assert_eq!(ignored.out, "api.example.com api.example.com 200\n");
        let warning = "ALL_PROXY: SOCKS4 is not supported; name a socks5:// or http:// proxy; \
                       connections are made without this proxy";
        assert!(ignored.err.contains(warning), "{}", ignored.err);
    });
}
