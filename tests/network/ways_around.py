"""Ways around the rules of the network, each as a command (probe.py); in both tiers, as root and as another user. None may lead anywhere.

usage: python3 tests/network/ways_around.py PROGRAM [--rows REGEX] [--settings REGEX] [--out FILE]

As root, like matrix.py. What reached an address or a host that no rule names is counted on the loopback device and at the servers; beside it
stands what reaches them when commands have the whole network. Prints a table in Markdown; exits with 1 if something left, or was found.
"""

import argparse
import collections
import itertools
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

import world
from probe import ATTEMPTS
from world import ALLOWED, ALLOWED_6, CLOSED_6, DENIED, METADATA, PLAIN, PRIVATE, RESOLVER, SECOND, Server, World, run

HOSTS = {
    "web.example.com": [ALLOWED],
    "relay.example.com": [ALLOWED],
    "opened.example.com": [ALLOWED],
    "second.example.com": [SECOND],
    "elsewhere.example.com": [DENIED],
    "evil.wild.example.com": [DENIED],
}
RULES = ["web.example.com", "relay.example.com:8080", "rebind.example.com", "*.wild.example.com", "GET,POST https://opened.example.com/ok/**",
         "GET https://second.example.com/ok/**", f"{PLAIN}:80"]
MAY_ARRIVE = {f"{ALLOWED}:80", f"{ALLOWED}:443", f"{ALLOWED}:8080", f"{PLAIN}:80", f"{SECOND}:443"}
MAY_BE_ASKED = re.compile(r"(web|rebind|opened|second)\.example\.com\.?(:80|:443)?|relay\.example\.com:8080|11\.0\.0\.6", re.IGNORECASE)
# The whole network, to see what the attempts are worth.
FREE = "without rules"
SECRET = "ghp_" + "proof" * 6

# connect(2) by int 0x80 (socketcall and connect of i386) and by the numbers of x32, and what each returned.
OTHER_CALLS = """
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
static long old(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
    return (int)result;
}
int main(void) {
    unsigned char *low = mmap((void *)0x10000000, 4096, 3, 0x32 | MAP_FIXED, -1, 0);
    memcpy(low, "\\2\\0\\0\\120\\13\\0\\0\\3\\0\\0\\0\\0\\0\\0\\0", 16);
    int *words = (int *)(low + 64);
    int one = socket(2, 1, 0);
    words[0] = one, words[1] = (int)(long)low, words[2] = 16;
    int pid;
    for (int which = 0; which < 4; which++) {
        if ((pid = fork()) == 0) {
            long result = which == 0   ? old(102, 3, (long)words, 0)
                          : which == 1 ? old(362, one, (long)low, 16)
                          : which == 2 ? syscall(0x40000000 | SYS_connect, one, low, 16)
                                       : old(359, 2, 1, 0);
            printf("%d:%ld ", which, result);
            fflush(stdout);
            _exit(0);
        }
        int status;
        waitpid(pid, &status, 0);
        if (status)
            printf("%d:killed ", which);
        fflush(stdout);
    }
}
"""


def serve_names(one: World, asked: list[str]) -> None:
    """A resolver: it leads `rebind` to a public address and to others in turn, and knows no other name. It notes what it is asked."""
    questions = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    questions.bind((RESOLVER, 53))
    turn = collections.deque([ALLOWED, PRIVATE, METADATA, "127.0.0.1"])

    def hear() -> None:
        while True:
            question, peer = questions.recvfrom(512)
            at, labels = 12, []
            try:
                while question[at]:
                    labels.append(question[at + 1 : at + 1 + question[at]].decode("latin-1"))
                    at += 1 + question[at]
            except IndexError:
                # No question.
                asked.append(repr(question))
                continue
            name = ".".join(labels)
            asked.append(name)
            end, kind = at + 5, question[at + 1 : at + 3]
            answer = b""
            if name == "rebind.example.com" and kind == b"\0\1":
                answer = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + socket.inet_aton(turn[0])
                turn.rotate(1)
            code = b"\x81\x80" if name == "rebind.example.com" else b"\x81\x83"
            questions.sendto(question[:2] + code + b"\0\1\0" + bytes([bool(answer)]) + bytes(4) + question[12:end] + answer, peer)

    threading.Thread(target=hear, daemon=True).start()


