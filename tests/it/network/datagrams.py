"""Datagrams to what the rules allow, and to what they do not: what comes back, and from where."""

import ctypes
import errno
import os
import select
import socket
import struct
import sys

INET, INET6, DGRAM = socket.AF_INET, socket.AF_INET6, socket.SOCK_DGRAM
libc = ctypes.CDLL(None, use_errno=True)


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class Header(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_void_p), ("name_length", ctypes.c_uint32), ("pieces", ctypes.POINTER(Iovec)),
        ("count", ctypes.c_size_t), ("control", ctypes.c_void_p), ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int64), ("sent", ctypes.c_uint64),
    ]


kept = []


def header(name, data):
    piece = Iovec(ctypes.cast(data, ctypes.c_void_p), len(data))
    made = Header(ctypes.cast(name, ctypes.c_void_p), len(name), ctypes.pointer(piece), 1, None, 0, 0, 0)
    kept.append((made, name, data, piece))
    return made


def packed(address):
    return ctypes.create_string_buffer(struct.pack("=H", INET) + struct.pack(">H", address[1]) + socket.inet_aton(address[0]) + bytes(8), 16)


def named(host, port):
    return socket.getaddrinfo(host, port, INET, DGRAM)[0][4]


api, web = named("api.example.com", 443), named("www.example.com", 80)
there, six = ("11.0.0.3", 80), ("2a00::2", 80, 0, 0)
places = {api: "api", web: "web", there: "there", six: "six"}


def place(address):
    if address[0].startswith("::ffff:"):
        address = (address[0][7:], address[1])
    return places.get(address, address)


def opened(family=INET):
    one = socket.socket(family, DGRAM)
    one.settimeout(20)
    return one


def connected():
    with opened() as one:
        one.connect(api)
        one.send(b"connected")
        return one.recv(100), place(one.getpeername()), place(one.recvfrom(100)[1]) if one.send(b"again") else None


def several():
    """Different ones on one socket, and a question of a name among them."""
    with opened() as one:
        question = b"\x12\x34\1\0\0\1\0\0\0\0\0\0\3api\7example\3com\0\0\1\0\1"
        for data, to in [(b"one", api), (question, ("9.9.9.9", 53)), (b"two", web), (b"three", there), (b"four", api)]:
            one.sendto(data, to)
        came = [one.recvfrom(100) for _ in range(5)]
        return sorted((data[:2] if address[1] == 53 else data, str(place(address))) for data, address in came)


def messages():
    with opened() as one:
        one.sendmsg([b"in ", b"pieces"], [], 0, web)
        data, _, _, address = one.recvmsg(100)
        return data, place(address)


def many_at_once():
    with opened() as one:
        one.setblocking(True)
        out = (Header * 2)(header(packed(api), ctypes.create_string_buffer(b"m1", 2)), header(packed(there), ctypes.create_string_buffer(b"m2", 2)))
        left = 0
        while left < 2:
            sent = libc.sendmmsg(one.fileno(), ctypes.byref(out, left * ctypes.sizeof(Header)), 2 - left, 0)
            if sent < 0:
                raise OSError(ctypes.get_errno(), "sendmmsg")
            left += sent
        came = []
        while len(came) < 2:
            buffers = [(ctypes.create_string_buffer(16), ctypes.create_string_buffer(100)) for _ in range(2)]
            into = (Header * 2)(*(header(*pair) for pair in buffers))
            got = libc.recvmmsg(one.fileno(), into, 2, 0, None)
            if got < 0:
                raise OSError(ctypes.get_errno(), "recvmmsg")
            for (name, data), filled in list(zip(buffers, into))[:got]:
                address = socket.inet_ntoa(name.raw[4:8]), int.from_bytes(name.raw[2:4], "big")
                came.append((data.raw[: filled.sent], place(address)))
        return sorted(came)


def of_version_6(only):
    with opened(INET6) as one:
        if only:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind(("::", 0))
        one.sendto(b"six", six)
        came = [one.recvfrom(100)]
        if not only:
            one.sendto(b"mapped", ("::ffff:" + api[0], api[1]))
            came.append(one.recvfrom(100))
        return [(data, place(address)) for data, address in came]


def bound():
    with opened() as one:
        one.bind(("0.0.0.0", 4567))
        one.sendto(b"bound", api)
        return one.recvfrom(100)[0]


def long():
    with opened() as one:
        one.sendto(b"x" * 60_000, api)
        return len(one.recv(65_535))


def does_not_wait():
    with socket.socket(INET, DGRAM) as one:
        one.setblocking(False)
        one.sendto(b"quick", api)
        select.select([one], [], [], 20)
        return one.recv(100)


def of_its_own():
    with opened() as server, opened() as client:
        server.bind(("127.0.0.1", 0))
        client.sendto(b"own", server.getsockname())
        data, address = server.recvfrom(100)
        server.sendto(b"back " + data, address)
        data, address = client.recvfrom(100)
        return data, address == server.getsockname()


def sent(host, port):
    with opened() as one:
        one.sendto(b"out", named(host, port))
    return "sent"


def connect_only(host, port):
    with opened() as one:
        one.connect((host, port))
    return "connected"


def sixty():
    """More sockets than one place has at once would be no reason to fail."""
    came = 0
    sockets = [opened() for _ in range(60)]
    for number, one in enumerate(sockets):
        one.sendto(b"xxxx %d" % number, api)
    for number, one in enumerate(sockets):
        came += one.recv(100) == b"11.0.0.2:443 xxxx %d" % number
        one.close()
    return came


ATTEMPTS = {
    "connected": connected,
    "several": several,
    "messages": messages,
    "many at once": many_at_once,
    "ipv6": lambda: of_version_6(False),
    "ipv6 alone": lambda: of_version_6(True),
    "bound": bound,
    "long": long,
    "does not wait": does_not_wait,
    "of its own": of_its_own,
    "sixty": sixty,
    "another port": lambda: sent("api.example.com", 8080),
    "another port again": lambda: sent("api.example.com", 8080),
    "denied": lambda: sent("evil.example.com", 80),
    "denied for all": lambda: sent("whole.example.com", 80),
    "no rule": lambda: sent("other.example.net", 80),
    "private": lambda: sent("private.example.com", 80),
    "metadata": lambda: sent("meta.example.com", 80),
    "machine": lambda: sent("here.example.com", 80),
    "unnamed address": lambda: sent("10.0.0.9", 80),
    "loopback": lambda: sent("127.0.0.1", 80),
    "connects to a rule of tcp": lambda: connect_only("11.0.0.2", 8080),
}

for name in sys.argv[1:] or ATTEMPTS:
    try:
        came = ATTEMPTS[name]()
    except OSError as error:
        came = errno.errorcode.get(error.errno, str(error))
    print(f"{name}: {came}", flush=True)
