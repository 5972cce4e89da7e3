// A browser drives the page of the built program.
//
// usage: node page.mjs BINARY WALLS CHROMIUM [PICTURE ROOT]
//
// WALLS is what --sandbox gets. A picture of the page is written to PICTURE, of work below ROOT, an empty directory.
//
// Prints one line per check; exits with 1 if one failed.

import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import readline from "node:readline";

import { chromium } from "playwright-core";

import { check, deadline, status } from "./checks.mjs";
import { faint } from "./contrast.mjs";
import { burst, causes, restart } from "./history.mjs";
import { keyboard } from "./keyboard.mjs";
import { undo } from "./undo.mjs";

const [, , binary, walls, browserPath, picture, place] = process.argv;
const command = path.resolve(binary);
const root = fs.realpathSync(place ?? fs.mkdtempSync(path.join(os.tmpdir(), "replay-page-")));
const app = path.join(root, "shop");
const notes = path.join(root, "notes");
const timer = deadline("page", 180);

fs.mkdirSync(path.join(app, "src"), { recursive: true });
fs.mkdirSync(notes);
const source = "def total(items):\n    result = 0\n    for item in items:\n        result += item.price\n    return result\n";
fs.writeFileSync(path.join(app, "src/cart.py"), source);
const go = path.join(app, "go");
fs.writeFileSync(path.join(app, "build.sh"), "echo building\nwhile [ ! -e go ]; do sleep 0.05; done\necho built\n");
fs.writeFileSync(path.join(notes, "plan.md"), "# Plan\n\n- totals with quantities\n");

function token(name, ...more) {
  const text = execFileSync(command, ["token", "new", name, ...more], { encoding: "utf8" });
  const [secret, line] = text.split("\n");
  fs.appendFileSync(path.join(root, "tokens.jsonl"), `${line}\n`);
  return secret;
}

const tokens = {
  alice: token("alice", "--own", `${app}:rw`, "--operator"),
  bob: token("bob", "--own", notes, "--own-tools", "files"),
};

async function listening(address = "127.0.0.1:0") {
  const args = ["--mcp-server", "--http", address, "--token-file", path.join(root, "tokens.jsonl"), "--rate-limit", "0"];
  const started = spawn(command, [...args, "--sandbox", walls], { stdio: ["ignore", "ignore", "pipe"] });
  for await (const line of readline.createInterface({ input: started.stderr })) {
    const address = line.match(/(http:\/\/[^/\s]+)\/mcp/);
    if (address) return [started, address[1]];
  }
  throw new Error("the server has not said its address");
}

let [server, origin] = await listening();

let lastId = 0;
async function rpc(who, method, params, session) {
  const headers = { Authorization: `Bearer ${tokens[who]}`, "Content-Type": "application/json", Accept: "application/json" };
  if (session) headers["Mcp-Session-Id"] = session;
  lastId += 1;
  const body = JSON.stringify({ jsonrpc: "2.0", id: lastId, method, params });
  const reply = await fetch(`${origin}/mcp`, { method: "POST", headers, body });
  return { session: reply.headers.get("mcp-session-id"), reply: await reply.json() };
}

