// What the page says of changes, and how a person undoes them there.

import fs from "node:fs";

import { check } from "./checks.mjs";

// `file` is one that is not there yet.
export async function undo(page, row, call, file) {
  const name = file.split("/").at(-1);
  const own = row(name).filter({ hasText: "write_file" });
  const listed = (count) => page.waitForFunction(([name, count]) => {
    const rows = [...document.querySelectorAll("#list .row")];
    // A call that has only begun has changed nothing yet.
    const isTold = (row) => row.textContent.includes("write_file") && row.textContent.includes(name) && row.querySelector(".note");
    return rows.filter(isTold).length === count;
  }, [name, count]);
  const told = page.locator("#detail-body section", { has: page.locator("h3", { hasText: /^Changed$/ }) });
  const press = async (accepts, says) => {
    page.once("dialog", (dialog) => (accepts ? dialog.accept() : dialog.dismiss()));
    await told.locator("button", { hasText: "Undo" }).click();
    if (says) await told.locator("pre", { hasText: says }).waitFor();
    return told.locator("pre").textContent();
  };
  await call("alice", "write_file", { path: file, content: "one\n" });
  await call("alice", "write_file", { path: file, content: "two\n" });
  await listed(2);
  const counts = await own.locator(".note").allTextContents();
  check("a row says how much its call changed", counts.join() === " — 1 edited, — 1 created", counts);
  await own.first().click();
  const before = await press(false);
  check("page asks before it undoes", /^1 edited; kept as call \d+$/.test(before) && fs.readFileSync(file, "utf8") === "two\n", before);
  fs.writeFileSync(file, "mine\n");
  const refused = await press(true, "nothing was undone");
  check("page says what stands against an undo", refused.includes(`${name}: changed after the call`) && fs.readFileSync(file, "utf8") === "mine\n", refused);
  await call("alice", "write_file", { path: file, content: "three\n" });
  await listed(3);
  await own.first().click();
  const done = await press(true, "undone; this is call");
  check("page undoes what a call changed", done.startsWith("reverted ") && fs.readFileSync(file, "utf8") === "mine\n", done);
  await page.keyboard.press("Escape");
}
