"""What the network by rule makes of bad rules, bad servers and bad ends; in both tiers.

usage: python3 tests/network/bad_input.py PROGRAM [--rows REGEX] [--idle-secs N] [--out FILE]

As root, like matrix.py. Prints a table in Markdown; exits with 1 if something is not as expected.
"""

import argparse
import contextlib
import os
import pathlib
import re
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

import world
from world import ALLOWED, DENIED, PLAIN, RESOLVER, Server, World, run

HOSTS = {"web.example.com": [ALLOWED], "opened.example.com": [ALLOWED], "wrong.example.com": [PLAIN], "odd.example.com": [PLAIN], "elsewhere.example.com": [DENIED]}
RULES = ["web.example.com", "silent.example.com", "GET https://opened.example.com/**", "GET https://wrong.example.com/**", "odd.example.com:*"]
BAD_RULES = [
    ["example.com:0"], ["a.*.example.com"], ["exa*.com"], ["*"], ["*.*.com"], ["bücher.example"], ["xn--bcher-kva.exa mple"], ["010.0.0.1"], ["0x7f.1"],
    ["10.0.0.0/33"], ["10.0.0.1/8"], ["10.1"], ["example.com:70000"], ["example.com:"], [""], ["https://"], ["fetch https://example.com/"], ["GET example.com"], ["GET https://example.com/a?b"],
    ["https://example.com/a/../b"], ["@nothing"], ["example.com", "example.com"], ["*.example.com", "a.example.com"], ["10.0.0.0/8", "10.1.2.3"], ["ftp://example.com"],
    ["a" * 64 + ".example.com"], ["a b.example.com"],
]
CLIENT = r"""
import asyncio, errno, socket, ssl, struct, sys, time
GOOD = b"GET /hello HTTP/1.1\r\nHost: web.example.com\r\n\r\n"

def outcome(attempt):
    try:
        return attempt()
    except ssl.SSLError as error:
        return error.reason
    except OSError as error:
        return errno.errorcode.get(error.errno, type(error).__name__)

def tls(host):
    return ssl.create_default_context().wrap_socket(socket.create_connection((host, 443), 20), server_hostname=host)

def ask(stream, host="web.example.com"):
    stream.sendall(GOOD.replace(b"web.example.com", host.encode()))
    return stream.recv(65536)[:12].decode()

async def one(host, gate):
    try:
        reader, writer = await asyncio.open_connection(host, 80)
    except OSError as error:
        return errno.errorcode[error.errno]
    await gate.wait()
    writer.write(GOOD)
    said = (await reader.readuntil(b"\r\n"))[:12]
    writer.close()
    return said.decode()

async def many(host, count):
    gate = asyncio.Event()
    tasks = [asyncio.create_task(one(host, gate)) for _ in range(count)]
    asyncio.get_running_loop().call_later(2, gate.set)
    came = await asyncio.gather(*tasks)
    return ", ".join(f"{came.count(what)} x {what}" for what in sorted(set(came)))

def idle(secs):
    streams = {"HTTP": socket.create_connection(("web.example.com", 80)), "TLS": tls("web.example.com"), "opened": tls("opened.example.com"), "raw": socket.create_connection(("odd.example.com", 7))}
    hosts = {"opened": "opened.example.com"}
    for name, stream in streams.items():
        if name != "raw":
            ask(stream, hosts.get(name, "web.example.com"))
            stream.settimeout(1)
            try:
                while stream.recv(65536): pass
            except TimeoutError:
                pass
            stream.settimeout(None)
    time.sleep(secs)
    streams["raw"].sendall(b"x")
    came = {name: outcome(lambda: ask(stream, hosts.get(name, "web.example.com"))) for name, stream in streams.items() if name != "raw"}
    return f"{came} raw {streams['raw'].recv(10)}"

def half(port):
    with socket.create_connection(("odd.example.com", port), 20) as stream:
        stream.sendall(b"x" * 300000)
        stream.shutdown(socket.SHUT_WR)
        got = 0
        while more := stream.recv(65536):
            got += len(more)
    return f"{got} bytes"

def reset():
    stream = socket.create_connection(("odd.example.com", 7), 20)
    stream.sendall(b"x")
    stream.recv(1)
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.close()
    return "reset"

what = sys.argv[1]
if what == "many": print(asyncio.run(many(sys.argv[2], int(sys.argv[3]))))
elif what == "idle": print(idle(int(sys.argv[2])))
elif what == "half": print(outcome(lambda: half(int(sys.argv[2]))))
elif what == "reset": print(outcome(reset))
elif what == "get": print(outcome(lambda: ask(socket.create_connection((sys.argv[2], 80), 60), sys.argv[2])))
elif what == "https": print(outcome(lambda: ask(tls(sys.argv[2]), sys.argv[2])))
elif what == "keep":
    while True:
        for host in ("web.example.com", "elsewhere.example.com"):
            outcome(lambda: socket.create_connection((host, 80), 10).close())
"""