const { session } = await rpc("alice", "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "page", version: "1" } });
const call = (who, name, args) => rpc(who, "tools/call", { name, arguments: args }, who === "alice" ? session : undefined);

const hostile = "<img src=x onerror=\"window.owned=1\"><script>window.owned=1</script>";
const cart = path.join(app, "src/cart.py");

// What an agent does on an ordinary day.
async function work() {
  await call("alice", "list_directory", { path: app });
  await call("alice", "read_file", { path: cart });
  await call("bob", "read_file", { path: path.join(notes, "plan.md") });
  await call("alice", "grep_files", { directory: app, regex: "def \\w+\\(" });
  await call("bob", "read_file", { path: cart });
  await call("alice", "read_file", { path: "/etc/shadow" });
  await call("alice", "write_file", {
    path: path.join(app, "src/check_cart.py"),
    content: "from types import SimpleNamespace as Item\n\nfrom cart import total\n\nassert total([Item(price=3, quantity=2)]) == 6\nprint('all is well')\n",
  });
  await call("alice", "execute_command", { command: "cd src && cat check_cart.py | wc -l && test -e missing.py" });
  await call("alice", "edit_file", { path: cart, edits: [{
    oldText: "    for item in items:\n        result += item.price\n",
    newText: "    for item in items:\n        # A line of an order stands for several pieces.\n        result += item.price * item.quantity\n",
  }] });
}

// And on others.
async function mischief() {
  await call("alice", "execute_command", { command: `printf '%s\\n' '${hostile}'; printf '\\033[31mred \\342\\200\\256gnp.exe\\n'` });
  await call("alice", hostile, { [hostile]: hostile });
}
await work();

// A command that runs on behind its call is shown as what it is, to its end.
async function follows(page, row) {
  const on = path.join(app, "on");
  await call("alice", "execute_command", { command: "while [ ! -e on ]; do sleep 0.05; done; exit 3", background: true });
  const one = row("! -e on");
  await one.locator(".running").waitFor();
  const running = await one.locator(".outcome").textContent();
  check("page shows a background command as running", running === "running", running);
  fs.writeFileSync(on, "");
  await one.locator(".failed").waitFor();
  const [ended, about] = await Promise.all([".outcome", ".subject"].map((part) => one.locator(part).textContent()));
  check("page shows how a background command ended, and when", /^failed, ended \d\d:\d\d:\d\d$/.test(ended) && about.endsWith("exit code 3"), [ended, about]);
  const seen = await page.evaluate(() => ({
    rows: [...document.querySelectorAll("#list .row")].map((row) => row.dataset.key).sort(),
    bars: [...document.querySelectorAll("#lanes .bar")].map((bar) => bar.dataset.key).sort(),
    counts: [document.querySelector("#facts b").textContent, document.querySelector("#tab-calls span").textContent],
    clocks: document.getElementById("timeline").innerText.match(/\d+:\d\d(:\d\d)?( [AP]M)?/g).concat([...document.querySelectorAll("#list .time")].map((time) => time.textContent)),
    hidden: [...document.querySelectorAll("#lanes .bar")].filter((bar) => { const { x, width, right } = bar.getBoundingClientRect(); return width < 3 || x < 0 || right > innerWidth; }).length,
  }));
  check("timeline has a bar for each call of the list", seen.rows.length === 11 && seen.bars.join() === seen.rows.join() && seen.hidden === 0, seen);
  check("page counts as many calls as it lists", seen.counts.every((count) => count === "11"), seen.counts);
  check("page has one clock", seen.clocks.every((clock) => /^\d\d:\d\d:\d\d$/.test(clock)), seen.clocks);
}

// The pages of a server look alike, and lead to each other.
async function pages(page) {
  const look = () => page.evaluate(() => ["background-color", "color", "font-family"].map((name) => getComputedStyle(document.body)[name]));
  const here = await look();
  await page.locator("nav a", { hasText: "Tools" }).click();
  await page.locator("#read_file").waitFor();
  const there = await look();
  await page.locator("nav a", { hasText: "Calls" }).click();
  await page.locator("#list .row").first().waitFor();
  await page.locator("#connection[data-state=live]").waitFor();
  check("the page of tools looks like the page, and leads back", there.join() === here.join(), [here, there]);
}

const browser = await chromium.launch({ executablePath: browserPath, args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
const faults = [];
const asked = [];
try {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: "light" });
  context.setDefaultTimeout(15000);
  await context.addInitScript(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
  });
  const page = await context.newPage();
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) faults.push(message.text()); });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("request", (request) => asked.push(request.url()));
  const rows = page.locator("#list .row");
  const row = (text) => rows.filter({ hasText: text });
  const body = page.locator("#detail-body");

  await page.goto(`${origin}/`);
  await page.locator("#token").waitFor();
  check("page asks for a token", asked.every((url) => new URL(url).pathname === "/"), asked);
  await page.locator("#token").fill("rpl_wrong");
  await page.keyboard.press("Enter");
  await page.getByText("the token is unknown or was revoked").waitFor();
  check("page tells a wrong token", !(await page.locator("#main").isVisible()));
  // The browser itself says the status of a reply.
  check("page has no other fault with it", faults.length === 1 && faults[0].includes("401"), faults);
  faults.length = 0;

  await page.locator("#token").fill(tokens.bob);
  await page.keyboard.press("Enter");
  await rows.first().waitFor();
  const own = await rows.locator(".client").allTextContents();
  check("page shows a tenant its own calls", own.length === 2 && own.every((name) => name === "bob"), own);
  check("page shows a tenant its own directories", (await page.locator("#places").innerText()).includes(notes) && !(await page.locator("#places").innerText()).includes(app));
  await page.locator("#forget").click();
  await page.locator("#token").fill(tokens.alice);
  await page.keyboard.press("Enter");
  await row("plan.md").waitFor();
  check("page shows an operator all calls", (await rows.count()) === 9, await rows.allTextContents());
  await page.locator("#connection[data-state=live]").waitFor();

  const running = call("alice", "execute_command", { command: "sh build.sh", workdir: app });
  await row("sh build.sh").locator(".running").waitFor();
  await row("bytes of output").waitFor();
  check("page shows what runs first, and how far it is", (await rows.first().textContent()).includes("sh build.sh"));
  const moving = () => page.evaluate(() => document.getAnimations().length);
  const before = await moving();
  await page.emulateMedia({ reducedMotion: "reduce" });
  check("page holds still when asked to", before === 1 && (await moving()) === 0, before);
  await page.emulateMedia({ reducedMotion: "no-preference" });
  if (picture) {
    await page.setViewportSize({ width: 1360, height: 820 });
    await row("edit_file").click();
    await body.locator(".line.add").first().waitFor();
    await page.screenshot({ path: picture });
    await page.keyboard.press("Escape");
  }
  fs.writeFileSync(go, "");
  await running;
  await row("sh build.sh").locator(".ok").waitFor();
  await page.locator("#facts .running").waitFor({ state: "detached" });
  check("page shows that it has ended", true);
  await follows(page, row);

  await page.keyboard.press("/");
  await page.keyboard.type("tool:edit");
  await page.waitForFunction(() => document.querySelectorAll("#list .row").length === 1);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await body.locator(".line.add").first().waitFor();
  const lines = await body.locator("pre .line").allTextContents();
  check("page shows an edit as a difference", JSON.stringify(lines) === JSON.stringify([
    "     for item in items:", "-        result += item.price", "+        # A line of an order stands for several pieces.",
    "+        result += item.price * item.quantity",
  ]), lines);
  check("page moves the focus to what was opened", await page.evaluate(() => document.activeElement.id === "detail"));
  await page.keyboard.press("Escape");
  check("page closes on Escape", !(await page.locator("#detail").isVisible()));
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.querySelectorAll("#list .row").length === 11);

  const drawn = await page.locator("#list .row").evaluateAll((all) => all.map((row) => row.id));
  const moves = [];
  for (const [key, at] of [["g", 0], ["j", 1], ["k", 0]]) {
    await page.keyboard.press(key);
    // What is drawn follows a key with the next frame.
    const seen = page.waitForFunction((id) => document.querySelector("#list .row[aria-selected=true]")?.id === id, drawn[at]);
    moves.push(await seen.then(() => page.locator("#list").getAttribute("aria-activedescendant"), () => null));
  }
  check("page moves by keys", drawn.length === 11 && moves.join() === [drawn[0], drawn[1], drawn[0]].join(), moves);
  await page.keyboard.press("?");
  check("page helps, and names the time zone", /Times are those of this browser: \S+\./.test(await page.locator("#help").innerText()));
  await page.keyboard.press("Escape");

  for (const word of ["failed", "denied", "ok"]) {
    const button = page.locator("#facts button", { hasText: word });
    await button.click();
    await page.waitForFunction((word) => document.getElementById("filter").value === `is:${word}` && document.querySelector("#facts [aria-pressed=true]")?.textContent.endsWith(word), word);
    const told = await rows.locator(".outcome").allTextContents();
    const count = await button.locator("b").textContent();
    check(`page counts what is ${word}, and lists it`, told.length === Number(count) && told.length > 0 && told.every((text) => text.startsWith(word)), [count, told]);
    await button.click();
  }
  await page.keyboard.press("2");
  await row("2025-11-25").waitFor();
  check("page shows sessions without their names", (await rows.count()) === 1 && !(await page.content()).includes(session));
  await page.keyboard.press("1");

  await mischief();
  await row("printf").click();
  const told = await body.locator("section", { has: page.locator("h3", { hasText: /^Reply$/ }) }).locator("pre").textContent();
  check("page shows output as text", told.includes(`${hostile}\n\\u{1b}[31mred \\u{202e}gnp.exe`), told);
  await row("window.owned").filter({ hasText: "invalid" }).click();
  await page.locator("#detail-title", { hasText: hostile }).waitFor();
  const owned = await page.evaluate(() => [window.owned, document.querySelectorAll("img").length, document.scripts.length]);
  check("page makes nothing of what agents write", JSON.stringify(owned) === "[null,0,1]", owned);

  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const [what, show] of [
      ["calls", () => page.keyboard.press("1")],
      ["an edit", () => row("edit_file").click().then(() => body.locator(".line.del").waitFor())],
      ["help", () => page.keyboard.press("?")],
    ]) {
      await show();
      const unreadable = await page.evaluate(faint);
      check(`page is readable, ${colorScheme}, ${what}`, unreadable.length === 0, unreadable);
    }
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
  }

  await causes(page, row, call, path.join(app, "still"));

  await undo(page, row, call, path.join(app, "undone.txt"));

  await keyboard(page);

  await pages(page);

  const calls = async () => Number((await page.locator("#facts").innerText()).match(/(\d+) calls/)[1]);
  const counted = await calls();
  await call("alice", "list_directory", { path: app });
  // Well before the page would look again by itself.
  const heard = page.waitForFunction((count) => document.querySelector("#facts b").textContent === String(count), counted + 1, { timeout: 4000 });
  check("page counts a call soon", await heard.then(() => true, () => false), counted);
  const file = path.join(root, "tokens.jsonl");
  const chips = page.locator("#places");
  const facts = await chips.innerText();
  check("page says as a fact that a token has no commands", facts.includes("bob\ntools without commands") && !facts.includes("refused"), facts);
  const wasThere = (await chips.innerText()).includes(notes);
  fs.writeFileSync(file, `${fs.readFileSync(file, "utf8").split("\n")[0]}\n`);
  server.kill("SIGHUP");
  await page.waitForFunction((gone) => !document.getElementById("places").innerText.includes(gone), notes);
  const kept = await chips.innerText();
  check("page forgets where a revoked token could go", wasThere && kept.includes(app) && !kept.includes("bob"), kept);

  await page.setViewportSize({ width: 375, height: 720 });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  check("page fits a phone", wide <= 375, wide);
  await row("edit_file").click();
  const isAlone = !(await page.locator("#panel").isVisible()) && (await page.locator("#detail").isVisible());
  check("page shows one thing at a time on a phone", isAlone);
  await page.locator("#close").click();

  check("page asks nobody else", asked.every((url) => new URL(url).origin === origin), asked);
  check("page breaks no rule", (await page.evaluate(() => window.violations.length)) === 0, await page.evaluate(() => window.violations));
  check("page has no fault", faults.length === 0, faults);

  await page.setViewportSize({ width: 1280, height: 800 });
  await burst(page, call, cart);
  await restart(page, call, server, async () => {
    [server] = await listening(new URL(origin).host);
  }, (path) => rpc("alice", "tools/call", { name: "read_file", arguments: { path } }));
  await context.close();
} catch (error) {
  check("page does not throw", false, [String(error?.stack ?? error), faults]);
} finally {
  await browser.close();
  server.kill();
  clearTimeout(timer);
  if (!place) fs.rmSync(root, { recursive: true, force: true });
}
process.exitCode = status();
