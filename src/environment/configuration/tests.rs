//! Configuration files as commands get them, without secrets.

use std::fs;

use pretty_assertions::assert_eq;

use super::*;

/// A home with these files, and what commands get of it.
fn home_files(files: &[(&str, &str)], variables: &[(&str, &str)]) -> Vec<HomeFile> {
    let home = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let variable = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.into())
    };
    let machine = Machine {
        definitions: Definitions::embedded(),
        home: home.path(),
        variable: &variable,
        is_own: &|_| true,
        is_visible: &|path| path.starts_with("/usr"),
        has_program: &|name| name == "sccache",
        stand_in: &|address| {
            address
                .contains("given.example")
                .then(|| "STAND".to_owned())
        },
    };
    machine.home_files()
}

fn one(path: &str, text: &str) -> HomeFile {
    let mut all = home_files(&[(path, text)], &[("CORP", "https://corp.example/")]);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn missing(file: &HomeFile) -> Vec<&str> {
    let keys = file.missing.iter().flat_map(|missing| &missing.keys);
    keys.map(String::as_str).collect()
}

#[test]
fn npmrc_keeps_registries_without_tokens() {
    let file = one(
        ".npmrc",
        "registry=${CORP}npm/\n@acme:registry=https://ann:pw@npm.acme.example/x/?a=1\n//npm.acme.example/x/:_authToken=SEKRET\n\
         //given.example/:_authToken=${NPM_TOKEN}\nprefix=/home/ann/.npm\nsave-exact=true\ncafile=/usr/ca.pem\n\
         @other:registry=https://u:p@given.example/\n",
    );
    assert_eq!(
        file.text,
        "registry=https://corp.example/npm/\n@acme:registry=https://npm.acme.example/x/\n//given.example/:_authToken=STAND\n\
         save-exact=true\ncafile=/usr/ca.pem\n@other:registry=https://u:STAND@given.example/\n"
    );
    assert_eq!((file.passed, file.path.as_str()), (6, ".npmrc"));
    assert_eq!(file.left_out, ["prefix"]);
    assert_eq!(
        missing(&file),
        [
            "the login in @acme:registry",
            "//npm.acme.example/x/:_authToken"
        ]
    );
    assert_eq!(
        file.missing.unwrap().describe(&file.path),
        "commands have ~/.npmrc without the login in @acme:registry and 1 more: the operator can give it with \
         --credential NAME=env:NAME --for 'https://npm.acme.example/**'"
    );
}

#[test]
fn value_with_token_is_left_out_with_its_table() {
    let file = one(
        ".config/uv/uv.toml",
        "index-strategy = 'first-index'\n[[index]]\nname = 'a'\nurl = 'https://h/aB3dE6gH9jK2mN5p/simple'\n[[index]]\nname = \
         'b'\nurl = 'https://u:p@h/simple'\ndefault = true\n",
    );
    assert_eq!(
        file.text,
        "index-strategy = \"first-index\"\n\n[[index]]\nname = \"b\"\nurl = \"https://h/simple\"\ndefault = true\n"
    );
    assert_eq!(missing(&file), ["index.url", "the login in index.url"]);
}

#[test]
fn programs_and_paths_count_if_visible() {
    let file = one(
        ".cargo/config.toml",
        "[build]\nrustc-wrapper = 'sccache'\n[target.x]\nlinker = '/home/ann/ld'\nrunner = '/usr/bin/qemu'\nrustflags = ['-C', \
         'link-arg=x']\n[registries.corp]\nindex = 'sparse+https://i.example/'\ntoken = 'SEKRET'\n[env]\nA = 'b'\n",
    );
    assert_eq!(
        file.text,
        "[build]\nrustc-wrapper = \"sccache\"\n\n[target.x]\nrunner = \"/usr/bin/qemu\"\nrustflags = [\n    \"-C\",\n    \
         \"link-arg=x\",\n]\n\n[registries.corp]\nindex = \"sparse+https://i.example/\"\n"
    );
    assert_eq!(file.left_out, ["target.x.linker", "env.A"]);
    assert_eq!(missing(&file), ["registries.corp.token"]);
}

#[test]
fn maven_settings_keep_mirrors_without_servers() {
    let file = one(
        ".m2/settings.xml",
        "<settings xmlns=\"m\"><localRepository>/x</localRepository><servers><server><id>corp</id><password>SEKRET</password>\
         </server></servers><mirrors><mirror><id>corp</id><url>https://ann:pw@m.example/maven</url><mirrorOf>*</mirrorOf></mirror>\
         <mirror><id>t</id><url>https://m.example/t/TOKEN/maven</url></mirror></mirrors></settings>",
    );
    assert_eq!(
        file.text,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<settings xmlns=\"m\">\n  <mirrors>\n    <mirror>\n      <id>corp</id>\n      \
         <url>https://m.example/maven</url>\n      <mirrorOf>*</mirrorOf>\n    </mirror>\n  </mirrors>\n</settings>\n"
    );
    assert_eq!(file.left_out, ["settings.localRepository"]);
    assert_eq!(
        missing(&file),
        [
            "settings.servers.server.id",
            "settings.servers.server.password",
            "the login in settings.mirrors.mirror.url",
            "settings.mirrors.mirror.url"
        ]
    );
}

#[test]
fn file_of_passwords_becomes_empty() {
    let files = home_files(
        &[
            (".netrc", "machine a login b password SEKRET"),
            (
                ".docker/config.json",
                "{\"auths\": {\"a\": {\"auth\": \"SEKRET\"}}}",
            ),
            (".m2/settings-security.xml", "<a>SEKRET</a>"),
        ],
        &[],
    );
    let texts: Vec<_> = files
        .iter()
        .map(|file| (file.path.as_str(), file.text.as_str()))
        .collect();
    assert_eq!(
        texts,
        [
            (".m2/settings-security.xml", "<settingsSecurity/>\n"),
            (".netrc", ""),
            (".docker/config.json", "{}\n")
        ]
    );
    assert_eq!(
        files[1].missing.as_ref().unwrap().describe(".netrc"),
        "commands do not have the operator's ~/.netrc: no flag shows it, since it may hold passwords"
    );
}

#[test]
fn file_that_is_not_understood_becomes_empty() {
    let file = one(".config/uv/uv.toml", "index = [");
    assert_eq!((file.text.as_str(), file.passed), ("", 0));
    assert_eq!(
        file.missing.unwrap().describe(&file.path),
        "commands have an empty ~/.config/uv/uv.toml, since the operator's was not understood: it is no TOML"
    );
}

#[test]
fn variable_names_file() {
    let elsewhere = tempfile::tempdir().unwrap();
    let conf = elsewhere.path().join("pip.conf");
    fs::write(&conf, "[global]\nindex-url = https://r.example/simple\n").unwrap();
    let variables = [("PIP_CONFIG_FILE", conf.to_str().unwrap())];
    let files = home_files(&[(".config/pip/pip.conf", "[global]\n")], &variables);
    assert_eq!(files.len(), 1);
    assert_eq!(
        (files[0].path.as_str(), files[0].text.as_str()),
        (
            ".config/pip/pip.conf",
            "[global]\nindex-url = https://r.example/simple\n"
        )
    );
}

/// Every definition, with a secret in six shapes at every key of a made-up file in its syntax.
#[test]
fn no_definition_passes_planted_secret() {
    let secret = "aB3dE6gH9jK2mN5pQ8";
    let shapes = [
        secret.to_owned(),
        format!("https://ann:{secret}@h.example/"),
        format!("https://{secret}@h.example/"),
        format!("https://h.example/{secret}/x"),
        format!("https://h.example/?token={secret}"),
        format!("--token={secret} https://a:{secret}@h"),
    ];
    let mut planted = 0;
    for (id, configuration) in &Definitions::embedded().document().configuration {
        let lists = configuration.lists();
        let keys = [&lists.keys, &lists.paths, &lists.programs, &lists.secrets];
        for shape in &shapes {
            let mut tree = Map::new();
            for key in keys.into_iter().flatten() {
                planted += 1;
                put(
                    &mut tree,
                    &key.replace('*', "x"),
                    shape,
                    configuration.format,
                );
            }
            let text = match configuration.format {
                Format::Secret => secret.to_owned(),
                format => formats::write(format, &Value::Object(tree)),
            };
            for file in home_files(&[(&configuration.files[0], &text)], &[]) {
                let all = format!("{file:?}");
                assert!(!all.contains(secret), "{id}: {all}");
            }
        }
    }
    assert!(planted > 1000, "{planted}");
}

/// Puts a value at a path of keys, as the syntax has it.
fn put(tree: &mut Map<String, Value>, path: &str, value: &str, format: Format) {
    let is_flat = matches!(format, Format::Npmrc | Format::Yarnrc | Format::Properties);
    let (first, rest) = match path.split_once('.') {
        Some((first, rest)) if !is_flat => (first.to_owned(), Some(rest)),
        _ => (path.to_owned(), None),
    };
    let Some(rest) = rest else {
        let value = Value::from(value);
        let value = if format == Format::Xml && !first.starts_with('@') {
            Value::Array(vec![value])
        } else {
            value
        };
        tree.insert(first, value);
        return;
    };
    let below = tree
        .entry(first)
        .or_insert_with(|| Value::Object(Map::new()));
    if format == Format::Xml && below.is_object() {
        *below = Value::Array(vec![below.take()]);
    }
    let below = match below {
        Value::Array(list) => &mut list[0],
        other => other,
    };
    if let Value::Object(below) = below {
        put(below, rest, value, format);
    }
}

#[test]
fn certificates_exclude_keys_and_words() {
    let one = "-----BEGIN CERTIFICATE-----\nTUlJ\nQQ==\n-----END CERTIFICATE-----\n";
    assert!(is_certificates(one) && is_certificates(&format!("{one}\n{one}")));
    for other in [
        String::new(),
        format!("password x\n{one}"),
        one.replace("TUlJ", "a password"),
        one.replace("CERTIFICATE", "RSA PRIVATE KEY"),
        format!("{one}-----BEGIN CERTIFICATE-----\n"),
    ] {
        assert!(!is_certificates(&other), "{other}");
    }
}
