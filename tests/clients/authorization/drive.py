"""Drives clients through the cases of authorization and of faults over HTTP.

usage: drive.py BINARY [--programs DIR] [--write FILE | --check FILE] [--only TITLE]

Runs the SDKs that run.sh has installed, and with --programs the programs in DIR/node_modules/.bin. Writes the table of
results into FILE, or compares with it.
"""

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cases import CASES

HERE = Path(__file__).resolve().parent
INSTALLED = HERE.parents[2] / "target/clients"
TOOLS = [{"name": name, "response": {"content": [{"type": "text", "text": name}]}} for name in ("read", "write")]
# Titles of clients in the table, by name.
TITLES = {"python": "Python SDK", "ts": "TypeScript SDK", "mcp-remote": "mcp-remote", "codex": "Codex", "claude": "Claude Code"}
LOGS_IN = ("codex", "claude")
BEGIN, END = "<!-- table -->\n", "<!-- end -->\n"


def command(client, programs):
    if client == "python":
        return [INSTALLED / "venv/bin/python", HERE / "python_login.py"]
    if client == "ts":
        # Imports are looked for beside the script.
        script = INSTALLED / "ts_login.mjs"
        script.write_text((HERE / "ts_login.mjs").read_text())
        return ["node", "--import", HERE / "strays.mjs", script]
    return [sys.executable, HERE / "program_login.py", programs / "node_modules/.bin" / client]


def applies(case, client):
    """Whether a case can be tried with a client."""
    if client in LOGS_IN:
        later = any(fault.get("method") == "tools/call" for fault in case["faults"])
        # They have no flag for a registered client here, and begin no call.
        connects = client == "claude" or not case.get("after_login")
        return connects and not later and "steps" not in case and case.get("way") not in ("known", "secret")
    return client != "mcp-remote" or case.get("way") not in ("known", "secret")


def report(case, events, verdict):
    """The words for a client in a case: a check mark, or what it did."""
    if strays := [event for event in events if "strays" in event]:
        return case.get("strays", f"opens {strays[0]['strays']}")
    words = case.get("expect", [])
    missed = [words[index][1] for index, line in enumerate(verdict[: len(words)]) if not line.startswith("good")]
    if missed:
        return missed[0]
    texts = sum("text" in event for event in events)
    tools = sum(isinstance(step, str) for step in case.get("steps", ["read"]))
    wanted = case.get("texts", tools)
    good = wanted is None or texts in (wanted if isinstance(wanted, tuple) else (wanted,))
    if good:
        return "✓"
    return "gives up" if texts < tools else "goes on"


def run(case, client, arguments):
    """Returns the words, and what happened for somebody who asks why."""
    if not applies(case, client):
        return "–", ""
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        manifest = {"name": "notes", "auth": case["auth"], "faults": case["faults"], "tools": TOOLS}
        (place / "mock.yaml").write_text(json.dumps({"mock_server": manifest}))
        expect = [expectation for expectation, _ in case.get("expect", [])]
        (place / "expect.yaml").write_text(json.dumps({"expect": expect}))
        files = ["--tools-from", place / "mock.yaml", "--expect", place / "expect.yaml", "--report", place / "report"]
        serve = [arguments.binary, "mock", *files, "--http", "127.0.0.1:0"]
        with subprocess.Popen(serve, stderr=subprocess.PIPE, text=True) as mock:
            try:
                url = next(found[0] for line in mock.stderr if (found := re.search(r"http://\S+/mcp", line)))
                steps = [str(step) for step in case.get("steps", ["read"])]
                line = [*command(client, arguments.programs), url, case.get("way", "dynamic"), *steps]
                done = subprocess.run(line, capture_output=True, text=True, timeout=120)
            finally:
                mock.send_signal(signal.SIGINT)
                mock.stderr.read()
        events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        verdict = [line for line in (place / "report").read_text().splitlines() if not line.startswith(" ")]
        return report(case, events, verdict), "\n".join([done.stdout, done.stderr[-800:], *verdict])


def table(clients, results):
    rows = [["", *(TITLES[client] for client in clients)], ["---"] * (len(clients) + 1)]
    rows += [[case["title"], *row] for case, row in zip(CASES, results)]
    good = [sum(row[index] == "✓" for row in results) for index in range(len(clients))]
    tried = [sum(row[index] != "–" for row in results) for index in range(len(clients))]
    rows.append(["**good**", *(f"{one} of {all}" for one, all in zip(good, tried))])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def columns(text):
    """The results in a table: by client, by title."""
    lines = [line.strip("| \n").split(" | ") for line in text.splitlines() if line.startswith("|")]
    head = next(([*map(str.strip, line)] for line in lines if "Python SDK" in line), [])
    by_title = {value: key for key, value in TITLES.items()}
    rows = [line for line in lines if len(line) == len(head) + 1]
    return {by_title[title]: {row[0]: row[index + 1].strip() for row in rows} for index, title in enumerate(head)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary", type=Path)
    parser.add_argument("--programs", type=Path)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--check", type=Path)
    parser.add_argument("--only")
    arguments = parser.parse_args()
    arguments.binary = arguments.binary.resolve()
    clients = [client for client in TITLES if client in ("python", "ts") or arguments.programs]
    if arguments.only:
        CASES[:] = [case for case in CASES if case["title"] == arguments.only]
    with ThreadPoolExecutor(3) as pool:
        tried = [[pool.submit(run, case, client, arguments) for client in clients] for case in CASES]
        found = [[future.result() for future in row] for row in tried]
    results = [[words for words, _ in row] for row in found]
    if arguments.only:
        for row in found:
            for client, (words, happened) in zip(clients, row):
                print(f"=== {client}: {words}\n{happened}")
    elif arguments.write:
        text = arguments.write.read_text()
        before, rest = text.split(BEGIN)
        arguments.write.write_text(before + BEGIN + table(clients, results) + END + rest.split(END)[1])
    elif arguments.check:
        known = columns(arguments.check.read_text())
        failed = 0
        for index, client in enumerate(clients):
            for case, row in zip(CASES, results):
                wanted = known[client].get(case["title"])
                good = row[index] == wanted
                failed += not good
                words = "" if good else f": `{row[index]}`, in the table `{wanted}`"
                print(f"{'ok  ' if good else 'FAIL'} {client} {case['title']}{words}")
        return 1 if failed else 0
    else:
        print(table(clients, results))
    return 0


sys.exit(main())
