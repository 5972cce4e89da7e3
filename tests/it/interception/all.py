import asyncio, errno, select, socket, urllib.request

def get(url):
    return urllib.request.urlopen(url, timeout=30).read().decode()

print(get("http://192.0.2.1:8001/"))
print(get("http://some.name.test:8002/"))

# Without waiting.
s = socket.socket()
s.setblocking(False)
code = s.connect_ex(("192.0.2.3", 8003))
print(code in (0, errno.EINPROGRESS), s.getblocking())
select.select([], [s], [], 30)
print(s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), s.connect_ex(("192.0.2.3", 8003)) in (0, errno.EISCONN))
print(s.getpeername())

# Waiting: the flag comes back.
s = socket.socket()
s.connect(("192.0.2.4", 8004))
print(s.getblocking(), s.getpeername())
s.sendmsg([b"GET / HTTP/1.0\r\n", b"\r\n"])
print(s.recvmsg(4096)[0].decode().split("\r\n\r\n")[1])

# IPv6, only and mapped.
s = socket.socket(socket.AF_INET6)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
s.connect(("2001:db8::1", 8005))
print(s.getpeername()[:2])
s = socket.socket(socket.AF_INET6)
s.connect(("::ffff:192.0.2.6", 8006))
print(s.getpeername()[:2])

# A question by hand, unconnected as musl asks, and connected as others do: the answer comes from whom was asked.
question = bytes.fromhex("abcd01000001000000000000") + b"\x02by\x04hand\x00\x00\x01\x00\x01"
for receive in (lambda s: s.recvfrom(512), lambda s: (lambda m: (m[0], m[3]))(s.recvmsg(512))):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.sendto(question, ("192.0.2.53", 53))
    data, sender = receive(s)
    print(data[:2].hex(), data[-4:].hex(), sender)
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.connect(("2001:db8::53", 53))
s.send(question)
data, sender = s.recvfrom(512)
print(data[:2].hex(), sender[:2], s.getpeername()[:2])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(0.2)
s.connect(("192.0.2.53", 53))
try:
    s.recvfrom(512)
except socket.timeout:
    print("nothing came")

async def several():
    async def one(n):
        reader, writer = await asyncio.open_connection("192.0.2.9", 9000 + n)
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        text = (await reader.read()).decode().split("\r\n\r\n")[1]
        writer.close()
        return text
    return sorted(await asyncio.gather(*(one(n) for n in range(5))))

print(asyncio.run(several()))

# Descriptors passed over a pair, and messages larger than it holds.
import os, threading
one, two = socket.socketpair()
try:
    one.sendmsg([b""])
except PermissionError:
    print("no messages over pairs")
    raise SystemExit
reading, writing = os.pipe()
socket.send_fds(one, [b"here"], [writing])
data, passed, _, _ = socket.recv_fds(two, 16, 4)
os.write(passed[0], b"through")
print(data, os.read(reading, 16))
got = []
def drain():
    while sum(map(len, got)) < 3_000_000:
        got.append(two.recv(65536))
thread = threading.Thread(target=drain)
thread.start()
rest = memoryview(b"x" * 3_000_000)
while rest:
    rest = rest[one.sendmsg([rest[:2_000_000], rest[2_000_000:]]):]
thread.join()
print(sum(map(len, got)))
one, two = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
one.sendmsg([b"a", b"b"])
print(two.recv(16))
