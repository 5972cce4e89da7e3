// Real Vitest through run_tests, with the official TypeScript SDK.
//
// usage: node vitest.mjs BINARY WALLS DIR VERSION
//
// WALLS is what --sandbox gets, DIR has a node_modules with this version of Vitest.
//
// Prints one line per check; exits with 1 if one failed.

import fs from "node:fs";
import path from "node:path";
import process from "node:process";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

import { check, deadline, status } from "./checks.mjs";

const [, , binary, walls, dir, version] = process.argv;
const work = fs.realpathSync(dir);
const start = "import { describe, expect, it } from 'vitest'\n";
const files = {
  "mixed.test.ts": `describe('sum', () => {
  it('adds', () => { expect(1 + 1).toBe(2) })
  it('is (wrong)', () => { expect({ a: 1 }).toEqual({ a: 2 }) })
  it.skip('is left out', () => {})
  it.todo('comes later')
})
`,
  "good.test.ts": "it('is good', () => { expect(1).toBe(1) })\n",
  "collect.test.ts": "import './gone'\nit('never runs', () => {})\n",
  "leak.test.ts": "it('leaks', () => { Promise.reject(new Error('lost')) })\n",
  "hang.test.ts": "it('spins', () => { while (true) {} })\n",
};
fs.rmSync(path.join(work, "src"), { recursive: true, force: true });
fs.mkdirSync(path.join(work, "src"));
for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(work, "src", name), start + text);

const timer = deadline(`vitest ${version}`, 180);
const transport = new StdioClientTransport({
  command: path.resolve(binary),
  args: ["--mcp-server", "--allow", `${work}:rw`, "--sandbox", walls, "--tools", "tests"],
});
const client = new Client({ name: "vitest", version: "1" });
const run = async (args) => {
  const result = await client.callTool({ name: "run_tests", arguments: args }, undefined, { timeout: 120_000 });
  return { ...result.structuredContent, isError: result.isError === true, text: result.content[0].text, links: result.content };
};
const says = (what, good, seen) => check(`vitest ${version} ${what}`, good, seen);
try {
  await client.connect(transport);
  const mixed = await run({ testFiles: "src/{mixed,good}.test.ts" });
  const { passed, failed, skipped, todo } = mixed.summary ?? {};
  says("counts", [passed, failed, skipped, todo].join() === "2,1,1,1" && !mixed.isError, mixed);
  says("fails", mixed.status === "failed" && mixed.runner.version === version, mixed);
  const failure = mixed.failures?.[0];
  says("names the place", failure?.file === "src/mixed.test.ts" && failure.line === 4, failure);
  says("shows the difference", /\+ {3}"a": 1|a: 1|"a": 1/.test(JSON.stringify(failure?.errors)), failure);
  const link = mixed.links?.find((block) => block.type === "resource_link");
  const log = await client.readResource({ uri: link?.uri });
  says("keeps the log", log.contents[0].text.includes("is (wrong)"), log);

  const again = await run({ rerunFailed: true });
  says("runs again what failed", again.summary?.failed === 1 && again.summary.passed === 0, again);
  const good = await run({ testFiles: ["src/good.test.ts"] });
  says("passes", good.status === "passed" && good.summary.passed === 1, good);
  const none = await run({ filter: "no such name" });
  says("takes nothing for nothing", none.status === "no_tests" || none.status === "failed", none);
  const nothing = await run({ testFiles: "src/good.test.ts", filter: "no such name" });
  says("does not pass without a test", nothing.status === "no_tests", nothing);
  const collect = await run({ testFiles: "src/collect.test.ts" });
  says("tells a file that does not load", collect.status === "failed" && collect.fileErrors?.[0]?.file === "src/collect.test.ts", collect);
  const leak = await run({ testFiles: "src/leak.test.ts" });
  says("tells an unhandled rejection", leak.status === "failed" && /lost/.test(JSON.stringify(leak.runErrors)), leak);
  const hang = await run({ testFiles: ["src/hang.test.ts", "src/good.test.ts"], timeout: 10 });
  says("names what hangs", hang.status === "timed_out" && /src\/hang\.test\.ts/.test(JSON.stringify(hang.unfinished)), hang);
} catch (error) {
  check(`vitest ${version} does not throw`, false, String(error?.stack ?? error));
} finally {
  await client.close();
  clearTimeout(timer);
}
process.exitCode = status();