def rows_of_rules(program: str, work: pathlib.Path):
    for rules in BAD_RULES:
        flags = [word for rule in rules for word in ("--allow-host", rule)]
        ran = subprocess.run([program, "--mcp-server", "--allow", work, *flags], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=work, env={"PATH": world.PATH})
        said = (ran.stderr.strip().splitlines() or ["(nothing)"])[0]
        yield f"`{' '.join(rules)[:40]}`", said[:300], ran.returncode != 0 and "panicked" not in ran.stderr
    ran = subprocess.run([program, "--mcp-server", "--allow", work, "--allow-host", "example.com", "--deny-host", "example.com"], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=work, env={"PATH": world.PATH})
    yield "denied whole", ran.stderr.strip().splitlines()[0][:300], ran.returncode != 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--rows", default="")
    parser.add_argument("--idle-secs", type=int, default=60)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    world.enter()
    one = World(HOSTS)
    try:
        table, bad = ["| what | came of it | as it should be |", "|---|---|---|"], 0
        for name, said, is_good in rows(one, arguments):
            bad += not is_good
            table.append(f"| {name} | {' '.join(said.split()).replace('|', '/')} | {'yes' if is_good else 'NO'} |")
            print(table[-1], file=sys.stderr, flush=True)
        print("\n".join(table))
        if arguments.out:
            pathlib.Path(arguments.out).write_text("\n".join(table) + "\n")
        return int(bool(bad))
    finally:
        one.close()


def rows(one: World, arguments: argparse.Namespace):
    program = world.program_for(one, arguments.program)
    www, work = one.place / "www", one.place / "work"
    www.mkdir()
    work.mkdir()
    (www / "hello").write_text("hello\n")
    (work / "client.py").write_text(CLIENT)
    one.files(ALLOWED, 80, www)
    one.files(ALLOWED, 443, www)
    one.files(DENIED, 80, www)
    # The certificate does not name `wrong`.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    run("openssl", "req", *key, "-keyout", one.place / "w.key", "-out", one.place / "w.csr", "-subj", "/CN=other")
    (one.place / "other").write_text("subjectAltName=DNS:other.example.com")
    run("openssl", "x509", "-req", "-in", one.place / "w.csr", "-CA", one.place / "ca.pem", "-CAkey", one.place / "ca.key", "-CAcreateserial", "-out", one.place / "w.pem", "-days", "9", "-extfile", one.place / "other")
    context.load_cert_chain(one.place / "w.pem", one.place / "w.key")
    one.listen(PLAIN, 443, lambda stream: context.wrap_socket(stream, server_side=True).recv(1))

    def echo(stream: socket.socket) -> None:
        while more := stream.recv(65536):
            stream.sendall(more)

    def close_first(stream: socket.socket) -> None:
        stream.sendall(b"bye")
        stream.shutdown(socket.SHUT_WR)
        got = 0
        while more := stream.recv(65536):
            got += len(more)
        one.asked.append(f"{got} after the end")

    def reset(stream: socket.socket) -> None:
        stream.recv(1)
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def note_reset(stream: socket.socket) -> None:
        try:
            echo(stream)
        except ConnectionResetError:
            one.asked.append("was reset")

    for port, serve in [(7, note_reset), (8, close_first), (9, reset)]:
        one.listen(PLAIN, port, serve)
    # It takes questions and answers none.
    resolver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    resolver.bind((RESOLVER, 53))
    wanted = lambda name: re.search(arguments.rows, name)
    if wanted("rules"):
        yield from rows_of_rules(program, work)
    for tier in ("namespaces", "landlock"):
        flags = ["--sandbox", tier, *[word for rule in RULES for word in ("--allow-host", rule)]]

        def ran(name, line, check, server=None):
            own = server or Server(program, work, flags)
            try:
                one.wire.take()
                one.asked.clear()
                begun = time.monotonic()
                said = own.sh(f"/usr/bin/python3 client.py {line}", 60)
                return f"{name}, {tier}", f"{said.replace('[exit code: 0]', '').strip()} ({time.monotonic() - begun:.1f} s)", check(said)
            finally:
                if not server:
                    own.close()

        if wanted("connections"):
            yield ran("1,000 connections at once, allowed", "many web.example.com 1000", lambda said: "1000 x HTTP/1.1 200" in said and one.wire.take().count(f"{ALLOWED}:80") == 1000)
            yield ran("1,000 connections at once, blocked", "many elsewhere.example.com 1000", lambda said: "1000 x EACCES" in said and not one.wire.take())
        if wanted("resolver"):
            yield ran("a resolver that does not answer", "get silent.example.com", lambda said: "HTTP" not in said)
            yield ran("the same, other names meanwhile", "get silent.example.com & for n in 1 2 3; do /usr/bin/python3 client.py get web.example.com; done; wait", lambda said: said.count("HTTP/1.1 200") == 3)
        if wanted("certificate"):
            yield ran("a certificate of another name, opened host", "https wrong.example.com", lambda said: "HTTP" not in said.split("[")[0] and "wrong.example.com" in said)
        if wanted("ends"):
            yield ran("half-closed by the client", "half 7", lambda said: "300000 bytes" in said)
            yield ran("half-closed by the server", "half 8", lambda said: "3 bytes" in said and "300000 after the end" in one.asked)
            yield ran("reset by the server", "half 9", lambda said: any(name in said for name in ("ECONNRESET", "EPIPE", "ENOTCONN")))
            yield ran("reset by the client", "reset", lambda said: "reset" in said and until(lambda: "was reset" in one.asked))
        if wanted("idle"):
            server = Server(program, work, flags)
            begun = server.call("execute_command", command=f"/usr/bin/python3 client.py idle {arguments.idle_secs}", background=True)
            said, came = server.call("follow_command", commandId=begun["structuredContent"]["commandId"], waitSecs=1), ""
            limit = time.monotonic() + arguments.idle_secs + 60
            while said["structuredContent"].get("running") and time.monotonic() < limit:
                came += said["content"][0]["text"]
                said = server.call("follow_command", commandId=begun["structuredContent"]["commandId"], waitSecs=20)
            came += said["content"][0]["text"]
            server.close()
            came = next((line[line.index("{") :] for line in came.splitlines() if "raw" in line), came[-300:])
            yield f"idle for {arguments.idle_secs} s, {tier}", came, came.count("HTTP/1.1 200") == 3 and "b'x'" in came
        if wanted("10,000"):
            many = [word for at in range(10_000) for word in ("--allow-host", f"h{at}.example.net")]
            begun = time.monotonic()
            server = Server(program, work, ["--sandbox", tier, "--allow-host", "web.example.com", *many])
            took = time.monotonic() - begun
            name, said, is_good = ran("10,000 rules", "get web.example.com", lambda said: "HTTP/1.1 200" in said, server)
            memory = re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{server.process.pid}/status").read_text())[1]
            server.close()
            yield name, f"start {took:.1f} s, {int(memory) >> 10} MiB, {said}", is_good
        if wanted("killed"):
            for victim in ("supervisor", "launcher", "server"):
                yield killed(one, program, work, tier, flags, victim)


