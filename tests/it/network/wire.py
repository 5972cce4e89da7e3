"""What is allowed behaves as without rules: ends and resets of either side, pieces of any size, certificates, slow names."""

import contextlib
import errno
import socket
import ssl
import struct
import sys
import threading

NAME = "api.example.com"


def connected(port, host=NAME):
    stream = socket.create_connection((host, port), 60)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return stream


def rest(stream):
    got = b""
    try:
        while more := stream.recv(65536):
            got += more
    except OSError as error:
        got += errno.errorcode[error.errno].encode()
    return got


def asked(path):
    with connected(80) as stream:
        stream.sendall(f"GET {path} HTTP/1.1\r\nHost: {NAME}\r\nConnection: close\r\n\r\n".encode())
        # A server that resets may have done so by now.
        with contextlib.suppress(OSError):
            stream.shutdown(socket.SHUT_WR)
        return rest(stream).split(b"\r\n\r\n")[-1]


def in_single_bytes(host):
    with connected(80) as stream:
        try:
            for byte in f"GET /single HTTP/1.1\r\nHost: {host}\r\n\r\n".encode():
                stream.send(bytes([byte]))
            return stream.recv(12)
        except (ConnectionError, BrokenPipeError):
            return b"cut off"


def tls_in_single_bytes(context, server_name):
    """As far as the handshake goes: the client's bytes one by one."""
    come, go = ssl.MemoryBIO(), ssl.MemoryBIO()
    inner = context.wrap_bio(come, go, server_hostname=server_name)
    with connected(8443) as stream:
        while True:
            try:
                inner.do_handshake()
                return "shaken"
            except ssl.SSLWantReadError:
                for byte in go.read():
                    stream.send(bytes([byte]))
            more = stream.recv(65536)
            come.write(more) if more else come.write_eof()


def look_up(name, say):
    try:
        say.append(socket.getaddrinfo(name, 80)[0][4])
    except socket.gaierror as error:
        say.append(error.errno)


with connected(8082) as stream:
    print("server ends first:", rest(stream))
    stream.sendall(b"x" * 300_000)
with connected(8083) as stream:
    stream.sendall(b"x")
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
print("the program resets:", asked("/when-reset"))
print("the server resets:", asked("/cut"))
with connected(80) as stream:
    body = b"x" * 3_000_000
    head = f"POST /long HTTP/1.1\r\nHost: {NAME}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    second = f"GET /second HTTP/1.1\r\nHost: {NAME}\r\nConnection: close\r\n\r\n".encode()
    stream.sendall(head + body + second)
    stream.shutdown(socket.SHUT_WR)
    print("a request behind a long body:", rest(stream).count(b"200 OK"))
print("single bytes:", in_single_bytes(NAME))
print("single bytes of another name:", in_single_bytes("other.example.net"))
strict, lax = ssl.create_default_context(cafile=sys.argv[1]), ssl.create_default_context()
lax.check_hostname, lax.verify_mode = False, ssl.CERT_NONE
for title, context in [("checked", strict), ("unchecked", lax)]:
    try:
        print(f"certificate of another name, {title}:", tls_in_single_bytes(context, NAME))
    except ssl.SSLCertVerificationError as error:
        print(f"certificate of another name, {title}:", error.verify_message)
names = [("held.example.com", [])] + [(f"silent-{number}.example.com", []) for number in range(32)]
threads = [threading.Thread(target=look_up, args=name) for name in names]
for thread in threads:
    thread.start()
answers = [asked("/meanwhile") for _ in range(20)]
print("while names wait:", set(answers), threads[0].is_alive())
asked("/release")
for thread in threads:
    thread.join()
print("names:", {said[0] for _, said in names[1:]})
