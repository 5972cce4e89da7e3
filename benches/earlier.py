#!/usr/bin/env python3
"""Two builds of the program beside each other, call by call in turn: what a change costs.

usage: python3 benches/earlier.py EARLIER NOW [ROUNDS]

Each call is timed from its request to its whole reply over stdio, and each answer is checked. Prints a table in Markdown.
"""
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stdio_client import Client

WARM_UP = 5


class Server(Client):
    def __init__(self, program, home, tier):
        self.dir = Path(tempfile.mkdtemp(dir=home))
        subprocess.run(["git", "init", "-q", self.dir], check=True)
        (self.dir / "read.txt").write_text("line\n" * 200)
        (self.dir / "edited.txt").write_text("v0\n" + "line\n" * 500)
        started = [program, "--mcp-server", "--allow", f"{self.dir}:rw", "--sandbox", tier]
        super().__init__(started)
        self.version = 0

    def call(self, tool, **arguments):
        result = super().call(tool, **arguments)["result"]
        assert not result.get("isError"), result
        return result["content"][0]["text"]


def read(server):
    assert len(server.call("read_file", path="read.txt")) == 1000


def grep(server):
    assert "[" in server.call("grep_files", regex="v[0-9]", directory=str(server.dir))


def edit(server):
    edits = [{"oldText": f"v{server.version}\n", "newText": f"v{server.version + 1}\n"}]
    assert "Successfully edited" in server.call("edit_file", path="edited.txt", edits=edits)
    server.version += 1


def write(server):
    assert "Successfully wrote" in server.call("write_file", path="written.txt", content="x" * 1000)


def command(server):
    assert server.call("execute_command", command="echo hi").startswith("hi")


def main():
    earlier, now = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 300
    print("| call | tier | earlier, us | now, us | ratio of medians | of minima | answers checked |")
    print("|---|---|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as home:
        for tier, calls in [("off", [read, grep, edit, write, command]), ("landlock", [command]), ("namespaces", [command])]:
            servers = [Server(program, home, tier) for program in (earlier, now)]
            for call in calls:
                times = [[], []]
                for turn in range(rounds + WARM_UP):
                    for side in (0, 1) if turn % 2 else (1, 0):
                        begun = time.perf_counter()
                        call(servers[side])
                        times[side].append((time.perf_counter() - begun) * 1e6)
                kept = [side[WARM_UP:] for side in times]
                medians, minima = [statistics.median(side) for side in kept], [min(side) for side in kept]
                ratios = f"{medians[1] / medians[0]:.2f} | {minima[1] / minima[0]:.2f}"
                print(f"| {call.__name__} | {tier} | {medians[0]:.0f} | {medians[1]:.0f} | {ratios} | {2 * rounds} |", flush=True)
            for server in servers:
                server.end()


main()
