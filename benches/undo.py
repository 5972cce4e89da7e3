#!/usr/bin/env python3
"""What noting changes for undo costs: the same commands in the same walls with `--undo on` and `--undo off`, in turn.

usage: python3 benches/undo.py PROGRAM [--rounds N] [--dir DIRECTORY] [--rows REGEX]

DIRECTORY says on which filesystem (default: the temporary one). Each command is timed from its request to its whole reply. Before it
comes a preparation that is not timed, and sync(2), so that nobody pays for what another wrote. What it left is counted in both trees,
and must be the same. Prints a table in Markdown: medians, and what one run has the store keep (links, copies, bytes that nothing else
holds any more).
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from stdio_client import Client

FILES = 20_000
GIT = "git -c user.name=a -c user.email=a@b"
TIMEOUT_SECS = 300

# Name, preparation, what is timed: a command, or a tool and its arguments.
ROWS = [
    ("a command that changes nothing", "true", "true"),
    ("edit_file", "echo one >edited", ("edit_file", {"path": "edited", "edits": [{"oldText": "one", "newText": "two"}]})),
    ("make of 300 C files", "make -s -C c clean", "make -s -C c"),
    ("cargo build of 40 modules", "cd rust && cargo clean -q", "cd rust && cargo build -q --offline"),
    ("git checkout that changes 2,000 of 20,000 files", "cd repo && git checkout -q one", "cd repo && git checkout -q two"),
    ("git clone of 20,000 files", "rm -rf clone", "git clone -q repo clone"),
    ("npm ci of 20 packages, 4,000 files", "rm -rf npm/node_modules", "cd npm && npm ci --offline --no-audit --no-fund --cache ../cache"),
    ("tar x of 20,000 files", "rm -rf z && mkdir z", "tar xf tree.tar -C z"),
    ("cp -r of 20,000 files", "rm -rf y", "cp -r x y"),
    ("rm -rf of 20,000 files", "test -d y || cp -r x y", "rm -rf y"),
    ("2,000 files rewritten in place", "true", "for d in x/d1? x/d2?; do for f in $d/*; do echo new >$f; done; done"),
    ("sqlite, 5,000 transactions", "rm -f q.db", "python3 many.py"),
    ("a log of 1 GB appended", "rm -f log; echo begin >log", "head -c 1000000000 /dev/zero >>log"),
]

SQLITE = """import sqlite3
db = sqlite3.connect("q.db")
db.execute("pragma synchronous = off")
db.execute("create table t (a)")
for i in range(5000):
    db.execute("insert into t values (?)", (i,))
    db.commit()
