"""Requests to hosts that are opened, each with what came of it."""

import errno
import socket
import ssl
import subprocess
import sys

HOST = "secure.example.com"


def over_tls(host=HOST, port=443, trusted=None, offers=("http/1.1",), server_name=None, version=None):
    context = ssl.create_default_context(cafile=trusted)
    context.set_alpn_protocols(offers)
    context.check_hostname = server_name is None
    if version:
        context.maximum_version = version
    return context.wrap_socket(socket.create_connection((host, port), 10), server_hostname=server_name or host)


def said(stream, *pieces):
    """The status of every answer, and the last line that says something."""
    answer = b""
    try:
        for piece in pieces:
            stream.sendall(piece)
            # Read one answer for each piece but the last one.
            if piece is not pieces[-1]:
                stream.recv(65536)
        while more := stream.recv(65536):
            answer += more
    except (ConnectionError, ssl.SSLError) as error:
        return f"cut off {type(error).__name__}" if not answer else summary(answer)
    finally:
        stream.close()
    return summary(answer)


def summary(answer):
    text = answer.decode("latin-1")
    heads = [line[9:12] for line in text.split("\r\n") if line.startswith("HTTP/1.1 ")]
    body = text[text.rfind("HTTP/1.") :].partition("\r\n\r\n")[2]
    last = [line for line in body.split("\r\n") if line][-1:]
    return f"{' '.join(heads)} | {''.join(last)[:200].strip()}"


def request(line, *fields, body=b"", host=HOST):
    return "\r\n".join([f"{line} HTTP/1.1", *([f"Host: {host}"] if host else []), *fields, "", ""]).encode("latin-1") + body


CLOSE = "Connection: close"


def tls(line, *fields, body=b"", host=HOST):
    return lambda: said(over_tls(), request(line, CLOSE, *fields, body=body, host=host))


def plain(*pieces, host=HOST, port=80):
    return lambda: said(socket.create_connection((host, port), 10), *pieces)


def raw(*pieces):
    return lambda: said(over_tls(), *pieces)


def curl(*arguments):
    def run():
        made = subprocess.run(["curl", "-sS", "-m", "10", "-w", " %{http_code} %{num_connects}", *arguments], capture_output=True, text=True)
        return f"{made.returncode} {made.stdout.strip().splitlines()[-1] if made.stdout.strip() else made.stderr.strip()[:60]}"

    return run


GOOD = request("GET /repos/a")
LAST = request("GET /repos/last", CLOSE)
SMUGGLED = b"GET /secret HTTP/1.1\r\nHost: secure.example.com\r\n\r\n"

