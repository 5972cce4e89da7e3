"""Publish with aio-pika's own message ids, consume and acknowledge."""
import asyncio
import json
import uuid

import aio_pika
from lab_common import INDEX, PORT, done, same


async def main():
    publisher = await aio_pika.connect(f"amqp://guest:guest@127.0.0.1:{PORT}/")
    consumer = await aio_pika.connect(f"amqp://guest:guest@127.0.0.1:{PORT}/")
    channel = await publisher.channel()
    exchange = await channel.declare_exchange(f"orders-{INDEX}", aio_pika.ExchangeType.TOPIC)
    consuming = await consumer.channel()
    await consuming.set_qos(prefetch_count=2)
    queue = await consuming.declare_queue(f"orders-{INDEX}")
    await queue.bind(f"orders-{INDEX}", "order.#")
    received, enough = [], asyncio.Event()

    async def take(message):
        async with message.process():
            assert message.message_id, "a message without an id"
            received.append((message.routing_key, json.loads(message.body)))
        if len(received) == 4:
            enough.set()

    await queue.consume(take)
    await asyncio.sleep(0.3)
    same(received, [], "messages before the first publish")
    wanted = []
    for number in range(4):
        body = {"id": str(uuid.uuid4()), "number": number}
        wanted.append((f"order.{number}", body))
        await exchange.publish(aio_pika.Message(json.dumps(body).encode()), f"order.{number}")
    await asyncio.wait_for(enough.wait(), 8)
    same(received, wanted, "messages")
    await consumer.close()
    await publisher.close()


asyncio.run(main())
done()
