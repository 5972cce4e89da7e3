// Publish with message ids and times on a confirm channel, consume and acknowledge.
const amqp = require("amqplib");
const { index, port, randomUUID, run, same, sleep, waitFor } = require("./lab_common.js");

run(async () => {
  const publisher = await amqp.connect(`amqp://127.0.0.1:${port}`);
  const consumer = await amqp.connect(`amqp://127.0.0.1:${port}`);
  const channel = await publisher.createConfirmChannel();
  const consuming = await consumer.createChannel();
  const queue = `mails-${index}`;
  await consuming.assertQueue(queue, { durable: false });
  await consuming.prefetch(1);
  const received = [];
  await consuming.consume(queue, (message) => {
    received.push([message.properties.messageId, message.content.toString()]);
    consuming.ack(message);
  });
  await sleep(300);
  same(received, [], "messages before the first publish");
  const wanted = [];
  for (let number = 0; number < 3; number += 1) {
    const messageId = randomUUID();
    const body = `mail ${number} ${randomUUID()}`;
    wanted.push([messageId, body]);
    channel.sendToQueue(queue, Buffer.from(body), { messageId, timestamp: Date.now() });
    await channel.waitForConfirms();
  }
  await waitFor(() => received.length >= 3, "messages");
  same(received, wanted);
  await sleep(100);
  same((await consuming.checkQueue(queue)).messageCount, 0);
  await consumer.close();
  await publisher.close();
});
