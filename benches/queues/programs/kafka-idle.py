"""Poll an empty topic for IDLE seconds, then produce and consume."""
import os
import time
import uuid

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from lab_common import INDEX, PORT, done, same

PLACE = TopicPartition(f"idle-{INDEX}", 0)
ADDRESS = f"127.0.0.1:{PORT}"
admin = KafkaAdminClient(bootstrap_servers=ADDRESS)
admin.create_topics([NewTopic(name=PLACE.topic, num_partitions=1, replication_factor=1)])
admin.close()
consumer = KafkaConsumer(bootstrap_servers=ADDRESS, auto_offset_reset="earliest", fetch_max_wait_ms=300)
consumer.assign([PLACE])
received = []


def poll_until(end):
    for records in consumer.poll(timeout_ms=200).values():
        received.extend((record.offset, record.value.decode()) for record in records)
    return time.monotonic() < end


end = time.monotonic() + float(os.environ.get("IDLE", "2"))
while poll_until(end):
    pass
same(received, [], "records while idle")
producer = KafkaProducer(bootstrap_servers=ADDRESS)
wanted = [(number, str(uuid.uuid4())) for number in range(3)]
for _, text in wanted:
    producer.send(PLACE.topic, value=text.encode()).get(10)
end = time.monotonic() + 8
while len(received) < 3 and poll_until(end):
    pass
same(received, wanted, "records")
consumer.close()
producer.close()
done()
