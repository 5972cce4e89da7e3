#!/usr/bin/env python3
"""Several servers that edit the same files at the same time: whether an edit that was answered is lost, or an answer is false.

usage: python3 benches/writers.py PROGRAM SERVERS EDITS [FLAG...]

Each server counts up a number of its own in a line of its own of three files, by edit_file, edit_files (atomic or not) and
write_file with expectedSha256, and looks after each answer whether the line says what it must. Ends with status 1 if one does not.
"""
import collections
import hashlib
import random
import re
import sys
import tempfile
import threading
import time
from pathlib import Path

from stdio_client import Client

NAMES = ["a", "b", "c"]
# Another server's exchange of names puts an older version back for a moment.
SETTLES_WITHIN_SECS = 0.05


def started(program, root, flags):
    return Client([program, "--mcp-server", "--allow", f"{root}:rw", "--sandbox", "off", *flags])


def change(server, root, rnd, key, had, number):
    """One call; which files it says that it has written."""
    kind, name = rnd.choice(["edit", "write", "files", "atomic"]), rnd.choice(NAMES)
    new = f"s{key}={number};"
    if kind in ("edit", "write"):
        text = (root / name).read_text()
        if kind == "edit":
            reply = server.call("edit_file", path=str(root / name), edits=[{"oldText": f"s{key}={had[name]};", "newText": new}])
        else:
            expected = hashlib.sha256(text.encode()).hexdigest()
            content = re.sub(rf"s{key}=\d+;", new, text)
            reply = server.call("write_file", path=str(root / name), content=content, expectedSha256=expected)
        return {name: "error" not in reply and not reply["result"].get("isError")}
    edits = [{"oldText": rf"s{key}=\d+;", "newText": new, "isRegex": True}]
    reply = server.call("edit_files", paths=[str(root / name) for name in NAMES], edits=edits, atomic=kind == "atomic")
    if "error" in reply:
        return dict.fromkeys(NAMES, False)
    return {Path(file["path"]).name: "error" not in file for file in reply["result"]["structuredContent"]["files"]}


def says(path, key, wanted):
    until = time.monotonic() + SETTLES_WITHIN_SECS
    while True:
        number = int(re.search(rf"s{key}=(\d+);", path.read_text())[1])
        if number == wanted or time.monotonic() > until:
            return number


def work(program, root, flags, key, edits, totals, lock):
    server, rnd, had = started(program, root, flags), random.Random(key), dict.fromkeys(NAMES, 0)
    number = written = 0
    while written < edits:
        number += 1
        for name, is_written in change(server, root, rnd, key, had, number).items():
            wanted = number if is_written else had[name]
            had[name] = says(root / name, key, wanted)
            written += is_written
            with lock:
                totals["written" if is_written else "refused"] += 1
                totals["lost" if is_written else "false"] += had[name] != wanted
    server.end()


def main():
    program, servers, edits, flags = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    totals, lock = collections.Counter(written=0, refused=0, lost=0, false=0), threading.Lock()
    with tempfile.TemporaryDirectory() as home:
        root = Path(home)
        for name in NAMES:
            (root / name).write_text("".join(f"s{key}=0;\n" for key in range(servers)))
        share = edits // servers
        threads = [
            threading.Thread(target=work, args=(program, root, flags, key, share, totals, lock)) for key in range(servers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        left = len([path for path in root.iterdir() if path.name not in NAMES])
    print(f"{servers} servers: " + ", ".join(f"{count} {what}" for what, count in totals.items()) + f", {left} files left over")
    sys.exit(bool(totals["lost"] or totals["false"] or left))


main()
