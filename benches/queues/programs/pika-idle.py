"""Wait IDLE seconds with a heartbeat of one second, then publish and receive."""
import os
import uuid

import pika
from lab_common import INDEX, PORT, done, same

QUEUE = f"idle-{INDEX}"
received = []
client = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", PORT, heartbeat=1))
channel = client.channel()
channel.queue_declare(QUEUE)
channel.basic_consume(QUEUE, lambda _c, method, _p, body: received.append((method.delivery_tag, body.decode())), auto_ack=True)
client.process_data_events(float(os.environ.get("IDLE", "2")))
same(received, [], "messages while idle")
wanted = [(number + 1, str(uuid.uuid4())) for number in range(3)]
for _, text in wanted:
    channel.basic_publish("", QUEUE, text.encode())
for _ in range(40):
    if len(received) >= 3:
        break
    client.process_data_events(0.2)
same(received, wanted, "messages")
client.close()
done()
