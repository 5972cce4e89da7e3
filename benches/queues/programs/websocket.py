"""Call by JSON-RPC over a WebSocket with frequent pings; take notifications in their order."""
import asyncio
import json
import uuid

import websockets
from lab_common import INDEX, PORT, done, same


async def main():
    async with websockets.connect(f"ws://127.0.0.1:{PORT}/rpc?of={INDEX}", ping_interval=0.5) as socket:
        for number in range(3):
            identity = str(uuid.uuid4())
            await socket.send(json.dumps({"jsonrpc": "2.0", "id": identity, "method": "add", "params": [number, 10]}))
            answer = json.loads(await asyncio.wait_for(socket.recv(), 5))
            same(answer, {"jsonrpc": "2.0", "id": identity, "result": number + 10}, f"answer {number}")
        try:
            early = await asyncio.wait_for(socket.recv(), 1.2)
            raise AssertionError(f"message before the subscription: {early}")
        except asyncio.TimeoutError:
            pass
        identity = str(uuid.uuid4())
        await socket.send(json.dumps({"jsonrpc": "2.0", "id": identity, "method": "watch", "params": [3]}))
        answers = [json.loads(await asyncio.wait_for(socket.recv(), 5)) for _ in range(4)]
        wanted = [{"jsonrpc": "2.0", "id": identity, "result": "watching"}]
        wanted += [{"jsonrpc": "2.0", "method": "changed", "params": {"watch": identity, "number": n}} for n in range(3)]
        same(answers, wanted, "answers to the subscription")
        await (await socket.ping())


asyncio.run(main())
done()
