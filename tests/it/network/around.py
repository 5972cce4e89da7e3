"""Ways around the rules, each with what came of it. None may reach 11.0.0.3, or 11.0.0.2 under a name that is not allowed."""

import errno
import os
import re
import socket
import struct
import subprocess
import sys


def hello(name):
    """A ClientHello of TLS 1.2 that asks for this name, if any."""
    extensions = b""
    if name:
        entry = b"\0" + struct.pack(">H", len(name)) + name
        names = struct.pack(">H", len(entry)) + entry
        extensions = struct.pack(">HH", 0, len(names)) + names
    # signature_algorithms, without which no server goes on.
    extensions += struct.pack(">HHHH", 13, 4, 2, 0x0401)
    body = b"\3\3" + bytes(32) + b"\0" + b"\0\2\xc0\x2f" + b"\1\0" + struct.pack(">H", len(extensions)) + extensions
    message = b"\1" + struct.pack(">I", len(body))[1:] + body
    return b"\x16\3\1" + struct.pack(">H", len(message)) + message


def said(port, *pieces, host="api.example.com"):
    stream = socket.create_connection((host, port), 10)
    try:
        for piece in pieces:
            stream.sendall(piece)
        stream.shutdown(socket.SHUT_WR)
        answer = b""
        while more := stream.recv(4096):
            answer += more
        return answer.split(b"\r\n")[0].decode("latin-1")[:20] + (f" x{answer.count(b'HTTP/1.1 200')}" if b"HTTP/" in answer else "")
    finally:
        stream.close()


def statuses(*pieces):
    """Those of the answers at port 80, each piece once there is an answer to the one before."""
    with socket.create_connection(("api.example.com", 80), 10) as stream:
        answers = b""
        for piece in pieces:
            stream.sendall(piece)
            answers += stream.recv(4096)
        stream.shutdown(socket.SHUT_WR)
        while more := stream.recv(4096):
            answers += more
    return b" ".join(re.findall(rb"HTTP/1.1 (\d+)", answers)).decode()


def connected(family, address):
    with socket.socket(family) as one:
        one.settimeout(10)
        one.connect(address)
        return "connected"


def made(family, kind, protocol=0):
    try:
        socket.socket(family, kind, protocol).close()
    except OSError:
        return "refused"
    return "made"


def made_on(device):
    with socket.socket() as one:
        try:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device)
        except OSError:
            return "refused"
    return "bound"


def datagram(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b"out", address)
    return "sent"


def passed():
    """Over a descriptor of another process, which made the socket and then gave it away."""
    here, there = socket.socketpair()
    if os.fork() == 0:
        one = socket.socket()
        socket.send_fds(there, [b"x"], [one.fileno()])
        os._exit(0)
    _, fds, _, _ = socket.recv_fds(here, 1, 1)
    with socket.socket(fileno=fds[0]) as one:
        one.connect(("11.0.0.3", 80))
    return "connected"


GOOD = b"GET /good HTTP/1.1\r\nHost: api.example.com\r\n\r\n"
BAD = b"GET /bad HTTP/1.1\r\nHost: other.example.net\r\n\r\n"
SWITCH = b"GET /switch HTTP/1.1\r\nHost: api.example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
HTTP_0_9 = b"GET http://other.example.net/bad\r\n"
ALERT = b"\x15\3\1\0\2\1\0"
INET, INET6 = socket.AF_INET, socket.AF_INET6

