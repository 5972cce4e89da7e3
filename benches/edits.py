#!/usr/bin/env python3
"""What edits cost beside sed -i, which flushes nothing: one line in 50 MB, and one line in each of 1,000 files.

usage: python3 benches/edits.py PROGRAM DIRECTORY [--rounds N] [FLAG...]

DIRECTORY must be new, and is removed. FLAGs go to the server, such as `--undo off`. Both take turns, after sync(2). Prints a table in
Markdown: medians of wall and processor time, their ratios, and how many files changed.
"""
import argparse
import os
import resource
import shutil
import statistics
import subprocess
import time
from pathlib import Path

from stdio_client import Client

LINE = "a line of text that no edit changes, of sixty-four bytes or so...\n"


def lay_out(directory, files, lines):
    paths = [directory / f"{number // 100}" / f"{number}.txt" for number in range(files)]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(LINE * lines + "one needle\n" + LINE * lines)
    return paths


def processor(pid):
    """Milliseconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def ours(client, paths, old, new):
    edits = [{"oldText": old, "newText": new}]
    before, begin = processor(client.process.pid), time.perf_counter()
    reply = client.call("edit_files", files=[{"path": str(path), "edits": edits} for path in paths])
    wall = (time.perf_counter() - begin) * 1000
    return wall, processor(client.process.pid) - before, reply["result"]["structuredContent"]["edited"]


def sed(paths, old, new):
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(["sed", "-i", f"s/{old}/{new}/", *paths], check=True)
    wall, after = (time.perf_counter() - begin) * 1000, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, used * 1000, sum(f"\n{new}\n" in path.read_text() for path in paths)


def row(asked, flags, title, files, lines):
    mine, theirs = (lay_out(asked.directory / side, files, lines) for side in ("replay", "sed"))
    client = Client([asked.program, "--mcp-server", "--tools", "files", "--allow", f"{asked.directory}:rw", *flags])
    times = [], []
    words = "one needle", "two needle"
    for _ in range(asked.rounds):
        os.sync()
        times[0].append(ours(client, mine, *words))
        os.sync()
        times[1].append(sed(theirs, *words))
        words = words[::-1]
    client.end()
    (wall, used, count), (peer, peers_used, peers_count) = ([statistics.median(all) for all in zip(*side)] for side in times)
    assert count == peers_count == files, (count, peers_count)
    print(f"| {title} | {wall:.0f} | {used:.0f} | {peer:.0f} | {peers_used:.0f} | {wall / peer:.2f} x | {used / peers_used:.2f} x | {files} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    asked, flags = parser.parse_known_args()
    asked.directory = asked.directory.resolve()
    asked.directory.mkdir()
    try:
        print("| | replay, ms | processor | `sed -i`, ms | processor | wall | processor | files |\n|---|--:|--:|--:|--:|--:|--:|--:|")
        row(asked, flags, "one line in 50 MB", 1, 390_000)
        row(asked, flags, "one line in each of 1,000 files of 4 KB", 1000, 32)
    finally:
        shutil.rmtree(asked.directory)


main()
