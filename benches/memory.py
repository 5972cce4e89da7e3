#!/usr/bin/env python3
"""Calls that take much memory, all sent at once: the most that the server had, beside its budget, and how many were answered.

usage: python3 benches/memory.py PROGRAM BUDGET_MIB recordings COUNT CONNECTIONS BODY_MIB
       python3 benches/memory.py PROGRAM BUDGET_MIB globs CALLS

`recordings`: so many recordings at the same time, of commands that download bodies over so many connections at once from a server
on this machine. `globs`: searches with 900 globs each that compile to much.
"""
import collections
import http.server
import json
import random
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

MIB = 1 << 20
CLIENT = """
import http.client, sys, threading
port, length, connections = map(int, sys.argv[1:])
def download():
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request("GET", f"/{length}")
    answer, got = connection.getresponse(), 0
    while piece := answer.read(1 << 20):
        got += len(piece)
    assert got == length, got
threads = [threading.Thread(target=download) for _ in range(connections)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


class Bodies(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        length = int(self.path[1:])
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        for sent in range(0, length, MIB):
            self.wfile.write(b"x" * min(MIB, length - sent))


class Origin(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024


def recordings(root, count, connections, body_mib):
    origin = Origin(("127.0.0.1", 0), Bodies)
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    (root / "client.py").write_text(CLIENT)
    command = f"python3 client.py {origin.server_address[1]} {body_mib * MIB} {connections}"
    return [("keploy_mock_record", {"command": command, "path": f"./sets-{nth}"}) for nth in range(count)]


def globs(root, calls):
    random.seed(1)
    part = lambda: f"[a-z]*{random.randrange(10**6)}[!0-9]?*"
    made = lambda: [f"**/{{{part()},{part()}}}/**/*.rs" for _ in range(900)]
    return [("grep_files", {"regex": "x", "directory": str(root), "globs": made()}) for _ in range(calls)]


def kept(result):
    """What is to be told of an answer: how many calls a recording kept, or whether it was answered at all."""
    if "error" in result:
        return "refused: " + re.sub(r"\d+", "N", result["error"]["message"].splitlines()[0])
    text = result["result"]["content"][0]["text"]
    return f"{json.loads(text)['mockCount']} calls kept" if text.startswith("{") else "answered"


def main():
    program, budget, kind, *numbers = sys.argv[1:]
    with tempfile.TemporaryDirectory() as place:
        calls = {"recordings": recordings, "globs": globs}[kind](Path(place), *map(int, numbers))
        flags = ["--tools", "files,command,calls", "--network", "host", "--memory-mib", budget]
        started = [program, "--mcp-server", "--allow", f"{place}:rw", *flags]
        server = subprocess.Popen(started, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        peak = lambda: int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{server.pid}/status").read_text())[1]) >> 10

        def send(number, method, params):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            server.stdin.write(json.dumps(message).encode() + b"\n")
            server.stdin.flush()

        client = {"name": "memory", "version": "1"}
        send(0, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        server.stdout.readline()
        own = peak()
        for number, (name, arguments) in enumerate(calls, 1):
            send(number, "tools/call", {"name": name, "arguments": arguments})
        answers = collections.Counter()
        while answers.total() < len(calls):
            answer = json.loads(server.stdout.readline())
            if "id" in answer:
                answers[kept(answer)] += 1
        print(f"budget {budget} MiB, own {own}, peak {peak()}: " + "; ".join(f"{n} x {what}" for what, n in answers.items()))
        server.stdin.close()
        server.wait(60)


main()