ATTEMPTS = {
    "allowed": lambda: said(80, GOOD),
    "allowed twice": lambda: said(80, GOOD + GOOD),
    "final dot": lambda: said(80, GOOD, host="api.example.com."),
    "capitals": lambda: said(80, b"GET /good HTTP/1.1\r\nhOST: API.Example.Com:80\r\n\r\n"),
    "websocket": lambda: said(80, b"GET /switch HTTP/1.1\r\nHost: api.example.com\r\nUpgrade: websocket\r\n\r\n"),
    "raw at a port of its own": lambda: said(8080, b"anything\n"),
    "other host": lambda: said(80, BAD),
    "other host second": lambda: said(80, GOOD + BAD),
    "other host behind a body": lambda: said(80, b"POST /good HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 3\r\n\r\nabc" + BAD),
    "two hosts": lambda: said(80, b"GET /bad HTTP/1.1\r\nHost: api.example.com\r\nHost: other.example.net\r\n\r\n"),
    "no host": lambda: said(80, b"GET /bad HTTP/1.0\r\n\r\n"),
    "absolute": lambda: said(80, b"GET http://other.example.net/bad HTTP/1.1\r\nHost: api.example.com\r\n\r\n"),
    "connect": lambda: said(80, b"CONNECT other.example.net:443 HTTP/1.1\r\nHost: api.example.com\r\n\r\n"),
    "empty line first": lambda: said(80, b"\r\n" + BAD),
    "odd method": lambda: said(8080, b"X" + BAD),
    "other host at a port of its own": lambda: said(8080, BAD),
    "http/2": lambda: said(8080, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "upgrade to http/2": lambda: said(80, b"GET /bad HTTP/1.1\r\nHost: api.example.com\r\nUpgrade: h2c\r\n\r\n"),
    "neither": lambda: said(80, b"anything\n"),
    "tls": lambda: said(443, hello(b"api.example.com"))[:8],
    "tls of another name": lambda: said(443, hello(b"other.example.net")),
    "tls of no name": lambda: said(443, hello(None)),
    "denied name": lambda: said(80, GOOD, host="evil.example.com"),
    "name of metadata": lambda: said(80, GOOD, host="meta.example.com"),
    "name of a private address": lambda: said(80, GOOD, host="private.example.com"),
    "name of this machine": lambda: said(80, GOOD, host="here.example.com"),
    "name that there is not": lambda: said(80, GOOD, host="nothing.example.com"),
    "name of no rule": lambda: said(80, GOOD, host="other.example.net"),
    "ipv6 alone": lambda: said(80, b"GET /six HTTP/1.1\r\nHost: six.example.com\r\n\r\n", host="six.example.com"),
    "unnamed address": lambda: connected(INET, ("11.0.0.3", 80)),
    "octal": lambda: said(80, GOOD, host="013.0.0.3"),
    "hexadecimal": lambda: said(80, GOOD, host="0xb.3"),
    "number": lambda: said(80, GOOD, host="184549379"),
    "mapped": lambda: connected(INET6, ("::ffff:11.0.0.3", 80)),
    "ipv6": lambda: connected(INET6, ("2a00::2", 80)),
    "device": lambda: made_on(b"lo"),
    "passed": passed,
    "proc": lambda: subprocess.run([sys.executable, "-c", "import socket; socket.create_connection(('11.0.0.3', 80))"], stderr=-3, env={}).returncode,
    "mptcp": lambda: made(INET, socket.SOCK_STREAM, 262),
    "sctp": lambda: made(INET, socket.SOCK_STREAM, 132),
    "raw": lambda: made(INET, socket.SOCK_RAW, 1),
    "packet": lambda: made(17, socket.SOCK_RAW),
    "vsock": lambda: made(40, socket.SOCK_STREAM),
    "datagram": lambda: datagram(("11.0.0.2", 443)),
    "names of somebody": lambda: datagram(("11.0.0.3", 53)),
    "websocket behind a request": lambda: statuses(GOOD, SWITCH),
    "other host before an at sign": lambda: said(80, b"GET /bad HTTP/1.1\r\nHost: other.example.net:80@api.example.com\r\n\r\n"),
    "other host behind what says that it switched": lambda: statuses(SWITCH.replace(b"/switch", b"/body"), BAD),
    "head without an end": lambda: said(80, BAD[:-2]),
    "other port": lambda: said(8080, b"GET /bad HTTP/1.1\r\nHost: api.example.com:80\r\n\r\n"),
    "other port, absolute": lambda: said(8080, b"GET http://api.example.com:80/bad HTTP/1.1\r\nHost: api.example.com:8080\r\n\r\n"),
    "connect at a port of its own": lambda: said(8080, b"CONNECT other.example.net:443 http/1.1 \r\n\r\n"),
    "tabs": lambda: said(8080, BAD.replace(b" /bad ", b"\t/bad\t")),
    "space behind the line": lambda: said(8080, BAD.replace(b"1.1", b"1.1 ")),
    "small letters": lambda: said(8080, BAD.replace(b"HTTP", b"http")),
    "no version": lambda: said(8080, HTTP_0_9),
    "long line": lambda: said(8080, BAD.replace(b"/bad", b"/bad" + b"x" * 20_000)),
    "upgrade to either": lambda: said(80, SWITCH.replace(b"\r\n\r\n", b"\r\nUpgrade: h2c\r\n\r\n")),
    "tls behind an alert": lambda: said(8080, ALERT + hello(b"other.example.net")),
}

for name, attempt in ATTEMPTS.items():
    try:
        came = attempt()
    except socket.gaierror as error:
        came = f"name {error.errno}"
    except OSError as error:
        came = errno.errorcode.get(error.errno, str(error))
        # Whichever call comes after a reset hears of it, in its own way.
        came = "cut off" if came in ("ECONNRESET", "ENOTCONN", "EPIPE") else came
    print(f"{name}: {came}")
