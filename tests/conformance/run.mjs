// The official conformance suite against `replay mock`, through a bridge: the scenarios that a server must pass.
//
// usage: node run.mjs BINARY MANIFEST EXPECTED_FAILURES
//
// Prints one line per revision; exits with 1 if a scenario fails that is not expected to, or passes that is.

import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
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

let failed = 0;
const { url, close } = await serve([binary, "mock", "--tools-from", manifest, "--log-level", "error"]);
const out = fs.mkdtempSync(path.join(os.tmpdir(), "replay-conformance-"));
async function check(revision) {
  const baseline = `${expected}/${revision}.yaml`;
  const { code, text } = await run(["server", "--url", url, "--requirements", revision, "--expected-failures", baseline, "-o", out]);
  const good = code === 0;
  if (!good) failed += 1;
  console.log(`${good ? "ok  " : "FAIL"} conformance ${revision}`);
  if (!good || process.env.VERBOSE) console.log(text);
}

await Promise.all(["2025-11-25", "2026-07-28"].map(check));
fs.rmSync(out, { recursive: true, force: true });
close();
process.exit(failed ? 1 : 0);
