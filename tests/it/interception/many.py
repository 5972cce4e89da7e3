import asyncio, sys

async def one(n):
    reader, writer = await asyncio.open_connection(f"192.0.2.{n % 250}", 1000 + n)
    writer.write(b"GET / HTTP/1.0\r\n\r\n")
    text = (await reader.read()).decode()
    writer.close()
    return text.endswith(f"to=192.0.2.{n % 250}:{1000 + n}")

async def main():
    print(sum(await asyncio.gather(*(one(n) for n in range(int(sys.argv[1]))))))

asyncio.run(main())
