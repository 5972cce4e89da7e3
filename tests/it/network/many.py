"""Many connections at once, and connections that end in every way."""

import asyncio
import errno
import socket
import sys

GOOD = b"GET /good HTTP/1.1\r\nHost: api.example.com\r\n\r\n"


async def one():
    reader, writer = await asyncio.open_connection("api.example.com", 80)
    await gate.wait()
    writer.write(GOOD)
    answer = await reader.readuntil(b"ok\n")
    writer.close()
    return answer.startswith(b"HTTP/1.1 200")


async def refused():
    try:
        await asyncio.open_connection("example.org", 80)
    except OSError as error:
        # The verdict may come after an event loop has waited long enough; then the kernel refuses the connection.
        return error.errno in (errno.EACCES, errno.ECONNREFUSED)


async def all_at_once(count):
    global gate
    gate = asyncio.Event()
    tasks = [asyncio.create_task(one() if at % 10 else refused()) for at in range(count)]
    await asyncio.sleep(0)
    gate.set()
    return sum(await asyncio.gather(*tasks))


print(asyncio.run(all_at_once(int(sys.argv[1]))), "at once")
with socket.create_connection(("api.example.com", 8080)) as half:
    half.sendall(b"x" * 300000)
    half.shutdown(socket.SHUT_WR)
    got = 0
    while more := half.recv(65536):
        got += len(more)
    print(got, "bytes after a half-close")
try:
    with socket.create_connection(("api.example.com", 8081)) as cut:
        print(cut.recv(10))
except OSError as error:
    print(errno.errorcode[error.errno], "from a server that resets")
