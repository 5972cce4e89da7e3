// The official TypeScript SDK drives the built program.
//
// usage: node ts_client.mjs BINARY WALLS WAY
//
// WALLS is what --sandbox gets; WAY is `stdio` or `http`.
//
// Prints one line per check; exits with 1 if one failed.

import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import readline from "node:readline";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { check, deadline, status } from "./checks.mjs";

const text = (result) => result.content.filter((block) => block.type === "text").map((block) => block.text).join("\n");

const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "replay-client-")));
const work = path.join(root, "work");
const secret = path.join(root, "secret.txt");
const file = path.join(work, "hello.txt");
fs.mkdirSync(work);
fs.writeFileSync(secret, "TOPSECRET");
fs.writeFileSync(file, "hello world\nsecond line\n");

const timer = deadline("client");

const walls = process.argv[3];
const command = path.resolve(process.argv[2]);
const args = ["--mcp-server", "--allow", `${work}:rw`, "--sandbox", walls];
const overHttp = process.argv[4] === "http";

// The server over HTTP, and the address that it says.
async function listening() {
  const server = spawn(command, [...args, "--http", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
  for await (const line of readline.createInterface({ input: server.stderr })) {
    const address = line.match(/http:\/\/\S+\/mcp/);
    if (address) return { server, address: new URL(address[0]) };
  }
  throw new Error("the server has not said its address");
}

const { server, address } = overHttp ? await listening() : {};
const transport = overHttp ? new StreamableHTTPClientTransport(address) : new StdioClientTransport({ command, args });
const client = new Client({ name: "ts_client", version: "1" });
const call = (name, args) => client.callTool({ name, arguments: args });
try {
  await client.connect(transport);
  check("connects", client.getServerVersion()?.name === "replay", client.getServerVersion());

  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  const wanted = ["read_file", "edit_file", "grep_files", "execute_command"];
  check("lists the tools", wanted.every((name) => tools.includes(name)), tools);

  const read = text(await call("read_file", { path: file }));
  check("reads", read === "hello world\nsecond line\n", read);
  await call("edit_file", { path: file, edits: [{ oldText: "hello", newText: "goodbye" }] });
  const edited = fs.readFileSync(file, "utf8");
  check("edits", edited === "goodbye world\nsecond line\n", edited);
  const grep = text(await call("grep_files", { directory: work, regex: "^second" }));
  check("searches", grep.includes(`${file}:2:second line`), grep);
  const run = text(await call("execute_command", { command: "echo from a shell; pwd" }));
  check("runs", run.includes("from a shell") && run.includes(work), run);
  const failed = await call("execute_command", { command: "exit 3" });
  check("tells a failed command", failed.isError === true, failed);

  const kept = text(await call("execute_command", { command: `cat ${secret}` }));
  check("keeps commands inside", walls === "off" || !kept.includes("TOPSECRET"), kept);

  const denied = await call("read_file", { path: secret }).then(
    (result) => ({ code: undefined, message: text(result) }),
    (error) => ({ code: error.code, message: error.message }),
  );
  const honest = denied.message.includes(secret) && !denied.message.includes("TOPSECRET");
  check("says why it denies", denied.code === -32001 && honest, denied);
} catch (error) {
  check("does not throw", false, String(error?.stack ?? error));
} finally {
  if (overHttp) await transport.terminateSession();
  await client.close();
  server?.kill();
  clearTimeout(timer);
  fs.rmSync(root, { recursive: true, force: true });
}
process.exitCode = status();
