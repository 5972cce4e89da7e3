"""Times servers over stdio in turn, from their start to the answer of tools/list and to that of a first command `true`, in milliseconds.

usage: start.py ROUNDS NAME=COMMAND...   (the first one is the measure of the others; a name with `+` is asked for the command as well)
"""

import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from stdio_client import Client

rounds, named = int(sys.argv[1]), [word.split("=", 1) for word in sys.argv[2:]]
listed, called = {name: [] for name, _ in named}, {name: [] for name, _ in named}
for _ in range(rounds):
    for name, command in named:
        begun = time.perf_counter()
        client = Client(command.split())
        assert client.ask("tools/list", {})["result"]["tools"] is not None
        listed[name].append((time.perf_counter() - begun) * 1e3)
        if "+" in name:
            assert "result" in client.call("execute_command", command="true")
            called[name].append((time.perf_counter() - begun) * 1e3)
        client.end()
base = statistics.median(next(iter(listed.values())))
print("| | list, least | list, median | / the first | first command, median |\n|---|--:|--:|--:|--:|")
for name, times in listed.items():
    middle = statistics.median(times)
    command = f"{statistics.median(called[name]):.1f}" if called[name] else ""
    print(f"| {name} | {min(times):.2f} | {middle:.2f} | {middle / base:.2f} x | {command} |")
