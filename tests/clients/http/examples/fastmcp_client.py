import asyncio

from fastmcp.client import Client


async def main():
    async with Client("http://localhost:8000/mcp") as client:
        result = await client.call_tool("run_python_code", {
            "code": "print('Hello, World!')"
        })
        print(result.data["stdout"])

asyncio.run(main())
