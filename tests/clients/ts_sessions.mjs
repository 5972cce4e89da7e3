// A data analysis in Python sessions, with the official TypeScript SDK over stdio.
//
// usage: node ts_sessions.mjs BINARY WALLS LIBRARIES
//
// WALLS is what --sandbox gets, LIBRARIES what `pip install --target` was given: matplotlib.
//
// Prints one line per check; exits with 1 if one failed.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

import { check, deadline, status } from "./checks.mjs";

const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "replay-client-")));
const work = path.join(root, "work");
fs.mkdirSync(work);
fs.writeFileSync(path.join(work, "data.csv"), "value\n1\n2\n3\n");

const timer = deadline("sessions", 200);
const [binary, walls, libraries] = process.argv.slice(2);
const transport = new StdioClientTransport({
  command: path.resolve(binary),
  args: ["--mcp-server", "--allow", `${work}:rw`, "--allow", path.resolve(libraries), "--tools", "files,python", "--sandbox", walls],
});
const client = new Client({ name: "ts_sessions", version: "1" });
const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, { timeout: 120_000, ...options });
const run = async (code, more = {}, options) => {
  const result = await call("run_python_code", { code, session_id: "analysis", ...more }, options);
  return { result, ran: result.structuredContent };
};
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
try {
  await client.connect(transport);
  // Its output is then checked against the schemas by the SDK.
  await client.listTools();
  const environment = [`PYTHONPATH=${path.resolve(libraries)}`];
  const made = (await call("create_session", { session_id: "analysis", environment })).structuredContent;
  check("makes a session", made.status === "created", made);
  let { result, ran } = await run("values = [int(line) for line in open('data.csv').readlines()[1:]]\nprint(len(values))");
  check("prints", same([ran.stdout, ran.stderr, ran.outputs, ran.new_files], ["3\n", "", [], []]), ran);
  ({ ran } = await run("sum(values)"));
  check("keeps variables", ran.result === "6", ran);

  ({ result, ran } = await run("import matplotlib.pyplot as plt\nplt.plot(values)\nplt.show()", { timeout: 100 }));
  const images = result.content.filter((block) => block.type === "image");
  check("draws", images.length === 1 && images[0].mimeType === "image/png", ran);
  const picture = Buffer.from(images[0]?.data ?? "", "base64");
  check("keeps the picture", ran.outputs.length === 1 && picture.equals(fs.readFileSync(path.join(work, ran.outputs[0]))), ran);
  ({ ran } = await run("open('report.txt', 'w').write('6')\nopen('data.csv', 'a').write('4\\n')\nNone"));
  check("tells files", same([ran.new_files, ran.modified_files], [["report.txt"], ["data.csv"]]), ran);

  ({ result, ran } = await run("1 / 0"));
  const told = ran.error?.name === "ZeroDivisionError" && ran.error.traceback.includes("<cell ");
  check("tells an error", result.isError === true && told, ran);
  ({ ran } = await run("import time\nprint('on')\ntime.sleep(60)", { timeout: 1 }));
  check("ends at the timeout", ran.timed_out && !ran.state_lost && ran.stdout === "on\n", ran);
  ({ ran } = await run("values[0]"));
  check("keeps variables over a timeout", ran.result === "1", ran);

  const reports = [];
  const onprogress = (progress) => reports.push(progress.message ?? "");
  await run("import time\nfor n in range(4):\n    print('step', n)\n    time.sleep(0.3)", {}, { onprogress });
  check("reports output while it runs", reports.join("").includes("step 1"), reports);

  const endless = run("while True: pass", { timeout: 100 });
  let health = { busy: false };
  while (!health.busy) health = (await call("get_kernel_health", { session_id: "analysis" })).structuredContent;
  await call("interrupt_session", { session_id: "analysis" });
  ({ ran } = await endless);
  check("interrupts", ran.error?.name === "KeyboardInterrupt", ran);
  const completed = (await call("code_completion", { code: "values.app", cursor_pos: 10, session_id: "analysis" })).structuredContent;
  check("completes", same([completed.matches, completed.cursor_start, completed.cursor_end], [["append"], 7, 10]), completed);
  const found = (await call("inspect_object", { code: "values", cursor_pos: 6, session_id: "analysis" })).structuredContent;
  check("inspects", found.found === true && found.data["text/plain"].includes("list"), found);
} catch (error) {
  check("does not throw", false, String(error?.stack ?? error));
} finally {
  await client.close();
  clearTimeout(timer);
  fs.rmSync(root, { recursive: true, force: true });
}
process.exitCode = status();
