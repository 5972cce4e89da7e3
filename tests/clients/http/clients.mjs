// The second generation of the official TypeScript SDK, in both of its ways to open, and the Inspector's command line drive
// the built program over HTTP.
//
// usage: node clients.mjs BINARY WALLS
//
// WALLS is what --sandbox gets.
//
// Prints one line per check; exits with 1 if one failed.

import { execFile, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import readline from "node:readline";
import { promisify } from "node:util";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

import { check, deadline, status } from "./checks.mjs";

const TOKEN = "correct horse battery staple";
const text = (result) => result.content.filter((block) => block.type === "text").map((block) => block.text).join("\n");

const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "replay-client-")));
const work = path.join(root, "work");
const secret = path.join(root, "secret.txt");
const file = path.join(work, "hello.txt");
fs.mkdirSync(work);
fs.writeFileSync(secret, "TOPSECRET");
fs.writeFileSync(file, "hello world\nsecond line\n");

const timer = deadline("clients over HTTP", 180);

const args = ["--mcp-server", "--allow", `${work}:rw`, "--sandbox", process.argv[3], "--http", "127.0.0.1:0"];
const server = spawn(path.resolve(process.argv[2]), args, {
  env: { PATH: "/usr/local/bin:/usr/bin:/bin", REPLAY_TOKEN: TOKEN },
  stdio: ["ignore", "ignore", "pipe"],
});

async function listening() {
  for await (const line of readline.createInterface({ input: server.stderr })) {
    const address = line.match(/http:\/\/\S+\/mcp/);
    if (address) return address[0];
  }
  throw new Error("the server has not said its address");
}

const address = await listening();

async function drive(way, options, revision) {
  const transport = new StreamableHTTPClientTransport(new URL(address), {
    requestInit: { headers: { Authorization: `Bearer ${TOKEN}` } },
  });
  const client = new Client({ name: "clients", version: "1" }, options);
  const call = (name, args) => client.callTool({ name, arguments: args });
  const failure = (name, args) =>
    call(name, args).then((result) => (result.isError ? text(result) : ""), (error) => error.message);
  try {
    await client.connect(transport);
    const spoken = client.getNegotiatedProtocolVersion();
    check(`${way}: speaks ${revision}`, spoken === revision, spoken);
    const tools = (await client.listTools()).tools.map((tool) => tool.name);
    check(`${way}: lists the tools`, ["read_file", "execute_command"].every((name) => tools.includes(name)), tools);
    const read = text(await call("read_file", { path: file }));
    check(`${way}: reads`, read === "hello world\nsecond line\n", read);
    await call("edit_file", { path: file, edits: [{ oldText: "hello", newText: way }] });
    check(`${way}: edits`, fs.readFileSync(file, "utf8").startsWith(`${way} world\n`), fs.readFileSync(file, "utf8"));
    fs.writeFileSync(file, "hello world\nsecond line\n");
    const run = text(await call("execute_command", { command: "echo from a shell" }));
    check(`${way}: runs`, run.includes("from a shell"), run);
    const denied = await failure("read_file", { path: secret });
    check(`${way}: says why it denies`, denied.includes(secret) && !denied.includes("TOPSECRET"), denied);
  } finally {
    await client.close();
  }
}

// The Inspector runs in the Node.js that runs this.
async function inspect(...method) {
  const program = path.join(import.meta.dirname, "node_modules/.bin/mcp-inspector");
  const header = `Authorization: Bearer ${TOKEN}`;
  const done = await promisify(execFile)(
    process.execPath,
    [program, "--cli", address, "--transport", "http", ...method, "--header", header],
    { env: { PATH: process.env.PATH, HOME: root }, cwd: root, timeout: 60_000 },
  );
  return JSON.parse(done.stdout);
}

try {
  await drive("legacy", {}, "2025-11-25");
  await drive("auto", { versionNegotiation: { mode: "auto" } }, "2026-07-28");
  const { tools } = await inspect("--method", "tools/list", "--strict");
  check("inspector lists the tools", tools.some((tool) => tool.name === "read_file"), tools);
  const read = await inspect("--method", "tools/call", "--tool-name", "read_file", "--tool-arg", `path=${file}`);
  check("inspector reads", text(read) === "hello world\nsecond line\n", read);
} catch (error) {
  check("does not throw", false, String(error?.stack ?? error) + String(error?.stderr ?? ""));
} finally {
  server.kill();
  clearTimeout(timer);
  fs.rmSync(root, { recursive: true, force: true });
}
process.exitCode = status();
