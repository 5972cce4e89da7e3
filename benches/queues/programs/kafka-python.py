"""Produce three records with kafka-python and consume them, in a group where the broker can."""
import time
import uuid

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import NewTopic
from lab_common import INDEX, PORT, done, same

TOPIC = f"orders-{INDEX}"
ADDRESS = f"127.0.0.1:{PORT}"
admin = KafkaAdminClient(bootstrap_servers=ADDRESS)
admin.create_topics([NewTopic(name=TOPIC, num_partitions=1, replication_factor=1)])
admin.close()
producer = KafkaProducer(bootstrap_servers=ADDRESS, acks="all")
wanted = []
for number in range(3):
    key = str(uuid.uuid4())
    sent = producer.send(TOPIC, key=key.encode(), value=f"order {number} of {key}".encode()).get(10)
    same((sent.topic, sent.partition, sent.offset), (TOPIC, 0, number), "place of the record")
    wanted.append((number, key, f"order {number} of {key}"))
producer.close()
consumer = KafkaConsumer(TOPIC, bootstrap_servers=ADDRESS, group_id=f"workers-{INDEX}", auto_offset_reset="earliest", session_timeout_ms=6000)
received, end = [], time.monotonic() + 10
while len(received) < 3 and time.monotonic() < end:
    for records in consumer.poll(timeout_ms=500).values():
        received += [(record.offset, record.key.decode(), record.value.decode()) for record in records]
same(received, wanted, "records")
consumer.commit()
consumer.close()
done()
