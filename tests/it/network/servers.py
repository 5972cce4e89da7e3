"""Servers on the loopback device that note who reaches them. They end with their standard input. Arguments: the
file of notes, then ADDRESS:PORT each."""

import contextlib
import socket
import struct
import sys
import threading

notes = open(sys.argv[1], "a", buffering=1)


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
            notes.write(f"{name} {head.splitlines()[0].decode()}\n")
            if head.startswith(b"GET /switch "):
                stream.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
                stream.sendall(b"echo " + stream.recv(100))
                return
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n")


def accept(listener, name):
    while True:
        stream, _ = listener.accept()
        if name.endswith(":8081"):
            # Closed so, a connection is reset (socket(7), SO_LINGER).
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            stream.close()
            continue
        threading.Thread(target=serve, args=(stream, name), daemon=True).start()


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
            notes.write(f"{place} datagram {datagrams.recv(100)!r}\n")

    threading.Thread(target=hear, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
