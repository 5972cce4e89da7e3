#!/usr/bin/env python3
"""What --cache saves: the same install in a new copy of a project, each time with a new server, without a cache and with one.

usage: python3 benches/cache.py PROGRAM [--rows REGEX]

Package managers fetch from their registries (--network host), so times depend on those. Prints a table in Markdown, in seconds: the first
server, the second one, and the second one with --cache, of which it also says how much lies in the cache.
"""
import argparse
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from stdio_client import Client

NPM = {
    "package.json": '{"name":"trial","version":"1.0.0","dependencies":{"express":"4.21.2","typescript":"5.6.3","eslint":"8.57.1"}}',
}
PIP = {"requirements.txt": "--no-binary PyYAML\nPyYAML==6.0.2\ndocopt==0.6.2\nflask==3.0.3\n"}
CARGO = {
    "Cargo.toml": '[package]\nname = "trial"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\nserde_json = "1"\nsemver = "1"\nbytes = "1"\nlog = "0.4"\n',
    "src/main.rs": "fn main() {}\n",
}
# It fetches nothing: -trimpath has the standard library compiled, too.
GO = {
    "go.mod": "module trial\n\ngo 1.19\n",
    "main.go": 'package main\n\nimport "net/http"\n\nfunc main() { http.ListenAndServe("127.0.0.1:0", nil) }\n',
}

# Name, files, what is made before (a lock file), and what is timed.
ROWS = [
    ("npm ci", NPM, "npm install --package-lock-only --no-audit --no-fund", "npm ci --no-audit --no-fund"),
    ("pip install", PIP, "true", "python3 -m pip install -q --target packages -r requirements.txt"),
    ("cargo fetch", CARGO, "cargo generate-lockfile", "cargo fetch --locked"),
    ("cargo build", CARGO, "cargo generate-lockfile", "cargo build --locked"),
    ("go build -trimpath", GO, "true", "go build -trimpath"),
]


def run(program, project, command, cache):
    """Seconds of one command, in a server of its own."""
    flags = ["--cache", str(cache)] if cache else []
    allow = f"{project}:rw"
    client = Client([program, "--mcp-server", "--allow", allow, "--network", "host", "--undo", "off", *flags])
    begin = time.monotonic()
    reply = client.call("execute_command", command=command, timeout=600)
    took = time.monotonic() - begin
    client.end()
    said = reply.get("result", {}).get("structuredContent", {})
    assert said.get("exitCode") == 0, reply
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rows", default=".")
    asked = parser.parse_args()
    base = Path(tempfile.mkdtemp(prefix="replay-cache-"))
    print("| | first | second | second with `--cache` | cache, MiB |\n|---|--:|--:|--:|--:|")
    for name, files, before, command in ROWS:
        if not re.search(asked.rows, name):
            continue
        shutil.rmtree(base)
        model, cache = base / "model", base / "cache"
        for path, text in files.items():
            (model / path).parent.mkdir(parents=True, exist_ok=True)
            (model / path).write_text(text)
        run(asked.program, model, before, None)
        times = []
        for number, kept in enumerate([None, None, cache, cache]):
            project = base / str(number)
            shutil.copytree(model, project)
            times.append(run(asked.program, project, command, kept))
        size = int(subprocess.check_output(["du", "-sk", cache]).split()[0]) / 1024
        print(f"| `{name}` | {times[0]:.1f} | {times[1]:.1f} | {times[3]:.1f} | {size:.0f} |", flush=True)
    shutil.rmtree(base)


main()
