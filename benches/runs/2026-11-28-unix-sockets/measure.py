"""Compares two builds: `true`, a build of C files, and 10,000 connections of one command.

python3 measure.py EARLIER NOW: medians, and the ratio. Rounds of both alternate.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS, TRUES, FILES, CONNECTS = 5, 40, 12, 10_000

CONNECT = f"""
import os, socket, sys, threading, time
family = socket.AF_UNIX if sys.argv[1] == "unix" else socket.AF_INET
server = socket.socket(family)
server.bind("/tmp/bench-%d" % os.getpid() if family == socket.AF_UNIX else ("127.0.0.1", 0))
server.listen(128)
def accept():
    for _ in range({CONNECTS}):
        server.accept()[0].close()
thread = threading.Thread(target=accept)
thread.start()
begun = time.perf_counter()
for _ in range({CONNECTS}):
    client = socket.socket(family)
    client.connect(server.getsockname())
    client.recv(1)
    client.close()
thread.join()
print(time.perf_counter() - begun)
"""


class Server:
    def __init__(self, program, directory):
        home = os.path.join(directory, "home")
        os.makedirs(home, exist_ok=True)
        work = os.path.join(directory, "work")
        environment = {"PATH": os.environ["PATH"], "HOME": home, "XDG_STATE_HOME": home, "TMPDIR": directory}
        line = [program, "--mcp-server", "--allow", work + ":rw", "--sandbox", "namespaces"]
        self.process = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
        )
        self.number = 0
        client = {"name": "bench", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.run("true")

    def say(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.say({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                return answer["result"]

    def run(self, command):
        result = self.ask("tools/call", {"name": "execute_command", "arguments": {"command": command, "timeout": 300}})
        assert result["structuredContent"]["exitCode"] == 0, result
        return result["structuredContent"]["stdout"]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def lay_out(work):
    os.makedirs(work)
    for number in range(FILES):
        with open(os.path.join(work, f"f{number}.c"), "w") as file:
            file.write(f"#include <stdio.h>\n#include <stdlib.h>\nint f{number}(void) {{ return puts(\"{number}\"); }}\n")
    objects = " ".join(f"f{number}.o" for number in range(FILES))
    with open(os.path.join(work, "Makefile"), "w") as file:
        file.write(f"all: {objects}\n")
    with open(os.path.join(work, "connect.py"), "w") as file:
        file.write(CONNECT)


def timed(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def measure(server):
    yield "`true`", statistics.median(timed(lambda: server.run("true")) for _ in range(TRUES))
    yield f"build of {FILES} C files", timed(lambda: server.run("make -B -j2 >/dev/null"))
    yield f"{CONNECTS} connections, unix", float(server.run("python3 connect.py unix"))
    yield f"{CONNECTS} connections, TCP", float(server.run("python3 connect.py inet"))


def main():
    programs = sys.argv[1:3]
    found = {}
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        lay_out(os.path.join(directory, "work"))
        for _ in range(ROUNDS):
            for program in programs:
                server = Server(program, directory)
                for name, seconds in measure(server):
                    found.setdefault(name, {}).setdefault(program, []).append(seconds)
                server.end()
    for name, times in found.items():
        earlier, now = (statistics.median(times[program]) * 1000 for program in programs)
        print(f"| {name} | {earlier:.1f} ms | {now:.1f} ms | {now / earlier:.2f} |")


main()
