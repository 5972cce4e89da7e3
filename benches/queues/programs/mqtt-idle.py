"""Wait IDLE seconds with a keep-alive of one second, then publish and receive."""
import os
import time
import uuid

import paho.mqtt.client as paho
from lab_common import INDEX, PORT, done, same, wait_for

TOPIC = f"lab/{INDEX}/idle"
received, subscribed, lost = [], [], []
client = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id=f"idle-{uuid.uuid4().hex}")
client.on_message = lambda _c, _u, message: received.append(message.payload.decode())
client.on_subscribe = lambda *_: subscribed.append(1)
client.on_disconnect = lambda *_: lost.append(1)
client.connect("127.0.0.1", PORT, keepalive=1)
client.loop_start()
wait_for(client.is_connected, "CONNACK")
client.subscribe(TOPIC, qos=1)
wait_for(lambda: subscribed, "SUBACK")
time.sleep(float(os.environ.get("IDLE", "2")))
same((received, lost), ([], []), "messages and losses while idle")
wanted = [str(uuid.uuid4()) for _ in range(3)]
for text in wanted:
    client.publish(TOPIC, text, qos=1).wait_for_publish(5)
wait_for(lambda: len(received) >= 3, "messages")
same(received, wanted, "messages")
same(lost, [], "lost connections")
done()
