#!/usr/bin/env python3
"""What the first search of a session costs beside rg or fd: with nothing remembered, after an earlier session, and once more.

usage: python3 benches/first_search.py PROGRAM TREE PATTERN [--by content|glob|name] [--rounds N]

PATTERN is a regex for rg, a glob of an extension (*.c) for fd, or a part of a name for fd.

TREE must have lain there for a minute, on ext4, XFS or Btrfs. One session searches it and waits until the file for later ones is written;
then all take turns. Prints a table in Markdown: the least and the median time, as ratios to the peer, and what was counted.
"""
import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from stdio_client import Client

MOST = 10_000


def session(asked, cache, *flags):
    line = [asked.program, "--mcp-server", "--tools", "files", "--allow", f"{asked.tree}:ro", *flags]
    return Client(line, env={**os.environ, "XDG_CACHE_HOME": cache})


def search(client, asked):
    return search_by(client, asked, asked.by, asked.pattern)


def search_by(client, asked, by, pattern):
    tool, arguments, counted = {
        "content": ("grep_files", {"regex": pattern, "outputMode": "count", "maxResults": MOST}, "count"),
        "glob": ("glob_search", {"pattern": f"**/{pattern}", "maxResults": 10 * MOST}, "matches"),
        "name": ("search_files", {"pattern": pattern, "maxResults": 10 * MOST}, "matches"),
    }[by]
    began, took = time.perf_counter(), []
    reply = client.call(tool, directory=str(asked.tree), received=lambda: took.append(time.perf_counter()), **arguments)
    found = reply["result"]["structuredContent"][counted]
    return took[0] - began, found if isinstance(found, int) else len(found)


def peer(asked):
    begin = time.perf_counter()
    line = {
        "content": ["rg", "-uu", "-c", "--no-messages", "-e", asked.pattern],
        "glob": ["fdfind", "-uu", "-e", asked.pattern.removeprefix("*."), "."],
        "name": ["fdfind", "-uu", asked.pattern],
    }[asked.by]
    found = subprocess.run([*line, str(asked.tree)], stdout=subprocess.PIPE).stdout
    took, lines = time.perf_counter() - begin, found.splitlines()
    return took, sum(int(line.rsplit(b":", 1)[1]) for line in lines) if asked.by == "content" else len(lines)


def fill(asked, cache):
    """One session, until what it knows is written. Bytes on the disk."""
    first = session(asked, cache)
    search_by(first, asked, "content", "TODO")
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        files = [file for file in Path(cache, "replay-search").iterdir() if not file.name.startswith(".")]
        if files:
            first.end()
            return files[0].stat().st_size
        time.sleep(0.1)
    raise SystemExit("nothing was written: is the tree a minute old, and on ext4, XFS or Btrfs?")


def rounds(asked, cache):
    times, counts = {}, {}

    def note(name, measured):
        times.setdefault(name, []).append(measured[0])
        counts[name] = measured[1]

    for _ in range(asked.rounds):
        note("peer", peer(asked))
        alone = session(asked, cache, "--no-search-cache")
        note("nothing remembered", search(alone, asked))
        alone.process.kill()
        alone.process.wait()
        later = session(asked, cache)
        note("first in a later session", search(later, asked))
        note("again in it", search(later, asked))
        later.end()
    return times, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("tree", type=Path)
    parser.add_argument("pattern")
    parser.add_argument("--by", choices=["content", "glob", "name"], default="content")
    parser.add_argument("--rounds", type=int, default=11)
    asked = parser.parse_args()
    asked.tree = asked.tree.resolve()
    with tempfile.TemporaryDirectory(dir=Path.home()) as cache:
        size = fill(asked, cache)
        times, counts = rounds(asked, cache)
    least, median = min(times["peer"]), statistics.median(times["peer"])
    print(f"{size / 2**20:.1f} MiB on the disk\n\n| | least, ms | median, ms | least | median | count |\n|---|--:|--:|--:|--:|--:|")
    for name, all_times in times.items():
        one, middle = min(all_times), statistics.median(all_times)
        print(
            f"| {name} | {one * 1000:.1f} | {middle * 1000:.1f} | {one / least:.2f} x | {middle / median:.2f} x "
            f"| {counts[name]} |"
        )


main()
