import ctypes, errno, socket

libc = ctypes.CDLL(None, use_errno=True)

def forget(s):
    """connect(2) with AF_UNSPEC."""
    if libc.connect(s.fileno(), bytes(16), 16) != 0:
        raise OSError(ctypes.get_errno(), "connect")

def name(do):
    try:
        do()
        return "0"
    except OSError as error:
        return errno.errorcode[error.errno]

four, six = (socket.socket(family, socket.SOCK_DGRAM) for family in (socket.AF_INET, socket.AF_INET6))
forget(four)
forget(six)
# IP_MULTICAST_IF, IP_UNICAST_IF, IPV6_MULTICAST_IF, IPV6_PKTINFO, IPV6_UNICAST_IF
options = ((four, 0, 32), (four, 0, 50), (six, 41, 17), (six, 41, 50), (six, 41, 76))
print(*(name(lambda: s.setsockopt(level, option, bytes(20))) for s, level, option in options))
print(name(lambda: four.sendto(b"x", ("192.0.2.1", 9))))
# A C library asks every address of a name so whether there is a route.
for text in (b"one", b"two"):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    server.settimeout(30)
    four.connect(server.getsockname())
    four.send(text)
    print(server.recv(100).decode())
    forget(four)
print(socket.getaddrinfo("name.example", 80, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])