ATTEMPTS = {
    "allowed": tls("GET /repos/a?q=../x"),
    "head": tls("HEAD /repos/a"),
    "body": tls("POST /hook", "Content-Length: 5", body=b"hello"),
    "body in chunks, with trailers": tls("POST /hook", "Transfer-Encoding: chunked", "Trailer: X-Sum", body=b"2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nX-Sum: 1\r\n\r\n"),
    "answer in chunks": tls("GET /repos/chunked", "TE: trailers"),
    "no content": tls("GET /repos/204"),
    "not modified": tls("GET /repos/304"),
    "until the end": tls("GET /repos/end"),
    "expects": raw(request("POST /hook", CLOSE, "Expect: 100-continue", "Content-Length: 5"), b"hello"),
    "three at once": raw(GOOD + request("POST /repos/a", "Content-Length: 3", body=b"abc") + LAST),
    "goes on after a refusal": raw(request("GET /secret"), LAST),
    "half-closed": lambda: half_closed(),
    "switched": lambda: switched("/any/one/x"),
    "switched by a rule with a method": lambda: switched("/repos/switch"),
    "absolute": tls("GET https://secure.example.com/repos/a"),
    "absolute with a port": tls("GET https://SECURE.example.com:443/repos/a"),
    "encoded": tls("GET /%72epos/a"),
    "plain": plain(request("PUT /plain/a", CLOSE, "Content-Length: 0")),
    "address": lambda: said(socket.create_connection(("11.0.0.5", 8080), 10), request("GET /one", CLOSE, host="11.0.0.5:8080")),
    "whole host": lambda: said(over_tls("whole.example.com"), request("GET /a/b?../c;d", CLOSE, host="whole.example.com")),
    "old version": raw(b"GET /repos/a HTTP/1.0\r\nHost: secure.example.com\r\n\r\n"),
    # What no rule names.
    "other method": tls("DELETE /repos/a"),
    "other path": tls("GET /secret"),
    "small letters": tls("get /repos/a"),
    "dots": tls("GET /repos/../secret"),
    "encoded dots": tls("GET /repos/%2e%2E/secret"),
    "encoded slash": tls("GET /repos/..%2fsecret"),
    "parameters": tls("GET /repos/..;/secret"),
    "empty segment": tls("GET /repos//secret"),
    "backslash": tls("GET /repos/..\\secret"),
    "bytes of no text": tls("GET /repos/\xc0\xae\xc0\xae/secret"),
    "fragment": tls("GET /repos/a#/../../secret"),
    "asterisk": tls("OPTIONS *"),
    "connect": tls("CONNECT other.example.net:443"),
    "denied": lambda: said(over_tls("whole.example.com"), request("DELETE /a", CLOSE, host="whole.example.com")),
    "denied in another way": lambda: said(over_tls("whole.example.com"), request("GET /AD%4din/a", CLOSE, host="whole.example.com")),
    "denied, oddly": lambda: said(over_tls("whole.example.com"), request("GET /b/../admin/a", CLOSE, host="whole.example.com")),
    "plain where TLS is allowed": plain(request("GET /repos/a", CLOSE)),
    # Of another host.
    "other host": tls("GET /repos/a", host="other.example.net"),
    "two hosts": tls("GET /repos/a", "Host: other.example.net"),
    "no host": tls("GET /repos/a", host=None),
    "user in the host": tls("GET /repos/a", host="secure.example.com@other.example.net"),
    "other port in the host": tls("GET /repos/a", host="secure.example.com:8443"),
    "absolute to another host": tls("GET https://other.example.net/repos/a"),
    "absolute without TLS": tls("GET http://secure.example.com/repos/a"),
    "other name of TLS": lambda: said(over_tls(server_name="other.example.net"), GOOD),
    # Two requests for one.
    "length and chunks": tls("POST /hook", "Content-Length: 5", "Transfer-Encoding: chunked", body=b"0\r\n\r\n" + SMUGGLED),
    "chunks and length": tls("POST /hook", "Transfer-Encoding: chunked", "Content-Length: 5", body=b"0\r\n\r\n" + SMUGGLED),
    "two lengths": tls("POST /hook", "Content-Length: 0", f"Content-Length: {len(SMUGGLED)}", body=SMUGGLED),
    "length with a sign": tls("POST /hook", f"Content-Length: +{len(SMUGGLED)}", body=SMUGGLED),
    "folded length": tls("POST /hook", "X: y", f" Content-Length: {len(SMUGGLED)}", body=SMUGGLED),
    "space before the colon": tls("POST /hook", f"Content-Length : {len(SMUGGLED)}", body=SMUGGLED),
    "odd coding": tls("POST /hook", "Transfer-Encoding: xchunked", body=b"0\r\n\r\n" + SMUGGLED),
    "coding twice": tls("POST /hook", "Transfer-Encoding: chunked", "Transfer-Encoding: identity", body=b"0\r\n\r\n" + SMUGGLED),
    "bare line feeds": raw(b"GET /repos/a HTTP/1.1\nHost: secure.example.com\nX: y\r\rGET /secret HTTP/1.1\n\n"),
    "nothing in a field": tls("GET /repos/a", "X: a\0b"),
    "space in the path": tls("GET /repos/a /secret"),
    "length of a body that is too short": tls("POST /hook", "Content-Length: 3", body=b"abc" + SMUGGLED),
    "size of a chunk too large": tls("POST /hook", "Transfer-Encoding: chunked", body=b"10000000000000003\r\nabc\r\n0\r\n\r\n"),
    "other protocol": tls("GET /any/one/x", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"),
    "http/2 without TLS": plain(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9)),
    "http/2 where it was not agreed": raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9)),
    "no http": plain(b"anything\r\n\r\n"),
    "no TLS": plain(b"anything\r\n\r\n", port=443),
}

PROGRAMS = {
    "curl": curl(f"https://{HOST}/repos/a", f"https://{HOST}/repos/b"),
    "curl is refused": curl(f"https://{HOST}/secret/{300 * 'a'}?token=1"),
    "curl sends much in vain": curl("--data-binary", "@much", f"https://{HOST}/secret"),
    "curl sends much": curl("--data-binary", "@much", f"https://{HOST}/hook"),
    "curl with its own certificates": curl("--cacert", "own.pem", f"https://{HOST}/repos/a"),
    "an old curl with its own certificates": curl("--tls-max", "1.2", "--cacert", "own.pem", f"https://{HOST}/repos/a"),
    "a server with a certificate of another": curl("https://bad.example.com/repos/a"),
    "a host that is not opened": curl("--cacert", "own.pem", "https://closed.example.com/any"),
}


# One that looks at the certificate when the handshake is over, and then asks for nothing.
SILENT = {"silent": lambda: ssl._create_unverified_context().wrap_socket(socket.create_connection((HOST, 443), 10), server_hostname=HOST).close() or "went"}


def half_closed():
    stream = socket.create_connection((HOST, 80), 10)
    stream.sendall(request("PUT /plain/a", "Content-Length: 0"))
    stream.shutdown(socket.SHUT_WR)
    return said(stream)


def switched(path):
    stream = over_tls()
    stream.sendall(request(f"GET {path}", "Upgrade: websocket", "Connection: Upgrade"))
    answer = stream.recv(65536)
    if not answer.startswith(b"HTTP/1.1 101"):
        stream.close()
        return summary(answer)
    return said(stream, b"frames")


with open("much", "wb") as file:
    file.write(bytes(3 << 20))
for name, attempt in {"requests": ATTEMPTS, "programs": PROGRAMS, "silent": SILENT}[sys.argv[1]].items():
    try:
        came = attempt()
    except ssl.SSLError as error:
        # An end and a reset are one here.
        came = "cut off" if error.reason in (None, "UNEXPECTED_EOF_WHILE_READING") else f"TLS {error.reason}"
    except OSError as error:
        came = errno.errorcode.get(error.errno, str(error))
        came = "cut off" if came in ("ECONNRESET", "ENOTCONN", "EPIPE") else came
    print(f"{name}: {came}", flush=True)
