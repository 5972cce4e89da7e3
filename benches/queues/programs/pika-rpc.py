"""Call by RPC over RabbitMQ: confirms, correlation ids, an exclusive reply queue, acks."""
import threading
import time
import uuid

import pika
from lab_common import INDEX, PORT, done, same, wait_for

QUEUE = f"rpc-{INDEX}"
ready = threading.Event()


def connection():
    return pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", PORT))


def serve():
    channel = connection().channel()
    channel.queue_declare(QUEUE)
    channel.basic_qos(prefetch_count=1)

    def answer(channel, method, properties, body):
        channel.basic_publish(
            "",
            properties.reply_to,
            body.upper(),
            pika.BasicProperties(correlation_id=properties.correlation_id),
        )
        channel.basic_ack(method.delivery_tag)

    channel.basic_consume(QUEUE, answer)
    ready.set()
    channel.start_consuming()


threading.Thread(target=serve, daemon=True).start()
assert ready.wait(8), "the server of the RPC is not ready"
client = connection()
channel = client.channel()
channel.confirm_delivery()
replies = []
reply_queue = channel.queue_declare("", exclusive=True).method.queue
channel.basic_consume(
    reply_queue, lambda _c, _m, properties, body: replies.append((properties.correlation_id, body.decode())), auto_ack=True
)
client.process_data_events(0.3)
same(replies, [], "replies before the first request")
wanted = []
for number in range(3):
    correlation = str(uuid.uuid4())
    body = f"job {number} {uuid.uuid4()}"
    wanted.append((correlation, body.upper()))
    channel.basic_publish(
        "", QUEUE, body.encode(), pika.BasicProperties(reply_to=reply_queue, correlation_id=correlation, timestamp=int(time.time()))
    )
    end = time.monotonic() + 8
    while len(replies) < len(wanted) and time.monotonic() < end:
        client.process_data_events(0.1)
    same(replies, wanted, f"replies after request {number}")
same(channel.queue_declare(QUEUE, passive=True).method.message_count, 0, "messages left")
client.close()
done()
