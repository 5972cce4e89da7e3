//! Micro-benchmarks of single functions, each beside a baseline without the additions of this
//! project: `cargo bench --bench micro`.
#![expect(
    clippy::disallowed_methods,
    reason = "the twins act on the disk without a policy"
)]

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::path::Path;

use anyhow::{Result, ensure};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use memchr::memmem;
use replay_base::text::diff;
use replay_files::edit::{self, Edit, Options};
use replay_files::journal::{At, Root, Store};
use replay_files::policy::{Access, Grant, Policy};
use replay_mcp::protocol::escape_into;

const MIB: usize = 1024 * 1024;

/// Generates source-like text with an escaped character about every thirty bytes.
fn text(bytes: usize) -> String {
    "\tif (value == \"name\") {\n\t\treturn next(buffer, length);\n\t}\n".repeat(bytes / 58 + 1)
        [..bytes]
        .to_owned()
}

fn open(c: &mut Criterion) {
    if let Err(error) = open_in(c) {
        panic!("{error:#}");
    }
}

/// Compares checked opens with `File::open` and `read`, for a plain path and one through a symlink.
fn open_in(c: &mut Criterion) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let root = dir.path().canonicalize()?;
    fs::create_dir_all(root.join("one/two/three"))?;
    fs::write(root.join("one/two/three/file.txt"), text(1024))?;
    std::os::unix::fs::symlink("one/two", root.join("link"))?;
    let policy = Policy::open(
        &[Grant {
            path: root.clone(),
            access: Access::ReadWrite,
        }],
        &[],
    )?;
    let mut group = c.benchmark_group("open");
    for (name, below) in [
        ("plain", "one/two/three/file.txt"),
        ("link", "link/three/file.txt"),
    ] {
        let path = root.join(below);
        ensure!(policy.read(&path).is_ok(), "{below} is not readable");
        group.bench_function(format!("{name}/policy"), |b| {
            b.iter(|| policy.read(black_box(&path)).is_ok());
        });
        group.bench_function(format!("{name}/std"), |b| {
            b.iter(|| {
                File::open(black_box(&path))
                    .and_then(|file| file.metadata())
                    .is_ok()
            });
        });
    }
    let path = root.join("one/two/three/file.txt");
    group.bench_function("read 1 KB/policy and fs", |b| {
        b.iter(|| {
            policy
                .read(black_box(&path))
                .map(|file| replay_files::fs::read_all(&file, 1 << 20))
                .is_ok()
        });
    });
    group.bench_function("read 1 KB/std", |b| {
        b.iter(|| {
            let mut bytes = Vec::with_capacity(1025);
            File::open(black_box(&path))
                .and_then(|mut file| file.read_to_end(&mut bytes))
                .is_ok()
        });
    });
    group.finish();
    Ok(())
}

/// Compares JSON string escaping with `serde_json`.
fn escape(c: &mut Criterion) {
    let mut group = c.benchmark_group("escape 1 MiB");
    group.throughput(Throughput::Bytes(MIB as u64));
    for (name, text) in [
        ("source", text(MIB)),
        (
            "prose",
            "words without any escape ".repeat(MIB / 25 + 1)[..MIB].to_owned(),
        ),
    ] {
        let mut out = Vec::with_capacity(2 * MIB);
        group.bench_function(format!("{name}/escape_into"), |b| {
            b.iter(|| {
                out.clear();
                escape_into(&mut out, black_box(&text));
            });
        });
        group.bench_function(format!("{name}/serde_json"), |b| {
            b.iter(|| {
                out.clear();
                serde_json::to_writer(&mut out, black_box(&text)).is_ok()
            });
        });
    }
    group.finish();
}

/// Compares the edit of one literal in a mebibyte with a minimal search, uniqueness check and copy.
fn edit_literal(c: &mut Criterion) {
    let (old, new) = ("the only line of its kind", "another line");
    let before = format!("{}{old}\n{}", text(MIB / 2), text(MIB / 2)).into_bytes();
    let edits = [Edit::new(old, new)];
    let mut group = c.benchmark_group("edit 1 MiB");
    group.throughput(Throughput::Bytes(before.len() as u64));
    group.bench_function("apply", |b| {
        b.iter(|| edit::apply(black_box(&before), &edits, Options::default()).is_ok());
    });
    group.bench_function("memmem and copy", |b| {
        let finder = memmem::Finder::new(old);
        b.iter(|| {
            let text = black_box(&before);
            let at = finder.find(text)?;
            let mut out = Vec::with_capacity(text.len() + new.len());
            out.extend_from_slice(&text[..at]);
            out.extend_from_slice(new.as_bytes());
            out.extend_from_slice(&text[at + old.len()..]);
            finder.find(&text[at + 1..]).is_none().then_some(out)
        });
    });
    group.finish();
}

/// Compares the diff of one changed line in a mebibyte with a full line diff.
fn unified(c: &mut Criterion) {
    let old = text(MIB);
    let new = old.replacen("return next", "return last", 1);
    let mut group = c.benchmark_group("diff 1 MiB");
    group.throughput(Throughput::Bytes(old.len() as u64));
    group.bench_function("unified", |b| {
        b.iter(|| diff::unified("f", black_box(&old), &new, None).len());
    });
    group.bench_function("similar, all lines", |b| {
        b.iter(|| {
            similar::TextDiff::from_lines(black_box(&old), &new)
                .unified_diff()
                .to_string()
                .len()
        });
    });
    group.finish();
}

/// Compares a file replacement with a journal entry to a plain replacement.
fn noted(c: &mut Criterion) {
    if let Err(error) = noted_in(c) {
        panic!("{error:#}");
    }
}

fn noted_in(c: &mut Criterion) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let root = dir.path().join("root");
    fs::create_dir(&root)?;
    let handle = File::open(&root)?;
    let roots = [Root {
        handle: handle.try_clone()?.into(),
        shown: root.clone(),
    }];
    let store = Store::open(
        File::open(dir.path())?.as_fd(),
        "store".as_ref(),
        dir.path(),
        roots.into(),
    )?;
    let at = |name: &'static str| At {
        dir: handle.as_fd(),
        name: name.as_ref(),
        root: 0,
        path: Path::new(""),
        seen: None,
    };
    let replace = || {
        fs::write(root.join("new"), "text")
            .and_then(|()| fs::rename(root.join("new"), root.join("file")))
    };
    replace()?;
    let mut group = c.benchmark_group("replace a file");
    group.bench_function("journal", |b| {
        b.iter(|| {
            let mut recorder = store.begin("call")?;
            recorder.before_create(at("new"))?;
            recorder.before_rename(at("new"), at("file"), false)?;
            replace()?;
            anyhow::Ok(store.end(recorder)?.number)
        });
    });
    group.bench_function("std", |b| b.iter(replace));
    group.finish();
    Ok(())
}

criterion_group!(micro, open, escape, edit_literal, unified, noted);
criterion_main!(micro);