def serve_relay(one: World) -> None:
    """A relay that does as it is asked, at a port of its own: it would lead to anywhere."""

    def serve(stream: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += stream.recv(65536) or b"\r\n\r\n"
        one.asked.append(f"{ALLOWED}:8080 relay.example.com:8080 {head[:60]!r}")
        with socket.create_connection((DENIED, 80)) as there:
            there.sendall(head)
            while more := there.recv(65536):
                stream.sendall(more)

    one.listen(ALLOWED, 8080, serve)


def serve_second(one: World) -> None:
    """HTTP/2, which Node has and Python has not; says each request."""
    code = """
        const { readFileSync } = require('fs')
        const [key, cert] = ['key', 'pem'].map(end => readFileSync(process.argv[1] + '/server.' + end))
        const server = require('http2').createSecureServer({ key, cert, allowHTTP1: false }, (request, answer) => {
            console.log(`${process.argv[2]}:443 ${request.authority ?? request.headers.host} ${request.method} ${request.url}`)
            answer.end('hello')
        })
        server.listen(443, process.argv[2], () => console.log('ready'))
    """
    node = subprocess.Popen(["node", "-e", code, str(one.place), SECOND], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert node.stdout.readline() == "ready\n"

    def hear() -> None:
        for line in node.stdout:
            one.asked.append(line.strip())

    threading.Thread(target=hear, daemon=True).start()


def hand_out(place: pathlib.Path) -> None:
    """Gives sockets of this network to whoever asks, as a process outside the walls could that may write in the same directory."""
    door = socket.socket(socket.AF_UNIX)
    door.bind(str(place))
    place.chmod(0o777)
    door.listen()

    def give() -> None:
        while True:
            stream, _ = door.accept()
            sockets = [socket.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket()]
            sockets[2].connect((ALLOWED, 80))
            with stream:
                socket.send_fds(stream, [b"x"], [one.fileno() for one in sockets])
                stream.recv(1)

    threading.Thread(target=give, daemon=True).start()


def ways(one: World, arguments: argparse.Namespace) -> int:
    program = world.program_for(one, arguments.program)
    www, names = one.place / "www", []
    (www / "ok").mkdir(parents=True)
    for name in ("hello", "bad", "ok/hello"):
        (www / name).write_text("hello\n")
    for address in (ALLOWED, DENIED, PLAIN, PRIVATE, METADATA, ALLOWED_6, CLOSED_6):
        one.files(address, 80, www)
    for address in (ALLOWED, DENIED):
        one.files(address, 443, www)
    for address in (DENIED, "127.0.0.1"):
        one.listen(address, 53 if address == DENIED else 80, lambda stream, address=address: one.asked.append(f"{address}:{53 if address == DENIED else 80} - a connection"))
    serve_relay(one)
    serve_second(one)
    serve_names(one, names)
    (one.place / "other-calls.c").write_text(OTHER_CALLS)
    run("cc", "-w", "-o", one.place / "other-calls", one.place / "other-calls.c")
    columns, cells, faults = [], {}, []
    open_to = {}
    for who, tier in [("root", FREE), *[(who, tier) for who in ("root", "nobody") for tier in ("namespaces", "landlock")]]:
        nobody, column = who == "nobody", f"{who} {tier}"
        if tier != FREE and not re.search(arguments.settings, column):
            continue
        if tier != FREE:
            columns.append(column)
        work = one.place / f"work-{len(columns)}"
        work.mkdir()
        shutil.copy(pathlib.Path(__file__).with_name("probe.py"), work)
        shutil.copy(one.place / "other-calls", work)
        if nobody:
            run("chown", "-R", f"{world.NOBODY}:{world.NOBODY}", work)
        hand_out(work / "outside")
        flags = ["--sandbox", "namespaces", "--network", "host"] if tier == FREE else ["--sandbox", tier, *[word for rule in RULES for word in ("--allow-host", rule)], "--deny-host", "evil.wild.example.com"]
        before = [socket.socket(), socket.create_connection((ALLOWED, 80))]
        server = Server(program, work, flags, nobody, inherited=[one_.fileno() for one_ in before])
        try:
            for row in [row for row in ATTEMPTS if re.search(arguments.rows, row)]:
                one.wire.take()
                one.asked.clear()
                names.clear()
                if row == "a socket of another command":
                    server.text("execute_command", command=f"/usr/bin/python3 probe.py '{row}'", background=True)
                    until = time.monotonic() + 30
                    while not (work / "give").exists() and time.monotonic() < until:
                        time.sleep(0.01)
                # What the server was told of a name it may use for a while, but each command asks anew.
                times = 8 if row == "rebinding" else 1
                said = "\n".join(server.sh(f"/usr/bin/python3 probe.py '{row}'", 60) for _ in range(times))
                came = together(" ".join(re.sub(r"(?m)^\[.*", "", said).split()))
                left = {place for place in one.wire.take() if place not in MAY_ARRIVE and not place.startswith(f"{RESOLVER}:")}
                left |= {line for line in one.asked if not good(line)}
                left |= {f"name {name}" for name in names if not re.fullmatch(r"rebind\.example\.com|(?!evil\.wild).+\.wild\.example\.com", name, re.IGNORECASE)}
                if tier == FREE:
                    open_to[row] = len(left)
                    continue
                cells[row, column] = came
                print(f"{column}: {row}: {came}", file=sys.stderr, flush=True)
                if left or "Traceback" in said or "[exit code: 0]" not in said:
                    faults.append(f"{row}, {column}: {sorted(left)}\n{said[-2500:]}")
        finally:
            server.close()
            for one_ in before:
                one_.close()
        if tier != FREE and re.search(arguments.rows, "secrets"):
            found = secrets(one, program, work, tier, nobody)
            cells["secrets", column] = found
            print(f"{column}: secrets: {found}", file=sys.stderr, flush=True)
            if not found.endswith("found nowhere"):
                faults.append(f"secrets, {column}: {found}")
    rows = [row for row in [*ATTEMPTS, "secrets"] if any((row, column) in cells for column in columns)]
    table = ["| way | what came of its attempts | left | left without rules |", "|---|---|--:|--:|"]
    for row in rows:
        said = collections.defaultdict(list)
        for column in columns:
            said[cells[row, column].replace("|", "/")].append(column)
        told = "; ".join(text if len(said) == 1 else f"{', '.join(where)}: {text}" for text, where in said.items())
        table.append(f"| {row} | {told} | {sum(fault.startswith(row + ', ') for fault in faults)} | {open_to.get(row, '')} |")
    return world.told(table, faults, arguments)


def together(came: str) -> str:
    """Equal ones in a row, counted."""
    counted = [(what, len(list(same))) for what, same in itertools.groupby(came.split(", "))]
    return ", ".join(what if count == 1 else f"{count} x {what}" for what, count in counted)


def good(line: str) -> bool:
    """Whether a server was asked for this by the rules: by which name, and on an opened host for which path."""
    place, host, rest = line.split(" ", 2)
    if place not in MAY_ARRIVE or not MAY_BE_ASKED.fullmatch(host):
        return False
    return "/bad" not in rest.replace(".html", "") or not host.startswith(("opened", "second"))


def holds(pid: int) -> bool:
    """Whether a process has the secret in its environment, its arguments or its memory."""
    for what in ("environ", "cmdline"):
        if SECRET.encode() in pathlib.Path(f"/proc/{pid}/{what}").read_bytes():
            return True
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            area = re.match(r"([0-9a-f]+)-([0-9a-f]+) r", line)
            if area and "[v" not in line:
                start, end = (int(number, 16) for number in area.groups())
                try:
                    memory.seek(start)
                    if SECRET.encode() in memory.read(end - start):
                        return True
                except (OSError, OverflowError, ValueError):
                    continue
    return False


def below(parent: int) -> list[int]:
    """The processes that another one has started, and theirs."""
    children = [int(pid) for file in pathlib.Path(f"/proc/{parent}/task").glob("*/children") for pid in file.read_text().split()]
    return children + [pid for child in children for pid in below(child)]


def secrets(one: World, program: str, work: pathlib.Path, tier: str, nobody: bool) -> str:
    """Uses a credential in every way there is, and looks for the secret in everything that was written, and in every process but the server."""
    logs = one.place / f"logs-{work.name}"
    logs.mkdir()
    if nobody:
        run("chown", f"{world.NOBODY}:{world.NOBODY}", logs)
    flags = ["--sandbox", tier, "--allow-host", "web.example.com", "--allow-host", "opened.example.com", "--credential", "TOKEN=env:REAL", "--for", "https://opened.example.com/**",
             "--tools", "all", "--log-level", "trace", "--net-log", f"{logs}/net", "--audit", f"{logs}/audit"]
    one.heads.clear()
    server = Server(program, work, flags, nobody, environment={"REAL": SECRET})
    found = []
    try:
        ask = "curl -sS -H \"Authorization: Bearer $TOKEN\" https://opened.example.com/ok/echo"
        said = [server.sh(f"{ask}; printenv; {ask} -X POST -d $TOKEN; curl -sS -u me:$TOKEN https://opened.example.com/ok/echo")]
        said.append(server.text("keploy_mock_record", command=ask))
        said.append(server.text("run_python_code", code="import os, subprocess; print(os.environ['TOKEN'])"))
        said.append(server.text("execute_command", command=f"{ask} > kept; {ask}; sleep 1000", background=True))
        until = time.monotonic() + 30
        while not ((work / "kept").exists() and (work / "kept").stat().st_size) and time.monotonic() < until:
            time.sleep(0.01)
        pids = [pid for pid in below(server.process.pid)]
        found += [f"process {pathlib.Path(f'/proc/{pid}/cmdline').read_bytes()[:60]!r}" for pid in pids if os.path.exists(f"/proc/{pid}/mem") and holds(pid)]
        if not holds(server.process.pid):
            found.append("not even in the server")
        arrived = sum(SECRET in line for line in one.heads)
        found += [f"reply {at}" for at, text in enumerate(said) if SECRET in text]
    finally:
        server.close()
    if SECRET in server.said():
        found.append("standard error")
    learned = subprocess.run([*(["setpriv", f"--reuid={world.NOBODY}", f"--regid={world.NOBODY}", "--clear-groups", "--"] if nobody else []), program, "net", "learn", *flags[:2], *flags[6:10],
                              "--allow", f"{work}:rw", "--out", f"{logs}/rules", "--", "sh", "-c", ask], capture_output=True, text=True, cwd=work, env={"PATH": world.PATH, "REAL": SECRET})
    if SECRET in learned.stdout + learned.stderr:
        found.append("what net learn says")
    files = 0
    for top in (work, logs, pathlib.Path("/dev/shm"), pathlib.Path("/run")):
        for folder, _, names in os.walk(top):
            for name in names:
                path = pathlib.Path(folder, name)
                if path.is_file() and path.stat().st_size < 1 << 24:
                    files += 1
                    if SECRET.encode() in path.read_bytes():
                        found.append(str(path))
    return f"used {arrived} times, {len(pids)} processes, {files} files: " + (", ".join(found) or "found nowhere")


if __name__ == "__main__":
    sys.exit(world.begin(__doc__, HOSTS, ways))
