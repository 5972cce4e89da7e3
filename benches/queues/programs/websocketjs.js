// Call by JSON-RPC over a WebSocket of `ws`; take notifications in their order.
const WebSocket = require("ws");
const { index, port, randomUUID, run, same, sleep, waitFor } = require("./lab_common.js");

run(async () => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/rpc?of=${index}`);
  const received = [];
  socket.on("message", (data) => received.push(JSON.parse(data.toString())));
  await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
  const wanted = [];
  const call = (method, params) => {
    const id = randomUUID();
    socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return id;
  };
  for (let number = 0; number < 3; number += 1) {
    wanted.push({ jsonrpc: "2.0", id: call("add", [number, 10]), result: number + 10 });
    await waitFor(() => received.length >= wanted.length, "answer " + number);
    same(received, wanted);
  }
  await sleep(400);
  same(received, wanted);
  const id = call("watch", [3]);
  wanted.push({ jsonrpc: "2.0", id, result: "watching" });
  for (let number = 0; number < 3; number += 1) {
    wanted.push({ jsonrpc: "2.0", method: "changed", params: { watch: id, number } });
  }
  await waitFor(() => received.length >= wanted.length, "notifications");
  same(received, wanted);
  const pong = new Promise((resolve) => socket.on("pong", (data) => resolve(data.toString())));
  const payload = randomUUID().slice(0, 8);
  socket.ping(payload);
  same(await pong, payload);
  socket.close();
  await new Promise((resolve) => socket.on("close", resolve));
});
