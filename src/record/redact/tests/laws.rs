//! What holds for any bytes.

use proptest::prelude::*;

use super::*;

/// Pieces of which anything may be made that is looked into.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        "INSERT INTO u (password, n) VALUES (",
        "password",
        "IN",
        "ANY(ARRAY[",
        "IDENTIFIED BY ",
        "'",
        "\"",
        "''",
        "E'\\'",
        "$$",
        "$1",
        "?",
        ",",
        ")",
        "(",
        ";",
        "--",
        "/*",
        "*/",
        "\n",
        "\r\n",
        "=",
        ":",
        "://u:p@h",
        "ghp_",
        "AKIA",
        "eyJ",
        ".",
        "0123456789abcdefghijklmnopqrstuvwxyz",
        "-----BEGIN PRIVATE KEY-----",
        "-----END ",
        "{",
        "}",
        "[",
        "]",
        "<password>",
        "<name>",
        "</name>",
        "Content-Disposition: form-data; name=",
        "--b",
        "AUTH ",
        "*2\r\n$4\r\nAUTH\r\n$1\r\nx\r\n",
        "[redacted ba78]",
        "redacted-ba78",
        "mutation(",
        "token: ",
        "\u{feff}",
        "Bearer ",
        "Basic dXNlcjpwYXNzd29yZA==",
        "4242 4242 4242 4242",
        "4242424242424242",
        "redacted-477b---",
        "$2b$12$LQv3c1yqBWVHxkd0LHAkCOY",
        "COPY users (password) FROM STDIN",
        "INSERT INTO users ",
        "SELECT ",
        "crypt(",
        "session:",
        "code=",
        "\"code\":\"",
        "\nAPI_KEY=",
        "\u{e4}",
    ]);
    let piece = prop_oneof![4 => known.prop_map(|text| text.as_bytes().to_vec()), 1 => prop::collection::vec(any::<u8>(), 0..4)];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_breaks_and_frames_hold(bytes in pieces()) {
        for kind in ["application/json", "text/plain", "application/yaml", "multipart/form-data; boundary=b", "text/xml", "application/graphql", "application/grpc"] {
            let mut all = call("/?a=b", &[("content-type", kind)], "", &[("content-type", kind)], "");
            let Content::Http(http) = &mut all.content else { panic!() };
            http.request.body.clone_from(&bytes);
            http.response.as_mut().unwrap().body.clone_from(&bytes);
            let mut kept = all.clone();
            exchange(&mut kept);
            let _ = (places(asked(&all)), without_secrets(asked(&all)).body.len());
        }
        for protocol in [Protocol::Postgres, Protocol::MySql, Protocol::Redis, Protocol::Mongo, Protocol::Generic] {
            let mysql = [&(bytes.len() as u32 + 1).to_le_bytes()[..3], &[0, 3], &bytes].concat();
            let postgres = [b"Q", &(bytes.len() as u32 + 5).to_be_bytes()[..], &bytes, b"\0"].concat();
            for said in [bytes.clone(), mysql, postgres.clone()] {
                let message = |from| Message { from, bytes: said.clone() };
                let messages = vec![message(Side::Client), message(Side::Server)];
                let mut all = call("/", &[], "", &[], "");
                all.content = Content::Wire(protocol, Wire { messages, session: false });
                exchange(&mut all);
                let Content::Wire(_, kept) = &all.content else { panic!() };
                // An answer keeps its length, unless it tells settings.
                prop_assert!(protocol == Protocol::Redis || kept.messages[1].bytes.len() == said.len());
                // A statement keeps its frame.
                if protocol == Protocol::Postgres && said == postgres {
                    let asked = &kept.messages[0].bytes;
                    let length = u32::from_be_bytes([asked[1], asked[2], asked[3], asked[4]]) as usize;
                    prop_assert_eq!(length + 1, asked.len());
                }
            }
        }
    }
}
