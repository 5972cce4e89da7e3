// The official TypeScript SDK against `replay mock`.
//
// usage: node ts_mock.mjs BINARY MANIFEST EXPECTATIONS
//
// Prints one line per check; exits with 1 if one failed.

import path from "node:path";
import process from "node:process";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

import { check, deadline, status } from "./checks.mjs";

const timer = deadline("mock");
const [binary, manifest, expectations] = process.argv.slice(2).map((arg) => path.resolve(arg));
const transport = new StdioClientTransport({
  command: binary,
  args: ["mock", "--tools-from", manifest, "--expect", expectations],
});
const client = new Client({ name: "ts_mock", version: "1" }, { capabilities: { elicitation: {}, sampling: {}, roots: {} } });
client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { name: "Ada" } }));
client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
  const text = `${params.messages[0].content.text}? 42`;
  return { role: "assistant", content: { type: "text", text }, model: "m" };
});
client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///home/ada", name: "home" }] }));
const text = async (name, args) => (await client.callTool({ name, arguments: args })).content[0].text;
try {
  await client.connect(transport);
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  check("mock lists", tools.join() === "get_weather,fails,ask,think,where", tools);
  const weather = await client.callTool({ name: "get_weather", arguments: { city: "Rome" } });
  check("mock calls", weather.structuredContent?.city === "Rome", weather);
  const wrong = await client.callTool({ name: "get_weather", arguments: { city: 5 } }).catch((error) => error);
  check("mock is refused wrong arguments", wrong.code === -32602, wrong);
  const failed = await client.callTool({ name: "fails", arguments: {} });
  check("mock sees a failed tool", failed.isError === true, failed);
  const asked = await text("ask", {});
  check("mock is asked", asked === "hello Ada", asked);
  const thought = await text("think", { about: "life" });
  check("mock samples", thought === "m says life? 42", thought);
  const where = await text("where", {});
  check("mock tells its roots", where === "at file:///home/ada", where);
  const updated = new Promise((resolve) => {
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri));
  });
  await client.subscribeResource({ uri: "file:///w/log" });
  check("mock hears of an update", (await updated) === "file:///w/log");
  const log = await client.readResource({ uri: "file:///w/log" });
  check("mock reads it", log.contents[0].text === "two", log);
  const read = await client.readResource({ uri: "users://7" });
  check("mock reads", read.contents[0].text === "user 7", read);
  const prompt = await client.getPrompt({ name: "triage", arguments: { severity: "high" } });
  check("mock gets a prompt", prompt.messages[0].content.text === "Severity high.", prompt);
  await client.close();
} catch (error) {
  check("mock goes on", false, String(error));
}
clearTimeout(timer);
process.exit(status());
