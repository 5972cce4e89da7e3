#!/usr/bin/env python3
"""What noting changes for undo costs: the same commands in the same walls with `--undo on` and `--undo off`, in turn.

usage: python3 benches/undo.py PROGRAM [ROUNDS [DIRECTORY]]

DIRECTORY says on which filesystem (default: the temporary one). Each command is timed from its request to its whole reply, after a
preparation that is not timed; what it left is counted in both trees, and must be the same. Prints a table in Markdown.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES = 20_000
GIT = "git -c user.name=a -c user.email=a@b"

# Name, preparation, what is timed.
ROWS = [
    ("a command that changes nothing", "true", "cat tree.tar >/dev/null"),
    (f"tar x of {FILES:,} files", "rm -rf x && mkdir x", "tar xf tree.tar -C x"),
    (f"cp -r of {FILES:,} files", "rm -rf y", "cp -r x y"),
    (f"rm -rf of {FILES:,} files", "test -d y || cp -r x y", "rm -rf y"),
    ("2,000 files rewritten in place", "true", "for d in x/d1? x/d2?; do for f in $d/*; do echo new >$f; done; done"),
    ("git checkout that changes 2,000 of them", "cd repo && git checkout -q one", "cd repo && git checkout -q two"),
    ("git clone", "rm -rf clone", "git clone -q repo clone"),
    ("sqlite, 5,000 transactions", "rm -f q.db", "python3 many.py"),
    ("a log of 1 GB appended", "rm -f log; echo begin >log", "head -c 1000000000 /dev/zero >>log"),
    ("make of 60 C files", "make -s -C c clean", "make -s -C c"),
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
    tree = root / "x"
    for number in range(FILES):
        directory = tree / f"d{number // 100}"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"f{number}").write_text(f"{number}\n" * 50)
    (root / "many.py").write_text(SQLITE)
    c = root / "c"
    c.mkdir()
    names = [f"part{number}" for number in range(60)]
    for name in names:
        body = "\n".join(f"int {name}_{i}(int a) {{ return a * {i} + {i}; }}" for i in range(200))
        (c / f"{name}.c").write_text(f"#include <stdio.h>\n#include <stdlib.h>\n{body}\n")
    (c / "main.c").write_text("int main(void) { return 0; }\n")
    objects = " ".join(f"{name}.o" for name in ["main", *names])
    (c / "Makefile").write_text(f"all: {objects}\n\tcc -o all {objects}\nclean:\n\trm -f *.o all\n")
    steps = [
        "tar cf tree.tar -C x .",
        f"cp -r x repo && cd repo && git init -q && git config gc.auto 0 && git add . && {GIT} commit -qm one && git branch one && git checkout -qb two",
        f"cd repo && for d in d2? d3?; do for f in $d/*; do echo two >$f; done; done && {GIT} commit -qam two",
    ]
    for step in steps:
        subprocess.run(step, shell=True, cwd=root, check=True)


class Server:
    def __init__(self, program, home, undo):
        self.dir = home / undo
        self.dir.mkdir()
        lay_out(self.dir)
        line = [program, "--mcp-server", "--allow", f"{self.dir}:rw", "--undo", undo, "--undo-mib", "8192"]
        variables = {**os.environ, "XDG_STATE_HOME": str(home / "state")}
        self.process = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=variables
        )
        self.last = 0
        client = {"name": "undo", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def say(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.last += 1
        self.say({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        return json.loads(self.process.stdout.readline())["result"]

    def run(self, command):
        result = self.ask("tools/call", {"name": "execute_command", "arguments": {"command": command, "timeout": 60}})
        assert result["structuredContent"]["exitCode"] == 0, (command, result["content"][0]["text"][-500:])
        return result["structuredContent"].get("changed", {}).get("call")

    def entries(self):
        return sum(len(files) for _, _, files in os.walk(self.dir))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def bytes_of(directory):
    """Of what has no other name than the store's."""
    found = [path.lstat() for path in directory.rglob("*") if path.is_file()]
    return sum(stat.st_blocks * 512 for stat in found if stat.st_nlink == 1)


def main():
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    home = Path(tempfile.mkdtemp(dir=sys.argv[3] if len(sys.argv) > 3 else None)).resolve()
    servers = {undo: Server(program, home, undo) for undo in ("off", "on")}
    print("| what | off, ms | on, ms | ratio of medians | of minima | files after it | kept, bytes |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, prepare, command in ROWS:
        times = {"off": [], "on": []}
        for number in range(rounds):
            order = list(servers) if number % 2 else list(reversed(servers))
            kept_before = kept = 0
            for undo in order:
                servers[undo].run(prepare)
                if undo == "on":
                    kept_before = bytes_of(home / "state")
                begun = time.perf_counter()
                servers[undo].run(command)
                times[undo].append(time.perf_counter() - begun)
                if undo == "on":
                    kept = bytes_of(home / "state") - kept_before
        counts = [server.entries() for server in servers.values()]
        assert counts[0] == counts[1], (name, counts)
        off, on = ([f(times[undo]) * 1000 for undo in ("off", "on")] for f in (statistics.median, min))
        print(
            f"| {name} | {off[0]:.0f} | {off[1]:.0f} | {off[1] / off[0]:.2f} | {on[1] / on[0]:.2f} | {counts[0]:,} | {kept:,} |",
            flush=True,
        )
    for server in servers.values():
        server.end()
    shutil.rmtree(home)


main()
