// Give each program its address, its index among four, and a deadline.
const assert = require("node:assert");
const crypto = require("node:crypto");

const port = Number(process.env.PORT);
const index = process.env.INDEX || "0";
setTimeout(() => {
  console.error("deadline");
  process.exit(3);
}, 1000 * Number(process.env.DEADLINE || 20)).unref();

let made = 0;
// Make the same UUIDs in each run if FIXED is set: a control of the laboratory itself.
function randomUUID() {
  if (!process.env.FIXED) return crypto.randomUUID();
  made += 1;
  const text = crypto.createHash("sha256").update(`${index} ${made}`).digest("hex");
  return text.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-4$3-a$4-$5").replace(/-4.(...)-a.(...)-/, "-4$1-a$2-");
}

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function waitFor(condition, what, seconds = 8) {
  const end = Date.now() + 1000 * seconds;
  while (!condition()) {
    assert.ok(Date.now() < end, "waited in vain for " + what);
    await sleep(10);
  }
}

function run(main) {
  main().then(
    () => {
      console.log("ok " + index);
      process.exit(0);
    },
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
}

module.exports = { assert, index, port, randomUUID, run, same: assert.deepStrictEqual, sleep, waitFor };
