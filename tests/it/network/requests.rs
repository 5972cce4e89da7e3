//! Rules with a method or a path: requests that reach the real server, and messages about the
//! others.

use std::fs;

use pretty_assertions::assert_eq;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

use super::{CommandResult, World, everywhere};

const RULES: [&str; 20] = [
    "--allow-host",
    "GET,HEAD https://secure.example.com/repos/**",
    "--allow-host",
    "POST https://secure.example.com/hook",
    "--allow-host",
    "https://secure.example.com/any/*/x",
    "--allow-host",
    "PUT http://secure.example.com/plain/**",
    "--allow-host",
    "GET http://11.0.0.5:8080/one",
    "--allow-host",
    "whole.example.com",
    "--deny-host",
    "DELETE https://whole.example.com",
    "--deny-host",
    "https://whole.example.com/admin/**",
    "--allow-host",
    "GET https://bad.example.com/**",
    "--allow-host",
    "closed.example.com",
];

/// Starts servers with a certificate of an authority that this machine trusts.
fn servers(world: &World) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params
        .distinguished_name
        .push(DnType::CommonName, "the authority of a test");
    let key = KeyPair::generate().unwrap();
    let root = params.self_signed(&key).unwrap().pem();
    let names = [
        "secure.example.com",
        "whole.example.com",
        "closed.example.com",
    ];
    let mut server = CertificateParams::new(names.map(str::to_owned)).unwrap();
    server.use_authority_key_identifier_extension = true;
    let server_key = KeyPair::generate().unwrap();
    let server = server
        .signed_by(&server_key, &Issuer::new(params, key))
        .unwrap()
        .pem();
    fs::write(world.tree.path().join("root.pem"), &root).unwrap();
    fs::write(
        world.tree.path().join("server.pem"),
        server + &server_key.serialize_pem(),
    )
    .unwrap();
    world.file("own.pem", &root);
    fs::write(
        world.tree.path().join("careful.py"),
        include_str!("careful.py"),
    )
    .unwrap();
}

#[test]
fn only_requests_of_rule_reach_server() {
    everywhere(|world| {
        servers(world);
        world.file("requests.py", include_str!("requests.py"));
        let mut all = CommandResult::default();
        for group in ["requests", "programs", "silent"] {
            let ran = world.run(&RULES, &format!("python3 requests.py {group}"));
            all.out += &ran.out;
            all.err += &ran.err;
            all.notes.extend(ran.notes);
        }
        assert_eq!(
            all.out,
            include_str!("requests.out"),
            "{:?}: {}",
            world.setting,
            all.err
        );
        assert_eq!(all.err, include_str!("requests.err"), "{:?}", world.setting);
        let notes: String = all.notes.into_iter().map(|note| note + "\n").collect();
        assert_eq!(notes, include_str!("requests.notes"), "{:?}", world.setting);
    });
}
