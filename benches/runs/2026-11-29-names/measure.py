#!/usr/bin/env python3
"""Changes of names in one command: create, rename, link, symlink and unlink 5,000 times each, without and with undo.

usage: python3 measure.py EARLIER NOW

Medians of 5 rounds. In each round a new server of each program runs the command in an empty directory, once with `--undo off`.
The command times each kind itself, so the start of the command does not count. Prints milliseconds and the number of files seen.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from stdio_client import Client

KINDS = ["create", "rename", "link", "symlink", "unlink"]
COMMAND = """
import json, os, time
times, n = {}, 5000
def timed(kind, change):
    begun = time.perf_counter()
    for i in range(n):
        change(i)
    times[kind] = (time.perf_counter() - begun) * 1000
timed("create", lambda i: os.close(os.open(f"a{i}", os.O_CREAT | os.O_WRONLY | os.O_EXCL)))
timed("rename", lambda i: os.rename(f"a{i}", f"b{i}"))
timed("link", lambda i: os.link(f"b{i}", f"c{i}"))
timed("symlink", lambda i: os.symlink(f"b{i}", f"d{i}"))
times["files"] = len(os.listdir("."))
timed("unlink", lambda i: os.unlink(f"c{i}"))
print(json.dumps(times))
"""


def measure(program, options):
    home = Path(tempfile.mkdtemp()).resolve()
    work = home / "work"
    work.mkdir()
    (home / "tool").mkdir()
    (home / "tool" / "names.py").write_text(COMMAND)
    env = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    client = Client([program, "--mcp-server", "--allow", f"{work}:rw", "--allow", f"{home}/tool:ro", *options], env=env)
    reply = client.call("execute_command", command=f"cd {work} && python3 {home}/tool/names.py", timeout=120)
    client.end()
    shutil.rmtree(home)
    text = reply["result"]["content"][0]["text"]
    return json.loads(next(line for line in text.splitlines() if line.startswith("{")))


def main():
    programs = dict(zip(["earlier", "now"], sys.argv[1:3]))
    rounds = {}
    for _ in range(5):
        for name, program in programs.items():
            for undo in ["on", "off"]:
                rounds.setdefault((name, undo), []).append(measure(program, ["--undo", "off"] if undo == "off" else []))
    for kind in [*KINDS, "files"]:
        row = {key: statistics.median(each[kind] for each in results) for key, results in rounds.items()}
        print(kind, *(f"{name} undo {undo}: {value:.1f}" for (name, undo), value in row.items()), sep="  ")


main()
