// The service's own test: every request of requests.json is answered as answers.json says.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { start } from './server.mjs';

const read = (name) => JSON.parse(fs.readFileSync(new URL(name, import.meta.url)));

test('orders', async () => {
  const { port, stop } = await start(0);
  const answers = [];
  for (const [method, path, body] of read('./requests.json')) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: body ? { 'content-type': 'application/json' } : {},
      body: body && JSON.stringify(body),
    });
    answers.push([response.status, await response.json()]);
  }
  await stop();
  assert.deepEqual(answers, read('./answers.json'));
});
