#!/usr/bin/env python3
"""What the network by rule costs: one client program against the same servers, plainly, through a bare relay, and as a command of
`replay` with rules; in turn.

usage: python3 benches/network.py PROGRAM [--rounds N] [--mib N] [--rows REGEX]

Everything is in a network of its own with a loopback device alone (unshare(1)), in which names stand in its own /etc/hosts. The client
takes the times itself, so starts of programs are not in them. The relay is a loop of splice(2) in Python. What the servers have
counted of connections and bytes is compared with what was to come. Prints a table in Markdown: medians, and ratios to plain.
"""
import argparse
import json
import os
import re
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from stdio_client import Client

ADDRESS, NAME = "11.0.0.2", "api.example.com"
RELAYED = "relay.example.com"
HTTP, TLS, RAW, ECHO = 80, 443, 9000, 9001
PIECE = bytes(1 << 20)
CONNECTIONS = 500

# Run by all three; prints milliseconds, or microseconds of one connect.
CLIENT = r"""
import socket, ssl, sys, time
from concurrent.futures import ThreadPoolExecutor
what, host, port, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
buffer = bytearray(1 << 20)

def take(stream):
    got = 0
    while count := stream.recv_into(buffer):
        got += count
    assert got >= size, got

def echo(_=None):
    with socket.create_connection((host, port)) as one:
        one.sendall(b"x")
        assert one.recv(1) == b"x"

def connects():
    address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4]
    taken = []
    for _ in range(size):
        with socket.socket() as one:
            begun = time.perf_counter()
            one.connect(address)
            taken.append(time.perf_counter() - begun)
    return sorted(taken)[size // 2] * 1e6

begun = time.perf_counter()
done = None
if what == "http":
    with socket.create_connection((host, port)) as one:
        one.sendall(b"GET /big HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % host.encode())
        take(one)
elif what == "put":
    with socket.create_connection((host, port)) as one:
        one.sendall(b"PUT /big HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n" % (host.encode(), size))
        for _ in range(size >> 20):
            one.sendall(buffer)
        assert one.recv(12) == b"HTTP/1.1 200"
elif what == "tls":
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(socket.create_connection((host, port)), server_hostname=host) as one:
        one.sendall(b"GET /big HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % host.encode())
        take(one)
elif what == "raw":
    with socket.create_connection((host, port)) as one:
        take(one)
elif what == "one after the other":
    for _ in range(size):
        echo()
elif what == "50 at a time":
    with ThreadPoolExecutor(50) as pool:
        list(pool.map(echo, range(size)))
else:
    done = connects()
print(done or (time.perf_counter() - begun) * 1e3)
"""

# Name, what the client does, host, port, how much, unit.
def rows(size):
    return [
        (f"download of {size >> 20} MiB, HTTP, by name", "http", NAME, HTTP, size, "ms"),
        ("the same over TLS", "tls", NAME, TLS, size, "ms"),
        ("the same raw, by address", "raw", ADDRESS, RAW, size, "ms"),
        ("upload of as much, HTTP, by name", "put", NAME, HTTP, size, "ms"),
        (f"{CONNECTIONS} connections one after the other, by name", "one after the other", NAME, ECHO, CONNECTIONS, "ms"),
        (f"{CONNECTIONS} connections, 50 at a time, by name", "50 at a time", NAME, ECHO, CONNECTIONS, "ms"),
        (f"{CONNECTIONS} connections, 50 at a time, by address", "50 at a time", ADDRESS, ECHO, CONNECTIONS, "ms"),
        ("one connect, by name", "connect", NAME, ECHO, 300, "us"),
        ("one connect, by address", "connect", ADDRESS, ECHO, 300, "us"),
    ]


class Counts:
    def __init__(self):
        self.lock, self.connections, self.bytes = threading.Lock(), 0, 0

    def add(self, connections, count):
        with self.lock:
            self.connections += connections
            self.bytes += count

    def take(self):
        with self.lock:
            taken = (self.connections, self.bytes)
            self.connections = self.bytes = 0
            return taken


def serve(size, certificate):
    """The servers. A line on standard input asks for the counts since the last one."""
    counts = Counts()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def big(stream):
        for _ in range(size >> 20):
            stream.sendall(PIECE)
        counts.add(0, size)

    def http(stream):
        head = b""
        while b"\r\n\r\n" not in head:
            head += stream.recv(65536)
        if head.startswith(b"PUT"):
            left = size - len(head.split(b"\r\n\r\n", 1)[1])
            room = bytearray(1 << 20)
            while left:
                left -= stream.recv_into(room)
            counts.add(0, size)
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        else:
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
            big(stream)

    def tls(stream):
        with context.wrap_socket(stream, server_side=True) as opened:
            http(opened)

    def echo(stream):
        if byte := stream.recv(1):
            counts.add(0, 1)
            stream.sendall(byte)

    def answer(stream, with_what):
        try:
            with stream:
                with_what(stream)
        except OSError:
            pass

    def accept(port, with_what):
        listener = socket.create_server((ADDRESS, port), backlog=4096)
        while True:
            stream, _ = listener.accept()
            counts.add(1, 0)
            threading.Thread(target=answer, args=(stream, with_what), daemon=True).start()

    for port, with_what in [(HTTP, http), (TLS, tls), (RAW, big), (ECHO, echo)]:
        threading.Thread(target=accept, args=(port, with_what), daemon=True).start()
    for _ in sys.stdin:
        print(json.dumps(counts.take()), flush=True)


