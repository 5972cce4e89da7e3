"""Wait IDLE seconds with pings of each half second, then publish and receive."""
import asyncio
import os
import uuid

import nats
from lab_common import INDEX, PORT, done, same


async def main():
    lost = []

    async def disconnected():
        lost.append(1)

    client = await nats.connect(f"nats://127.0.0.1:{PORT}", ping_interval=0.5, disconnected_cb=disconnected)
    subscription = await client.subscribe(f"idle.{INDEX}")
    await client.flush()
    await asyncio.sleep(float(os.environ.get("IDLE", "2")))
    same(lost, [], "losses while idle")
    for number in range(3):
        text = f"{number} {uuid.uuid4()}"
        await client.publish(f"idle.{INDEX}", text.encode())
        same((await subscription.next_msg(timeout=5)).data.decode(), text, f"message {number}")
    await client.close()


asyncio.run(main())
done()
