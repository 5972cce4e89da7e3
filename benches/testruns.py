"""The tests of projects by run_tests and as their developers run them, in turn: counts, failing names, time.

    python3 benches/testruns.py PROGRAM PROJECTS.json ROUNDS > TABLE.md

Each project is {"dir", "arguments" of run_tests, "command" of a developer, "failed": a pattern whose group is the name of what failed
in what the command prints, "counts": three patterns for what passed, failed and was skipped, whose group is a number or a name}.
The first round is not counted.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import time

from stdio_client import Client

COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def count(pattern, text):
    return sum(int(found) if found.isdigit() else 1 for found in re.findall(pattern, text, re.M))


def without_parents(text):
    """Go counts a test and its subtests; everybody else counts the subtests."""
    place = re.compile(r" *--- \w+: (\S+)")
    lines = text.splitlines()
    names = [found[1] for found in map(place.match, lines) if found]
    parents = {name.rsplit("/", up)[0] for name in names for up in range(1, name.count("/") + 1)}
    return "\n".join(line for line in lines if not (found := place.match(line)) or found[1] not in parents)


def plain(names):
    return sorted({re.split(r" [›>] |::", name)[-1].strip() for name in names})


def round_of(client, project, environment):
    begin = time.monotonic()
    reply = client.call("run_tests", detail="all", **project["arguments"])
    middle = time.monotonic()
    said = subprocess.run(
        project["command"], shell=True, cwd=project["dir"], env=environment, capture_output=True, text=True, timeout=600
    )
    return reply["result"]["structuredContent"], said, middle - begin, time.monotonic() - middle


def row(program, project, rounds):
    directory = project["dir"]
    own = [f"{directory}/.venv/bin", f"{directory}/node_modules/.bin"]
    environment = {**os.environ, "PATH": ":".join([*own, os.environ["PATH"]])}
    client = Client([program, "--mcp-server", "--tools", "all", "--allow", f"{directory}:rw"])
    times = []
    for _ in range(rounds + 1):
        report, said, ours, theirs = round_of(client, project, environment)
        times.append((ours, theirs))
    client.end()
    text = COLOURS.sub("", f"{said.stdout}\n{said.stderr}")
    if report["runner"]["name"] == "go":
        text = without_parents(text)
    counted = [report["summary"].get(name, 0) for name in ("passed", "failed", "skipped")]
    broken = [error["file"] for error in report.get("fileErrors", [])]
    failed = plain([case["name"] for case in report["failures"]] + broken)
    own_counts = [count(pattern, text) for pattern in project["counts"]]
    own_failed = plain(re.findall(project["failed"], text, re.M))
    is_same = counted == own_counts and failed == own_failed and report["exitCode"] == said.returncode
    ours, theirs = zip(*times[1:])
    ratio = statistics.median(one / other for one, other in times[1:])
    same = "same" if is_same else f"{counted} {failed} not {own_counts} {own_failed}"
    return (
        f"| {os.path.basename(directory)} | {report['runner']['name']} | {report['status']} | {'/'.join(map(str, counted))} "
        f"| {len(failed)} | {same} | {min(ours):.2f} | {min(theirs):.2f} | {ratio:.2f} | {min(ours) / min(theirs):.2f} |"
    )


def main(program, projects, rounds):
    print("| project | runner | status | passed/failed/skipped | failing names | beside the runner's own | s | own, s | ratio | of the best |")
    print("|---|---|---|--:|--:|---|--:|--:|--:|--:|")
    with open(projects, encoding="utf-8") as file:
        for project in json.load(file):
            print(row(program, project, int(rounds)), flush=True)


main(*sys.argv[1:])
