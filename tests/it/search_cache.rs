//! Search cache: files that a session's searches leave for the next session. The correctness of
//! results is tested beside the source.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::harness::Server;
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

/// Runs one session and returns the reply of a search in the allowed directory.
fn session(tree: &Tree, allowed: &str, cache: &Path, flags: &[&str]) -> Vec<String> {
    let line = [
        &[
            env!("CARGO_BIN_EXE_replay"),
            "--mcp-server",
            "--allow",
            allowed,
            "--tools",
            "files",
        ],
        flags,
    ]
    .concat();
    let cache = [("XDG_CACHE_HOME", cache.to_str().unwrap())];
    let mut server = Server::start_program(tree, &line, &cache).opened(NEWEST_HANDSHAKE);
    let found = server
        .call(
            "grep_files",
            json!({"directory": ".", "regex": "KINDS: \\[FileKind", "outputMode": "count"}),
        )
        .texts();
    server.close_stdin();
    assert!(server.wait_exit().success(), "{}", server.stderr());
    found
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn private_cache_file_is_reused_by_next_session() {
    // The cache skips files younger than a minute, so this test needs an older file.
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/src/files/fs");
    let allowed = format!("{sources}:ro");
    let tree = Tree::new();
    let cache = tree.state().join("caches");
    let found = session(&tree, &allowed, &cache, &[]);
    assert!(found[0].contains("listing.rs"), "{found:?}");
    let kept = cache.join("replay-search");
    assert_eq!(mode(&kept), 0o700);
    let files = || {
        fs::read_dir(&kept)
            .unwrap()
            .map(|file| file.unwrap().path())
            .collect::<Vec<_>>()
    };
    // ext2 to ext4, XFS and Btrfs (statfs(2)).
    if [0xEF53, 0x5846_5342, 0x9123_683E]
        .contains(&rustix::fs::statfs(sources).unwrap().f_type.cast_unsigned())
    {
        assert_eq!(
            files().iter().map(|file| mode(file)).collect::<Vec<_>>(),
            [0o600]
        );
    }
    let before = files();
    assert_eq!(session(&tree, &allowed, &cache, &[]), found);
    assert_eq!(
        session(&tree, &allowed, &cache, &["--no-search-cache"]),
        found
    );
    assert_eq!(files(), before);
}

#[test]
fn cache_is_not_written_within_reach_of_agent() {
    let tree = Tree::new();
    tree.file("work/a", "KINDS: [Kind");
    let allowed = format!("{}:rw", tree.text("work"));
    let cache = tree.path("work/cache");
    assert_eq!(
        session(&tree, &allowed, &cache, &[]),
        session(&tree, &allowed, &cache, &["--no-search-cache"])
    );
    assert!(!cache.exists());
    std::os::unix::fs::symlink(tree.path("work"), tree.path("way")).unwrap();
    session(&tree, &allowed, &tree.path("way/cache"), &[]);
    assert!(!cache.exists());
    session(&tree, &allowed, &tree.path("other"), &["--no-search-cache"]);
    assert!(!tree.path("other").exists());
    let open = tree.path("open/replay-search");
    fs::create_dir_all(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
    session(&tree, &allowed, &tree.path("open"), &[]);
    assert_eq!(
        (mode(&open), fs::read_dir(&open).unwrap().count()),
        (0o755, 0)
    );
}
