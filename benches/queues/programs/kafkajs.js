// Produce three records with kafkajs and consume them in a group.
const { Kafka, logLevel } = require("kafkajs");
const { index, port, randomUUID, run, same, waitFor } = require("./lab_common.js");

run(async () => {
  const kafka = new Kafka({ clientId: "lab", brokers: [`127.0.0.1:${port}`], logLevel: logLevel.NOTHING });
  const topic = `orders-${index}`;
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: 1, replicationFactor: 1 }] });
  await admin.disconnect();
  const producer = kafka.producer();
  await producer.connect();
  const wanted = [];
  for (let number = 0; number < 3; number += 1) {
    const key = randomUUID();
    wanted.push([String(number), key, `order ${number} of ${key}`]);
    const [sent] = await producer.send({ topic, acks: -1, messages: [{ key, value: `order ${number} of ${key}` }] });
    same([sent.topicName, sent.partition, sent.baseOffset], [topic, 0, String(number)]);
  }
  await producer.disconnect();
  const consumer = kafka.consumer({ groupId: `workers-${index}`, maxWaitTimeInMs: 500, sessionTimeout: 6000 });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const received = [];
  await consumer.run({
    eachMessage: async ({ message }) => {
      received.push([message.offset, message.key.toString(), message.value.toString()]);
    },
  });
  await waitFor(() => received.length >= 3, "records", 14);
  same(received, wanted);
  await consumer.disconnect();
});
