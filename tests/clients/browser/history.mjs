// What the page says of calls that failed, of more calls than it has loaded, and of a server that ends and begins anew.

import fs from "node:fs";

import { check } from "./checks.mjs";

const text = (page, id) => page.locator(`#${id}`).innerText();

// Why a call failed, and what a command does whose call is open. `file` is one that ends it.
export async function causes(page, row, call, file) {
  await call("alice", "execute_command", { command: "true seven; exit 7" });
  await call("alice", "execute_command", { command: "true slow; sleep 9", timeout: 1 });
  await call("alice", "execute_command", { command: "true killed; kill -9 $$" });
  await call("alice", "read_file", { path: `${file}.none` });
  const told = {};
  for (const [what, why] of [["true seven", "exit code: 7"], ["true slow", "timed out after 1 s"], ["true killed", "ended by signal 9"], ["still.none", "does not exist"]]) {
    // A row is there before its call ends.
    const reason = row(what).first().locator(".subject", { hasText: new RegExp(`(^| \u2014 )[^\u2014]*${why}`) });
    told[what] = await reason.waitFor().then(() => true, () => false);
  }
  check("a row says why its call failed", Object.values(told).every(Boolean), told);
  await row("true seven").click();
  await page.locator("#detail-outcome", { hasText: "exit code: 7" }).waitFor();
  check("an open call says first why it failed", true);
  await page.keyboard.press("Escape");

  await page.locator("#filter").fill(">0.9s");
  await page.waitForFunction(() => document.getElementById("tab-calls").textContent.includes(" of "));
  await row("true slow").waitFor();
  const slow = await page.evaluate(() => state.shown.every(({ from, to }) => to - from > 900));
  check("the filter finds what took long", slow);
  await page.locator("#filter").fill("is:foo");
  await page.getByText("There is no is:foo; there are is:running, is:ok, is:failed").waitFor();
  await page.locator("#filter").press("Escape");
  await page.waitForFunction(() => document.getElementById("filter").value === "" && document.activeElement.id !== "filter");
  check("Escape empties the filter and leaves it", true);

  await call("alice", "execute_command", { command: `until [ -e ${file} ]; do echo on; sleep 0.2; done`, background: true });
  await row("do echo on").locator(".running").waitFor();
  await row("do echo on").click();
  const output = async () => Number((await text(page, "detail-outcome")).match(/^running, .* (\d+) bytes of output$/)?.[1] ?? -1);
  await page.waitForFunction(() => /^running, .* \d+ bytes of output$/.test(document.getElementById("detail-outcome").innerText));
  const before = await output();
  const goesOn = page.waitForFunction((before) => Number(document.getElementById("detail-outcome").innerText.match(/(\d+) bytes/)?.[1]) > before, before);
  check("an open command that runs on shows how much it has written", before >= 0 && await goesOn.then(() => true, () => false), before);
  const running = await page.evaluate(() => ({ title: document.title, last: stretches(state.shown, []).at(-1), now: state.now }));
  check("the title says what runs", /^1 running, \d+ failed \u2013 replay$/.test(running.title), running.title);
  check("nothing is idle beside what runs", running.last.from < running.last.to && running.last.to === running.now, running);
  fs.writeFileSync(file, "");
  await row("do echo on").locator(".ok").waitFor();
  await page.keyboard.press("Escape");
}

// A refusal behind more calls than a page of them.
export async function burst(page, call, file) {
  await call("alice", "read_file", { path: "/etc/hidden" });
  for (let from = 0; from < 250; from += 25) {
    await Promise.all(Array.from({ length: 25 }, () => call("alice", "read_file", { path: file })));
  }
  await page.reload();
  await page.locator("#list .row").first().waitFor();
  const facts = (await text(page, "facts")).replace(/\s+/g, " ");
  check("the header says that it does not know all", facts.includes("0+ denied") && facts.includes("200+ calls"), facts);
  await page.locator("#facts button", { hasText: "denied" }).click();
  await page.locator("#list .row", { hasText: "/etc/hidden" }).waitFor();
  check("the filter finds what is older", true);
  await page.keyboard.press("Escape");
  await page.locator("#lanes .bar.ok").first().waitFor();
  const over = await page.evaluate(() => ["denied", "ok"].map((kind) => Number(getComputedStyle(document.querySelector(`.bar.${kind}`)).zIndex)));
  check("what was refused is drawn above what was not", over[0] > over[1], over);
}

// `server` is killed, and another one begun by `begin`, of which `anew` reads a file.
export async function restart(page, call, server, begin, anew) {
  const row = (text) => page.locator("#list .row", { hasText: text });
  await call("alice", "execute_command", { command: "sleep 500", background: true });
  await call("alice", "execute_command", { command: "echo boom; exit 3", background: true });
  await row("sleep 500").locator(".running").waitFor();
  await row("echo boom").locator(".failed").waitFor();
  const whileCallRuns = await page.evaluate(() => {
    const call = [...state.calls.values()].find((call) => call.subject === "sleep 500");
    state.calls.set(call.id, { ...call, state: "running", background: undefined, outcome: undefined, durationMs: undefined });
    const rows = calls().filter((call) => call.subject === "sleep 500").map(({ key, kind, id }) => [key, kind, id === undefined]);
    state.calls.set(call.id, call);
    return rows;
  });
  check("a call that runs and its background command are one row", whileCallRuns.length === 1 && whileCallRuns[0][1] === "running" && !whileCallRuns[0][2], whileCallRuns);
  const dead = new Promise((done) => server.once("exit", done));
  server.kill("SIGKILL");
  await dead;
  const standing = row("sleep 500").locator(".outcome");
  await page.waitForFunction(() => document.body.classList.contains("lost"));
  const [told, took] = [await standing.textContent(), await row("sleep 500").locator(".took").textContent()];
  check("without a server the page says until when it knew", /^last known \d\d:\d\d:\d\d$/.test(told), told);
  // Longer than what would count on does so by.
  await page.waitForFunction((from) => performance.now() - from > 1500, await page.evaluate(() => performance.now()));
  const later = await row("sleep 500").locator(".took").textContent();
  check("and counts no further", later === took, [took, later]);
  await begin();
  await page.locator("#connection[data-state=live]").waitFor({ timeout: 40000 });
  await anew("/etc/anew");
  await row("/etc/anew").waitFor();
  const ends = await Promise.all(["sleep 500", "echo boom"].map((text) => row(text).locator(".outcome").textContent()));
  check("another run of the server leaves ends as they were", ends[0] === "ended with the server" && /^failed, ended /.test(ends[1]), ends);
  const marks = await page.evaluate(() => [document.querySelectorAll("#lanes .restart").length, document.getElementById("ticks").innerText]);
  check("the timeline has a mark where the server began anew", marks[0] > 0 && /restart \d\d:\d\d:\d\d/.test(marks[1]), marks);
}
