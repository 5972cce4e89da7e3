use std::os::unix::fs::symlink;

use pretty_assertions::assert_eq;

use super::*;

const REGISTRY: &str = "https://registry.npmjs.org";

fn write(place: &Path, below: &str, text: &str) {
    let file = place.join(below);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn found(home: &Path, name: &str) -> OperatorDownload {
    let surroundings = Surroundings {
        definitions: Definitions::embedded(),
        home,
        path: &[],
        is_offline: true,
        asked: &[],
    };
    let found = find_downloads(surroundings, |_| None);
    found.into_iter().find(|found| found.name == name).unwrap()
}

fn private(home: &Path, name: &str) -> Vec<String> {
    let entries = found(home, name).private_entries(Definitions::embedded());
    let mut entries: Vec<String> = entries
        .unwrap()
        .iter()
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    entries.sort();
    entries
}

/// An index line of cacache; the checksum is not read.
fn index_line(url: &str, integrity: &str, request: &str, response: &str) -> String {
    format!(
        "\n0123\t{{\"key\":\"make-fetch-happen:request-cache:{url}\",\"integrity\":\"{integrity}\",\"time\":1,\
         \"metadata\":{{\"url\":\"{url}\",\"reqHeaders\":{{{request}}},\"resHeaders\":{{{response}}}}}}}"
    )
}

#[test]
fn downloads_are_at_their_places() {
    let surroundings = Surroundings {
        definitions: Definitions::embedded(),
        home: "/home/me".as_ref(),
        path: &[],
        is_offline: false,
        asked: &[],
    };
    let variable = |name: &str| (name == "GOCACHE").then(|| "/builds".into());
    let found = find_downloads(surroundings, variable);
    let places: Vec<(&str, &str)> = found
        .iter()
        .map(|found| (found.name.as_str(), found.place.to_str().unwrap()))
        .collect();
    assert_eq!(
        places,
        [
            ("go", "/home/me/go/pkg/mod"),
            ("npm", "/home/me/.npm/_cacache"),
            ("pnpm", "/home/me/.local/share/pnpm/store"),
            ("uv", "/home/me/.cache/uv"),
            ("maven", "/home/me/.m2/repository"),
            ("gradle", "/home/me/.gradle/caches/modules-2"),
            ("go-build", "/builds"),
            ("nuget", "/home/me/.nuget/packages"),
            ("hf", "/home/me/.cache/huggingface/hub"),
        ]
    );
    let go_build = ("GOCACHE".to_owned(), ".cache/go-build".to_owned());
    assert_eq!(found[6].named_by, Some(go_build));
    assert_eq!(
        found[3],
        OperatorDownload {
            name: "uv".into(),
            title: "Python packages (uv)".into(),
            hosts: Some("pypi".into()),
            place: "/home/me/.cache/uv".into(),
            below: ".cache/uv".into(),
            variables: vec![("UV_LINK_MODE".into(), "copy".into())],
            named_by: None,
        }
    );
    assert!(
        Definitions::embedded()
            .download_names()
            .eq(places.iter().map(|(name, _)| *name))
    );
}

#[test]
fn npm_entries_of_others_are_private() {
    let home = tempfile::tempdir().unwrap();
    let cache = home.path().join(".npm/_cacache");
    let line = |url: &str, integrity: &str| index_line(url, integrity, "", "");
    // Hashes of 3 bytes: 01 02 03, and so on.
    let lodash = line(&format!("{REGISTRY}/lodash"), "sha512-AQID");
    write(&cache, "index-v5/aa/bb/lodash", &lodash);
    let again = line(&format!("{REGISTRY}/lodash"), "sha1-BAUG?x sha512-BAUG");
    write(&cache, "index-v5/aa/bb/again", &format!("{lodash}{again}"));
    write(
        &cache,
        "index-v5/aa/bb/deleted",
        &lodash.replace("\"sha512-AQID\"", "null"),
    );
    for content in ["sha512/01/02/03", "sha1/04/05/06", "sha512/04/05/06"] {
        write(&cache, &format!("content-v2/{content}"), "public");
    }
    let url = format!("{REGISTRY}/@acme%2fx");
    let cases = [
        ("host", line("https://npm.acme.example/x", "sha512-BwgJ")),
        (
            "prefix",
            line(&format!("{REGISTRY}.acme.example/x"), "sha512-BwgJ"),
        ),
        (
            "query",
            line(&format!("{REGISTRY}/x?token=1"), "sha512-BwgJ"),
        ),
        (
            "login",
            index_line(&url, "sha512-BwgJ", "\"Authorization\":\"Bearer x\"", ""),
        ),
        (
            "for-one",
            index_line(
                &url,
                "sha512-BwgJ",
                "",
                "\"Cache-Control\":\"Private, max-age=1\"",
            ),
        ),
        (
            "two",
            format!(
                "{lodash}{}",
                line("https://npm.acme.example/x", "sha512-BwgJ")
            ),
        ),
        ("other-key", lodash.replacen("lodash", "other", 1)),
        ("hash", line(&format!("{REGISTRY}/x"), "sha512-/")),
        ("torn", lodash[..40].to_owned()),
        (
            "no-metadata",
            "\n0\t{\"key\":\"a\",\"integrity\":null}".to_owned(),
        ),
    ];
    for (name, text) in &cases {
        write(&cache, &format!("index-v5/cc/dd/{name}"), text);
    }
    write(&cache, "content-v2/sha512/07/08/09", "private");
    write(&cache, "content-v2/stray", "private");
    write(&cache, "index-v5/cc/dd/directory/file", "private");
    write(&cache, "tmp/part", "private");
    symlink("/etc/passwd", cache.join("index-v5/cc/link")).unwrap();
    let mut expected: Vec<String> = cases
        .iter()
        .map(|(name, _)| format!("index-v5/cc/dd/{name}"))
        .collect();
    let others = [
        "content-v2/sha512/07/08/09",
        "content-v2/stray",
        "index-v5/cc/dd/directory",
        "index-v5/cc/link",
        "tmp",
    ];
    expected.extend(others.map(str::to_owned));
    expected.sort();
    assert_eq!(private(home.path(), "npm"), expected);
}

#[test]
fn linked_parts_of_npm_cache_are_private() {
    let home = tempfile::tempdir().unwrap();
    let cache = home.path().join(".npm/_cacache");
    write(home.path(), ".ssh/id", "x");
    fs::create_dir_all(&cache).unwrap();
    for part in ["content-v2", "index-v5"] {
        symlink(home.path().join(".ssh"), cache.join(part)).unwrap();
    }
    assert_eq!(private(home.path(), "npm"), ["content-v2", "index-v5"]);
}

#[test]
fn uv_archive_is_kept_if_public_wheel_links_to_it() {
    let home = tempfile::tempdir().unwrap();
    let cache = home.path().join(".cache/uv");
    for file in [
        "CACHEDIR.TAG",
        ".lock",
        "simple-v28/pypi/click.rkyv",
        "simple-v28/index/0123/x.rkyv",
        "archive-v0/public/click/a.py",
        "archive-v0/private/x/a.py",
        "wheels-v8/pypi/click/8.msgpack",
        "wheels-v8/index/0123/x/1.msgpack",
        "git-v0/db/0123/HEAD",
    ] {
        write(&cache, file, "");
    }
    let archive = |name: &str| cache.join("archive-v0").join(name);
    symlink(archive("public"), cache.join("wheels-v8/pypi/click/8")).unwrap();
    symlink(archive("private"), cache.join("wheels-v8/index/0123/x/1")).unwrap();
    assert_eq!(
        private(home.path(), "uv"),
        [
            ".lock",
            "archive-v0/private",
            "git-v0",
            "simple-v28/index",
            "wheels-v8/index"
        ]
    );
}

#[test]
fn directory_without_rules_has_no_private_entries() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), ".nuget/packages/x/1.0.0/x.nupkg", "");
    assert_eq!(private(home.path(), "nuget"), [""; 0]);
}

#[test]
fn files_with_logins_are_private_at_any_depth() {
    let home = tempfile::tempdir().unwrap();
    for file in [
        "x.jar",
        "x.jar.lastUpdated",
        "1.0/resolver-status.properties",
    ] {
        let file = format!(".m2/repository/com/acme/{file}");
        write(home.path(), &file, "https\\://ann:x@acme.example/=");
    }
    assert_eq!(
        private(home.path(), "maven"),
        [
            "com/acme/1.0/resolver-status.properties",
            "com/acme/x.jar.lastUpdated"
        ]
    );
}
