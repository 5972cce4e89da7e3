import asyncio

import httpx


async def call_mcp_tool(tool_name: str, arguments: dict):
    payload = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": tool_name,
            "arguments": arguments
        }
    }

    async with httpx.AsyncClient() as client:
        response = await client.post(
            "http://localhost:8000/mcp",
            json=payload,
            headers={"Content-Type": "application/json"}
        )
        return response.json()


result = asyncio.run(call_mcp_tool("run_python_code", {
    "code": "print('Hello from raw HTTP!')"
}))
print(result["result"]["structuredContent"]["stdout"])
