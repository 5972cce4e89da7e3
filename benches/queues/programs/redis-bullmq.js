// Add jobs with BullMQ and wait for what its worker returns.
const { Queue, QueueEvents, Worker } = require("bullmq");
const { index, port, randomUUID, run, same } = require("./lab_common.js");

run(async () => {
  const connection = { host: "127.0.0.1", port };
  const name = `mails-${index}`;
  const queue = new Queue(name, { connection });
  const events = new QueueEvents(name, { connection });
  await events.waitUntilReady();
  const worker = new Worker(name, async (job) => ({ id: job.data.id, number: job.data.number + 1 }), { connection });
  await worker.waitUntilReady();
  for (let number = 0; number < 3; number += 1) {
    const id = randomUUID();
    const job = await queue.add("send", { id, number });
    same(await job.waitUntilFinished(events, 8000), { id, number: number + 1 });
  }
  same((await queue.getJobCounts("completed", "failed")), { completed: 3, failed: 0 });
  await worker.close();
  await events.close();
  await queue.close();
});