def until(check, secs: float = 20) -> bool:
    limit = time.monotonic() + secs
    while not (came := check()) and time.monotonic() < limit:
        time.sleep(0.01)
    return came


def children(parent: int) -> list[int]:
    return [int(pid) for file in pathlib.Path(f"/proc/{parent}/task").glob("*/children") for pid in file.read_text().split()]


def killed(one, program, work, tier, flags, victim):
    """Ends one process of the chain while a command connects all the time."""
    server = Server(program, work, flags)
    server.text("execute_command", command="exec /usr/bin/python3 client.py keep", background=True)
    assert until(lambda: one.wire.take().count(f"{ALLOWED}:80") > 3), server.said()

    def find(pid, above=()):
        with contextlib.suppress(OSError):
            line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"client.py\0keep" in line and line.startswith(b"/usr/bin/python3"):
                return [*above, pid]
            for child in children(pid):
                if found := find(child, [*above, pid]):
                    return found
        return None

    chain = find(server.process.pid)
    pid = {"server": chain[0], "launcher": chain[1], "supervisor": chain[2]}[victim]
    os.kill(pid, 9)
    # The world is the first process here, so what has no parent any more is its child, and stays a zombie.
    secs = 5 if victim == "launcher" else 20
    gone = until(lambda: not os.path.exists(f"/proc/{chain[-1]}") or "State:\tZ" in pathlib.Path(f"/proc/{chain[-1]}/status").read_text(), secs)
    seen = one.wire.take()
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        server.close()
    left = [place for place in seen if not place.startswith(f"{ALLOWED}:") and "udp" not in place]
    # Without the launcher the others hold what they held: in the tier `landlock` they are no children of its namespace.
    is_good = not left and (gone or victim == "launcher")
    return f"{victim} killed, {tier}", f"the command {'ended' if gone else 'goes on'}; {len(left)} connections elsewhere", is_good


if __name__ == "__main__":
    sys.exit(main())
