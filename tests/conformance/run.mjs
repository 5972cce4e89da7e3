// The official conformance suite against `replay mock`: the scenarios that a server must pass, over stdio through a bridge, and
// over its own HTTP.
//
// usage: node run.mjs BINARY MANIFEST EXPECTED_FAILURES
//
// Prints one line per way and revision; exits with 1 if a scenario fails that is not expected to, or passes that is.

import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import readline from "node:readline";
import { fileURLToPath } from "node:url";

import { serve } from "./bridge.mjs";

const [binary, manifest, expected] = process.argv.slice(2).map((arg) => path.resolve(arg));
const here = path.dirname(fileURLToPath(import.meta.url));
const suite = path.join(here, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const LIMIT_MS = 120_000;

function run(args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [suite, ...args], { stdio: ["ignore", "pipe", "pipe"], timeout: LIMIT_MS });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (text += chunk));
    child.on("close", (code) => resolve({ code, text }));
  });
}

// The mock over its own HTTP, and where it is.
async function listening(args) {
  const server = spawn(binary, [...args, "--http", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
  for await (const line of readline.createInterface({ input: server.stderr })) {
    const url = line.match(/http:\/\/\S+\/mcp/);
    if (url) return { url: url[0], close: () => server.kill() };
  }
  throw new Error("the server has not said its address");
}

let failed = 0;
const mock = ["mock", "--tools-from", manifest];
const bridged = await serve([binary, ...mock, "--log-level", "error"]);
const straight = await listening(mock);
const out = fs.mkdtempSync(path.join(os.tmpdir(), "replay-conformance-"));
async function check(way, url, revision) {
  const baseline = `${expected}/${revision}.yaml`;
  const { code, text } = await run(["server", "--url", url, "--requirements", revision, "--expected-failures", baseline, "-o", out]);
  const good = code === 0;
  if (!good) failed += 1;
  console.log(`${good ? "ok  " : "FAIL"} conformance over ${way} ${revision}`);
  if (!good || process.env.VERBOSE) console.log(text);
}

for (const [way, { url, close }] of Object.entries({ stdio: bridged, http: straight })) {
  await Promise.all(["2025-11-25", "2026-07-28"].map((revision) => check(way, url, revision)));
  close();
}
fs.rmSync(out, { recursive: true, force: true });
process.exit(failed ? 1 : 0);
