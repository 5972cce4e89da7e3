"""Use NATS: publish and subscribe, request and reply, and JetStream."""
import asyncio
import json
import uuid

import nats
from lab_common import INDEX, PORT, done, same


async def publish_and_subscribe(publisher, subscriber):
    received = []

    async def take(message):
        received.append((message.subject, message.data.decode()))

    await subscriber.subscribe(f"news.{INDEX}.*", cb=take)
    await subscriber.flush()
    await asyncio.sleep(0.3)
    same(received, [], "messages before the first publish")
    wanted = [(f"news.{INDEX}.{number}", str(uuid.uuid4())) for number in range(3)]
    for subject, text in wanted:
        await publisher.publish(subject, text.encode(), headers={"Nats-Msg-Id": str(uuid.uuid4())})
    await publisher.flush()
    for _ in range(400):
        if len(received) >= 3:
            break
        await asyncio.sleep(0.02)
    same(received, wanted, "messages")


async def request_and_reply(client, server):
    async def answer(message):
        body = json.loads(message.data)
        await message.respond(json.dumps({"id": body["id"], "sum": body["a"] + body["b"]}).encode())

    await server.subscribe(f"add.{INDEX}", cb=answer)
    await server.flush()
    for number in range(3):
        identity = str(uuid.uuid4())
        question = {"id": identity, "a": number, "b": 10}
        reply = await client.request(f"add.{INDEX}", json.dumps(question).encode(), timeout=5)
        same(json.loads(reply.data), {"id": identity, "sum": number + 10}, f"reply {number}")


async def jetstream(client):
    stream = client.jetstream()
    await stream.add_stream(name=f"ORDERS{INDEX}", subjects=[f"orders.{INDEX}.*"])
    wanted = [(f"orders.{INDEX}.{number}", str(uuid.uuid4())) for number in range(3)]
    for place, (subject, text) in enumerate(wanted):
        acknowledged = await stream.publish(subject, text.encode())
        same((acknowledged.stream, acknowledged.seq), (f"ORDERS{INDEX}", place + 1), "acknowledgement")
    consumer = await stream.pull_subscribe(f"orders.{INDEX}.*", durable="worker")
    received = []
    while len(received) < 3:
        for message in await consumer.fetch(3 - len(received), timeout=5):
            received.append((message.subject, message.data.decode()))
            await message.ack_sync()
    same(received, wanted, "messages of the stream")


async def main():
    first = await nats.connect(f"nats://127.0.0.1:{PORT}")
    second = await nats.connect(f"nats://127.0.0.1:{PORT}")
    await publish_and_subscribe(first, second)
    await request_and_reply(first, second)
    await jetstream(first)
    await first.close()
    await second.close()


asyncio.run(main())
done()
