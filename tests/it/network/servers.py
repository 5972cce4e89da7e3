"""Servers on the loopback device that note who reaches them, and who asks nothing, not even at 11.0.0.4, which answers questions of
names. They end with their standard input. Arguments: the file of notes, then ADDRESS:PORT each."""

import contextlib
import os
import socket
import ssl
import struct
import sys
import threading

notes = open(sys.argv[1], "a", buffering=1)
was_reset, released = threading.Event(), threading.Event()


def serve(stream, name):
    data = b""
    with stream, contextlib.suppress(ConnectionError):
        while True:
            while b"\r\n\r\n" not in data:
                more = stream.recv(65536)
                if not more:
                    if data:
                        notes.write(f"{name} {data[:40]!r}\n")
                        stream.sendall(b"echo " + data)
                    return
                data += more
            head, data = data.split(b"\r\n\r\n", 1)
            notes.write(f"{name} {head.splitlines()[0].decode()[:80]}\n")
            if head.startswith(b"GET /switch "):
                stream.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
                stream.sendall(b"echo " + stream.recv(100))
                return
            if head.startswith(b"GET /body "):
                stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n")
                stream.sendall(b"HTTP/1.1 101")
                continue
            if head.startswith(b"GET /when-reset "):
                assert was_reset.wait(60)
            if head.startswith(b"GET /release "):
                released.set()
            if head.startswith(b"GET /cut "):
                stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart")
                reset(stream)
                return
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n")


def reset(stream):
    # Closed so, a connection is reset (socket(7), SO_LINGER).
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.close()


def end_first(stream, name):
    stream.sendall(b"bye")
    stream.shutdown(socket.SHUT_WR)
    got = 0
    while more := stream.recv(65536):
        got += len(more)
    notes.write(f"{name} {got} bytes after the end\n")


def hear_reset(stream, _):
    try:
        while stream.recv(100):
            pass
    except ConnectionResetError:
        was_reset.set()


def speak_tls(stream, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(os.path.dirname(sys.argv[1]), "certificate.pem"))
    with contextlib.suppress(ssl.SSLError, ConnectionError):
        serve(context.wrap_socket(stream, server_side=True), name)


BY_PORT = {"8081": lambda stream, _: reset(stream), "8082": end_first, "8083": hear_reset, "8443": speak_tls}


def accept(listener, name):
    serves = BY_PORT.get(name.rpartition(":")[2], serve)
    while True:
        stream, _ = listener.accept()
        threading.Thread(target=serves, args=(stream, name), daemon=True).start()


def name_server():
    """Knows no name. Some questions it answers late, some never."""
    questions = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    questions.bind(("11.0.0.4", 53))

    def answer(question, peer):
        if b"silent" in question or b"held" in question and not released.wait(60):
            return
        end = question.index(b"\0", 12) + 5
        # NXDOMAIN (RFC 1035, 4.1.1).
        questions.sendto(question[:2] + b"\x81\x83\0\1\0\0\0\0\0\0" + question[12:end], peer)

    while True:
        threading.Thread(target=answer, args=questions.recvfrom(512), daemon=True).start()


for place in sys.argv[2:]:
    address, _, port = place.rpartition(":")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.bind((address, int(port)))
    listener.listen(4096)
    threading.Thread(target=accept, args=(listener, place), daemon=True).start()
    datagrams = socket.socket(family, socket.SOCK_DGRAM)
    datagrams.bind((address, int(port)))

    def hear(datagrams=datagrams, place=place):
        while True:
            data, peer = datagrams.recvfrom(65_535)
            notes.write(f"{place} datagram {data[:100]!r}\n")
            with contextlib.suppress(OSError):
                datagrams.sendto(place.encode() + b" " + data, peer)

    threading.Thread(target=hear, daemon=True).start()
threading.Thread(target=name_server, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