"""


def lay_out(root):
    for number in range(FILES):
        directory = root / "x" / f"d{number // 100}"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"f{number}").write_text(f"{number}\n" * 50)
    (root / "many.py").write_text(SQLITE)
    lay_out_c(root / "c")
    lay_out_rust(root / "rust")
    lay_out_npm(root)
    steps = [
        "tar cf tree.tar -C x .",
        f"cp -r x repo && cd repo && git init -q && git config gc.auto 0 && git add . && {GIT} commit -qm one && git branch one && git checkout -qb two",
        f"cd repo && for d in d2? d3?; do for f in $d/*; do echo two >$f; done; done && {GIT} commit -qam two",
        "cd npm && npm install --offline --no-audit --no-fund --cache ../cache >/dev/null",
    ]
    for step in steps:
        subprocess.run(step, shell=True, cwd=root, check=True)


def lay_out_c(c):
    c.mkdir()
    names = [f"part{number}" for number in range(300)]
    for name in names:
        body = "\n".join(f"int {name}_{i}(int a) {{ return a * {i} + {i}; }}" for i in range(50))
        (c / f"{name}.c").write_text(f"#include <stdio.h>\n#include <stdlib.h>\n{body}\n")
    (c / "main.c").write_text("int main(void) { return 0; }\n")
    objects = " ".join(f"{name}.o" for name in ["main", *names])
    (c / "Makefile").write_text(f"all: {objects}\n\tcc -o all {objects}\nclean:\n\trm -f *.o all\n")


def lay_out_rust(rust):
    (rust / "src").mkdir(parents=True)
    (rust / "Cargo.toml").write_text('[package]\nname = "small"\nversion = "0.1.0"\nedition = "2021"\n')
    names = [f"part{number}" for number in range(40)]
    for name in names:
        body = "\n".join(f"pub fn f{i}(a: u64) -> String {{ format!(\"{{}}\", a * {i}) }}" for i in range(50))
        (rust / "src" / f"{name}.rs").write_text(body)
    uses = "".join(f"    println!(\"{{}}\", {name}::f1(2));\n" for name in names)
    (rust / "src/main.rs").write_text("".join(f"mod {name};\n" for name in names) + f"fn main() {{\n{uses}}}\n")


def lay_out_npm(root):
    (root / "npm").mkdir()
    packages = [f"part{number}" for number in range(20)]
    for name in packages:
        package = root / "made" / name / "package"
        (package / "lib").mkdir(parents=True)
        (package / "package.json").write_text(json.dumps({"name": name, "version": "1.0.0"}))
        for number in range(200):
            (package / "lib" / f"{number}.js").write_text(f"module.exports = {number};\n" * 20)
        subprocess.run(["tar", "czf", root / "npm" / f"{name}.tgz", "-C", package.parent, "package"], check=True)
    needed = {name: f"file:{name}.tgz" for name in packages}
    (root / "npm/package.json").write_text(json.dumps({"name": "small", "version": "1.0.0", "dependencies": needed}))


class Server(Client):
    def __init__(self, program, home, undo):
        self.dir = home / undo
        self.dir.mkdir()
        lay_out(self.dir)
        line = [program, "--mcp-server", "--allow", f"{self.dir}:rw", "--undo", undo, "--undo-mib", "8192"]
        variables = {**os.environ, "XDG_STATE_HOME": str(home / "state")}
        super().__init__(line, variables)

    def run(self, what):
        tool, arguments = ("execute_command", {"command": what, "timeout": TIMEOUT_SECS}) if isinstance(what, str) else what
        if "path" in arguments:
            arguments = {**arguments, "path": str(self.dir / arguments["path"])}
        result = self.call(tool, **arguments)["result"]
        failed = result.get("isError") or result["structuredContent"].get("exitCode", 0) != 0
        assert not failed, (what, result["content"][0]["text"][-500:])

    def entries(self):
        return sum(len(files) for _, _, files in os.walk(self.dir))


def logs_of(state):
    return {path for path in state.rglob("log/*") if path.is_file()}


def bytes_of(state):
    """Of what has no other name than the store's."""
    found = [path.lstat() for path in state.rglob("*") if path.is_file()]
    return sum(stat.st_blocks * 512 for stat in found if stat.st_nlink == 1)


def kept_by(logs):
    events = [json.loads(line) for log in logs for line in log.read_bytes().splitlines()]
    links = sum(1 for event in events if "Kept" in event and not event["Kept"]["is_copy"])
    copies = sum(1 for event in events if "Content" in event and "Copy" in event["Content"]["content"])
    return links, copies


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dir")
    parser.add_argument("--rows", default="", help="only those whose name matches this")
    wanted = parser.parse_args()
    home = Path(tempfile.mkdtemp(dir=wanted.dir)).resolve()
    state = home / "state"
    servers = {undo: Server(wanted.program, home, undo) for undo in ("off", "on")}
    print("| what | off, ms | on, ms | ratio | of minima | links | copies | bytes kept |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, prepare, command in ROWS:
        if not re.search(wanted.rows, name):
            continue
        times = {"off": [], "on": []}
        kept = (0, 0, 0)
        for number in range(wanted.rounds):
            for undo in list(servers) if number % 2 else list(reversed(servers)):
                servers[undo].run(prepare)
                before, bytes_before = logs_of(state), bytes_of(state)
                os.sync()
                begun = time.perf_counter()
                servers[undo].run(command)
                times[undo].append(time.perf_counter() - begun)
                if undo == "on":
                    kept = (*kept_by(logs_of(state) - before), bytes_of(state) - bytes_before)
        counts = [server.entries() for server in servers.values()]
        assert counts[0] == counts[1], (name, counts)
        off, on = ([f(times[undo]) * 1000 for undo in ("off", "on")] for f in (statistics.median, min))
        ratios = f"{off[1] / off[0]:.2f} | {on[1] / on[0]:.2f}"
        print(f"| {name} | {off[0]:.1f} | {off[1]:.1f} | {ratios} | {kept[0]:,} | {kept[1]:,} | {kept[2]:,} |", flush=True)
    for server in servers.values():
        server.end()
    shutil.rmtree(home)


if __name__ == "__main__":
    main()
