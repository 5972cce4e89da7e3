// Use NATS from Node: publish and subscribe, request and reply, and JetStream.
const { connect, StringCodec } = require("nats");
const { index, port, randomUUID, run, same, sleep, waitFor } = require("./lab_common.js");

const codec = StringCodec();

async function publishAndSubscribe(publisher, subscriber) {
  const received = [];
  subscriber.subscribe(`news.${index}.*`, {
    callback: (_error, message) => received.push([message.subject, codec.decode(message.data)]),
  });
  await subscriber.flush();
  await sleep(300);
  same(received, []);
  const wanted = [0, 1, 2].map((number) => [`news.${index}.${number}`, randomUUID()]);
  wanted.forEach(([subject, text]) => publisher.publish(subject, codec.encode(text)));
  await publisher.flush();
  await waitFor(() => received.length >= 3, "messages");
  same(received, wanted);
}

async function requestAndReply(client, server) {
  server.subscribe(`upper.${index}`, {
    callback: (_error, message) => message.respond(codec.encode(codec.decode(message.data).toUpperCase())),
  });
  await server.flush();
  for (let number = 0; number < 3; number += 1) {
    const text = `question ${number} ${randomUUID()}`;
    const reply = await client.request(`upper.${index}`, codec.encode(text), { timeout: 5000 });
    same(codec.decode(reply.data), text.toUpperCase());
  }
}

async function jetStream(client) {
  const name = `ORDERS${index}`;
  const manager = await client.jetstreamManager();
  await manager.streams.add({ name, subjects: [`orders.${index}.*`] });
  await manager.consumers.add(name, { durable_name: "worker", ack_policy: "explicit" });
  const stream = client.jetstream();
  const wanted = [0, 1, 2].map((number) => [`orders.${index}.${number}`, randomUUID()]);
  for (const [subject, text] of wanted) await stream.publish(subject, codec.encode(text), { msgID: randomUUID() });
  const consumer = await stream.consumers.get(name, "worker");
  const received = [];
  for await (const message of await consumer.fetch({ max_messages: 3, expires: 5000 })) {
    received.push([message.subject, codec.decode(message.data)]);
    await message.ackAck();
  }
  same(received, wanted);
}

run(async () => {
  const first = await connect({ servers: `127.0.0.1:${port}` });
  const second = await connect({ servers: `127.0.0.1:${port}` });
  await publishAndSubscribe(first, second);
  await requestAndReply(first, second);
  await jetStream(first);
  await first.close();
  await second.close();
});
