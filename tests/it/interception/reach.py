import socket, sys
from socket import AF_INET as FOUR, AF_INET6 as SIX, SOCK_DGRAM as DATAGRAM, SOCK_STREAM as STREAM

TCP, UDP = map(int, sys.argv[1:])

def reached(kind, at, to, only=0, shared=0):
    """Who answers there while a server of our own has the first address."""
    family = lambda address: SIX if ":" in address[0] else FOUR
    with socket.socket(family(at), kind) as server, socket.socket(family(to), kind) as client:
        if family(at) == SIX:
            server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, only)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, shared)
        try:
            server.bind(at)
            if kind == STREAM:
                server.listen()
        except OSError:
            # Somebody else has it.
            pass
        port = to[1] or server.getsockname()[1]
        client.settimeout(30)
        try:
            client.connect((to[0], port))
        except OSError as error:
            return error.errno
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        server.settimeout(0 if kind == STREAM else 30)
        try:
            server.accept()[0].close() if kind == STREAM else server.recv(100)
            return "own"
        except OSError:
            return client.recv(4096).decode().split("\r\n\r\n")[-1]

print(reached(STREAM, ("127.0.0.1", 0), ("127.0.0.1", TCP)))
print(reached(STREAM, ("::", TCP), ("127.0.0.1", TCP), only=1))
print(reached(STREAM, ("127.0.0.2", TCP), ("0.0.0.0", TCP)))
print(reached(STREAM, ("::1", TCP), ("0.0.0.0", TCP)))
print(reached(STREAM, ("0.0.0.0", TCP), ("127.0.0.1", TCP), shared=1))
print(reached(STREAM, ("::", 0), ("127.0.0.1", 0)))
print(reached(STREAM, ("0.0.0.0", 0), ("0.0.0.0", 0)))
print(reached(STREAM, ("::1", 0), ("::", 0)))
print(reached(DATAGRAM, ("127.0.0.1", 0), ("127.0.0.1", UDP)))
print(reached(DATAGRAM, ("::", UDP), ("127.0.0.1", UDP), only=1))
print(reached(DATAGRAM, ("127.0.0.2", UDP), ("0.0.0.0", UDP)))
print(reached(DATAGRAM, ("::", 0), ("127.0.0.1", 0)))
print(reached(DATAGRAM, ("0.0.0.0", 0), ("0.0.0.0", 0), shared=1))
print(reached(DATAGRAM, ("::1", 0), ("::", 0)))
