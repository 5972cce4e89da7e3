"""Publish with each QoS on one connection and receive on another."""
import json
import time
import uuid

import paho.mqtt.client as paho
from lab_common import INDEX, PORT, done, same, wait_for

TOPIC = f"lab/{INDEX}/readings"
received, subscribed = [], []


def connected_client(name):
    client = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id=name)
    client.connect("127.0.0.1", PORT, keepalive=30)
    client.loop_start()
    wait_for(client.is_connected, "CONNACK")
    return client


subscriber = connected_client(f"sub-{uuid.uuid4().hex[:12]}")
subscriber.on_message = lambda _c, _u, message: received.append((message.qos, message.topic, json.loads(message.payload)))
subscriber.on_subscribe = lambda _c, _u, _mid, codes, _p: subscribed.append([code.value for code in codes])
subscriber.subscribe(TOPIC, qos=2)
wait_for(lambda: subscribed, "SUBACK")
same(subscribed, [[2]], "granted QoS")
publisher = connected_client(str(uuid.uuid4()))
time.sleep(0.4)
same(received, [], "messages before the first publish")
wanted = []
for qos in (0, 1, 2):
    for number in range(2):
        body = {"id": str(uuid.uuid4()), "number": number, "qos": qos}
        wanted.append((qos, TOPIC, body))
        publisher.publish(TOPIC, json.dumps(body), qos=qos).wait_for_publish(5)
    wait_for(lambda: len(received) >= len(wanted), f"messages of QoS {qos}")
    same(received, wanted, f"messages after QoS {qos}")
time.sleep(0.2)
same(received, wanted, "messages in the end")
publisher.disconnect()
subscriber.disconnect()
done()
