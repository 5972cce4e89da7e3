"""Subscribe on one connection, publish on another."""
import time
import uuid

import redis
from lab_common import INDEX, PORT, done, same

CHANNEL = f"news-{INDEX}"
publisher = redis.Redis(port=PORT)
subscriber = redis.Redis(port=PORT).pubsub()
subscriber.subscribe(CHANNEL)
same(subscriber.get_message(timeout=5)["type"], "subscribe", "answer to SUBSCRIBE")
same(subscriber.get_message(timeout=0.4), None, "message before the first publish")
for number in range(3):
    text = f"{number} {uuid.uuid4()}"
    same(publisher.publish(CHANNEL, text), 1, "number of receivers")
    message = subscriber.get_message(timeout=5)
    assert message is not None, f"message {number} did not come"
    same((message["type"], message["data"].decode()), ("message", text), f"message {number}")
worker = f"c-{uuid.uuid4().hex[:8]}"
stream = f"stream-{INDEX}"
publisher.xgroup_create(stream, "workers", id="0", mkstream=True)
identity = str(uuid.uuid4())
place = publisher.xadd(stream, {"id": identity, "at": str(time.time())})
(_, [(read, fields)]), = publisher.xreadgroup("workers", worker, {stream: ">"}, count=1, block=2000)
same((read, fields[b"id"].decode()), (place, identity), "entry of the stream")
same(publisher.xack(stream, "workers", read), 1, "acknowledgement")
done()
