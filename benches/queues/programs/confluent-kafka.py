"""Produce three records with librdkafka and consume them in a group."""
import time
import uuid

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from lab_common import INDEX, PORT, done, same

TOPIC = f"orders-{INDEX}"
ADDRESS = {"bootstrap.servers": f"127.0.0.1:{PORT}"}
admin = AdminClient(ADDRESS)
for future in admin.create_topics([NewTopic(TOPIC, 1, 1)]).values():
    future.result(10)
producer = Producer({**ADDRESS, "acks": "all", "linger.ms": 5})
wanted, delivered = [], []


def take_report(error, message):
    delivered.append((error, message.topic(), message.partition(), message.offset()))


for number in range(3):
    key = str(uuid.uuid4())
    wanted.append((number, key, f"order {number} of {key}"))
    producer.produce(TOPIC, key=key, value=f"order {number} of {key}", on_delivery=take_report)
    producer.flush(10)
same(delivered, [(None, TOPIC, 0, number) for number in range(3)], "reports of deliveries")
consumer = Consumer({**ADDRESS, "group.id": f"workers-{INDEX}", "auto.offset.reset": "earliest", "session.timeout.ms": 6000})
consumer.subscribe([TOPIC])
received, end = [], time.monotonic() + 10
while len(received) < 3 and time.monotonic() < end:
    message = consumer.poll(0.5)
    if message is not None and message.error() is None:
        received.append((message.offset(), message.key().decode(), message.value().decode()))
same(received, wanted, "records")
consumer.commit(asynchronous=False)
consumer.close()
done()