def relay():
    """Leads 11.0.0.3 to 11.0.0.2."""

    def way(source, target):
        out, into = os.pipe()
        try:
            while count := os.splice(source.fileno(), into, 1 << 16):
                while count:
                    count -= os.splice(out, target.fileno(), count)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        os.close(out)
        os.close(into)

    def both(client, port):
        with client, socket.create_connection((ADDRESS, port)) as server:
            back = threading.Thread(target=way, args=(server, client))
            back.start()
            way(client, server)
            back.join()

    def accept(port):
        listener = socket.create_server(("11.0.0.3", port), backlog=4096)
        while True:
            client, _ = listener.accept()
            threading.Thread(target=both, args=(client, port), daemon=True).start()

    for port in [HTTP, TLS, RAW, ECHO]:
        threading.Thread(target=accept, args=(port,), daemon=True).start()
    sys.stdin.read()


class Commands(Client):
    """A server of tools whose commands run the client."""

    def __init__(self, program, work, flags):
        line = [program, "--mcp-server", "--allow", f"{work}:rw", "--undo", "off", *flags]
        super().__init__(line)

    def run(self, line):
        result = self.call("execute_command", command=line)["result"]["structuredContent"]
        assert result["exitCode"] == 0, result
        return result["stdout"]


def quoted(words):
    return " ".join(f"'{word}'" for word in words)


def measure(wanted):
    home = Path(tempfile.mkdtemp())
    home.chmod(0o755)
    (home / "hosts").write_text(f"127.0.0.1 localhost\n{ADDRESS} {NAME}\n11.0.0.3 {RELAYED}\n")
    for line in ["ip link set lo up", f"ip addr add {ADDRESS} dev lo", "ip addr add 11.0.0.3 dev lo", f"mount --bind {home}/hosts /etc/hosts"]:
        subprocess.run(line, shell=True, check=True)
    subprocess.run(
        f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={NAME} -keyout key -out cert 2>/dev/null && cat key cert > both",
        shell=True, cwd=home, check=True,
    )
    work = home / "work"
    work.mkdir()
    (work / "client.py").write_text(CLIENT)
    size = wanted.mib << 20
    own = [sys.executable, os.path.abspath(__file__)]
    servers = subprocess.Popen([*own, "--serve", str(size), str(home / "both")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    relaying = subprocess.Popen([*own, "--relay"], stdin=subprocess.PIPE)
    python = shutil.which("python3")
    ruled = Commands(wanted.program, work, ["--allow-host", f"{NAME}:*", "--allow-host", f"{ADDRESS}:*"])
    free = Commands(wanted.program, work, [])

    def counted(*expected):
        """Since this was asked before, once it is as much as is expected: who has closed a connection may be ahead of the server."""
        until, counts = time.monotonic() + 10, [0, 0]
        while True:
            servers.stdin.write(b"\n")
            servers.stdin.flush()
            counts = [sum(both) for both in zip(counts, json.loads(servers.stdout.readline()))]
            if not expected or counts == list(expected) or time.monotonic() > until:
                return counts

    def plain(words):
        return subprocess.run([python, work / "client.py", *words], capture_output=True, check=True, text=True).stdout

    def relayed(words):
        return plain([word.replace(NAME, RELAYED).replace(ADDRESS, "11.0.0.3") for word in words])

    def by_rule(words):
        return ruled.run(f"python3 client.py {quoted(words)}")

    while socket.socket().connect_ex((ADDRESS, ECHO)) or socket.socket().connect_ex(("11.0.0.3", ECHO)):
        time.sleep(0.01)
    ways = {"plain": plain, "relay": relayed, "rules": by_rule}
    print("| what | connections | bytes | plain | relay | by rule | relay | by rule |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, what, host, port, much, unit in rows(size):
        if not re.search(wanted.rows, name):
            continue
        times, counts = {way: [] for way in ways}, {}
        for number in range(wanted.rounds + 1):
            for way in list(ways) if number % 2 else list(reversed(ways)):
                counted()
                taken = float(ways[way]([what, host, str(port), str(much)]))
                if number:
                    times[way].append(taken)
                counts[way] = counted(1 if much == size else much, 0 if what == "connect" else much)
        assert counts["plain"] == counts["rules"] == counts["relay"], (name, counts)
        of = {way: statistics.median(taken) for way, taken in times.items()}
        connections, count = counts["plain"]
        shown = " | ".join(f"{of[way]:,.0f} {unit}" for way in ways)
        print(f"| {name} | {connections:,} | {count:,} | {shown} | {of['relay'] / of['plain']:.2f} x | {of['rules'] / of['plain']:.2f} x |", flush=True)
    if re.search(wanted.rows, "true"):
        taken = {"no rules": [], "rules": []}
        for number in range(60 * wanted.rounds + 20):
            for way, commands in [("no rules", free), ("rules", ruled)]:
                begun = time.perf_counter()
                commands.run("true")
                if number >= 20:
                    taken[way].append((time.perf_counter() - begun) * 1e6)
        of = {way: statistics.median(times) for way, times in taken.items()}
        print(f"\n`true` as a command, {len(taken['rules'])} times each: {of['no rules']:,.0f} us without rules, {of['rules']:,.0f} us with ({of['rules'] / of['no rules']:.2f} x)")
    for commands in (ruled, free):
        commands.end()
    for process in (servers, relaying):
        process.stdin.close()
        process.terminate()
        process.wait()
    subprocess.run(["umount", "/etc/hosts"], check=True)
    shutil.rmtree(home)


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(int(sys.argv[2]), sys.argv[3])
    if sys.argv[1:2] == ["--relay"]:
        return relay()
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--mib", type=int, default=100)
    parser.add_argument("--rows", default="", help="only those whose name matches this")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.inside:
        return measure(wanted)
    mapped = [] if os.geteuid() == 0 else ["--map-root-user"]
    os.execvp("unshare", ["unshare", "--net", "--mount", *mapped, sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--inside"])


if __name__ == "__main__":
    main()
