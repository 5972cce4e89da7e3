"""Serve JSON-RPC over WebSockets on PORT: add numbers; send notifications after `watch`."""
import asyncio
import json
import os

import websockets


async def serve(socket):
    async for text in socket:
        call = json.loads(text)
        if call["method"] == "add":
            await socket.send(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": sum(call["params"])}))
            continue
        await socket.send(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": "watching"}))
        for number in range(call["params"][0]):
            await asyncio.sleep(0.15)
            changed = {"watch": call["id"], "number": number}
            await socket.send(json.dumps({"jsonrpc": "2.0", "method": "changed", "params": changed}))


async def main():
    async with websockets.serve(serve, "127.0.0.1", int(os.environ["PORT"])):
        await asyncio.Future()


asyncio.run(main())
