"""Compares two builds: 5,000 renames, links, symlinks and removals of one command, with and without undo.

python3 measure.py EARLIER NOW: medians in microseconds a call, and the ratio. Rounds of both alternate.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile

ROUNDS, CALLS = 5, 5000

PROGRAM = f"""
import os, time
def timed(name, call):
    begun = time.perf_counter()
    for number in range({CALLS}):
        call(number)
    print(name, (time.perf_counter() - begun) / {CALLS} * 1e6)
os.mkdir("d")
os.chdir("d")
timed("create", lambda n: os.close(os.open(f"a{{n}}", os.O_CREAT | os.O_WRONLY)))
timed("rename", lambda n: os.rename(f"a{{n}}", f"b{{n}}"))
timed("link", lambda n: os.link(f"b{{n}}", f"c{{n}}"))
timed("symlink", lambda n: os.symlink("x", f"s{{n}}"))
timed("unlink", lambda n: os.unlink(f"c{{n}}"))
os.chdir("..")
"""


def ask(process, number, method, params):
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
    process.stdin.flush()
    while True:
        reply = json.loads(process.stdout.readline())
        if reply.get("id") == number:
            return reply["result"]


def measure(program, undo):
    with tempfile.TemporaryDirectory() as directory:
        home, work = os.path.join(directory, "home"), os.path.join(directory, "work")
        os.mkdir(home)
        os.mkdir(work)
        with open(os.path.join(work, "names.py"), "w") as file:
            file.write(PROGRAM)
        environment = {"PATH": os.environ["PATH"], "HOME": home, "XDG_STATE_HOME": home, "TMPDIR": directory}
        line = [program, "--mcp-server", "--allow", work + ":rw", "--sandbox", "namespaces", "--undo", undo]
        process = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
        )
        client = {"name": "bench", "version": "1"}
        ask(process, 1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        ran = ask(process, 2, "tools/call", {"name": "execute_command", "arguments": {"command": "python3 names.py"}})
        process.stdin.close()
        process.wait()
        return {name: float(time) for name, time in map(str.split, ran["structuredContent"]["stdout"].splitlines())}


def main():
    builds = sys.argv[1:3]
    print("| call | undo | earlier, us | now, us | ratio |\n|---|---|--:|--:|--:|")
    for undo in ["on", "off"]:
        times = {build: [] for build in builds}
        for _ in range(ROUNDS):
            for build in builds:
                times[build].append(measure(build, undo))
        for name in times[builds[0]][0]:
            earlier, now = (statistics.median(round[name] for round in times[build]) for build in builds)
            print(f"| {name} | {undo} | {earlier:.1f} | {now:.1f} | {now / earlier:.2f} |")


main()
