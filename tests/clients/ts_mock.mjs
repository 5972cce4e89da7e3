// The official TypeScript SDK against `replay mock`.
//
// usage: node ts_mock.mjs BINARY MANIFEST EXPECTATIONS
//
// Prints one line per check; exits with 1 if one failed.

import path from "node:path";
import process from "node:process";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

let failures = 0;

function check(what, good, seen) {
  if (!good) failures += 1;
  console.log(`${good ? "ok  " : "FAIL"} typescript mock ${what}${good ? "" : `: ${JSON.stringify(seen)}`}`);
}

const deadline = setTimeout(() => {
  console.log("FAIL typescript mock: not done within 60 s");
  process.exit(1);
}, 60_000);

const [binary, manifest, expectations] = process.argv.slice(2).map((arg) => path.resolve(arg));
const transport = new StdioClientTransport({
  command: binary,
  args: ["mock", "--tools-from", manifest, "--expect", expectations],
});
const client = new Client({ name: "ts_mock", version: "1" }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { name: "Ada" } }));
try {
  await client.connect(transport);
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  check("lists", tools.join() === "get_weather,fails,ask", tools);
  const weather = await client.callTool({ name: "get_weather", arguments: { city: "Rome" } });
  check("calls", weather.structuredContent?.city === "Rome", weather);
  const wrong = await client.callTool({ name: "get_weather", arguments: { city: 5 } }).catch((error) => error);
  check("is refused wrong arguments", wrong.code === -32602, wrong);
  const failed = await client.callTool({ name: "fails", arguments: {} });
  check("sees a failed tool", failed.isError === true, failed);
  const asked = await client.callTool({ name: "ask", arguments: {} });
  check("is asked", asked.content[0].text === "hello Ada", asked);
  const read = await client.readResource({ uri: "users://7" });
  check("reads", read.contents[0].text === "user 7", read);
  const prompt = await client.getPrompt({ name: "triage", arguments: { severity: "high" } });
  check("gets a prompt", prompt.messages[0].content.text === "Severity high.", prompt);
  await client.close();
} catch (error) {
  check("goes on", false, String(error));
}
clearTimeout(deadline);
process.exit(failures ? 1 : 0);
