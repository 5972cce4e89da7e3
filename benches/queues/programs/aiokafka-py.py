"""Produce three records with aiokafka and consume them in a group."""
import asyncio
import uuid

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from lab_common import INDEX, PORT, done, same

TOPIC = f"orders-{INDEX}"
ADDRESS = f"127.0.0.1:{PORT}"


async def main():
    admin = AIOKafkaAdminClient(bootstrap_servers=ADDRESS)
    await admin.start()
    await admin.create_topics([NewTopic(name=TOPIC, num_partitions=1, replication_factor=1)])
    await admin.close()
    producer = AIOKafkaProducer(bootstrap_servers=ADDRESS, acks="all")
    await producer.start()
    wanted = []
    for number in range(3):
        key = str(uuid.uuid4())
        sent = await producer.send_and_wait(TOPIC, key=key.encode(), value=f"order {number} of {key}".encode())
        same((sent.topic, sent.partition, sent.offset), (TOPIC, 0, number), "place of the record")
        wanted.append((number, key, f"order {number} of {key}"))
    await producer.stop()
    consumer = AIOKafkaConsumer(TOPIC, bootstrap_servers=ADDRESS, group_id=f"workers-{INDEX}", auto_offset_reset="earliest", session_timeout_ms=6000)
    await consumer.start()
    received = []
    while len(received) < 3:
        record = await asyncio.wait_for(consumer.getone(), 10)
        received.append((record.offset, record.key.decode(), record.value.decode()))
    same(received, wanted, "records")
    await consumer.commit()
    await consumer.stop()


asyncio.run(main())
done()
