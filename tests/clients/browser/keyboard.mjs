// The page without a mouse.

import { check } from "./checks.mjs";

// Runs inside the page. What has the focus, how well its ring stands out from what is around it (0 if there is none; WCAG 2.2,
// 1.4.11, asks for 3), and where it is among all elements.
function focused() {
  const element = document.activeElement;
  const chosen = element.id === "list" && document.getElementById(element.getAttribute("aria-activedescendant"));
  const ring = getComputedStyle(chosen || element);
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (color) => {
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const part = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    const [red, green, blue] = [...canvas.getImageData(0, 0, 1, 1).data].map(part);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  if (element === document.body) return ["the browser", 0, 0];
  const place = [...document.querySelectorAll("*")].indexOf(element);
  const name = element.id || element.textContent.trim().slice(0, 20);
  if (ring.outlineStyle === "none" || parseFloat(ring.outlineWidth) < 2) return [name, 0, place];
  const least = ["--back", "--panel", "--chosen"].map((behind) => {
    const [one, other] = [light(ring.outlineColor), light(getComputedStyle(document.body).getPropertyValue(behind))];
    return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  });
  return [name, Math.min(...least), place];
}

// All that Tab comes to, once around, with each one's ring.
async function round(page) {
  const found = [];
  for (let count = 0; count < 60; count += 1) {
    await page.keyboard.press("Tab");
    const next = await page.evaluate(focused);
    if (found.length && next[2] === found[0][2]) break;
    // Between the last and the first is the browser's own.
    if (next[2]) found.push(next);
  }
  return found;
}

// `page` shows its calls, one of which is an edit, and the first of which are files that were read.
export async function keyboard(page) {
  const has = (id) => page.evaluate((id) => document.activeElement.id === id, id);
  const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
  const selected = () => page.evaluate(() => document.querySelector("[role=tab][aria-selected=true]").id);

  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await press("Escape", "1", "g");
    await page.waitForFunction(() => document.querySelector("#list .row[aria-selected=true]"));
    const names = (await round(page)).map(([name]) => name);
    const wanted = ["Calls", "Tools", "forget", "help-button", "lanes", "tab-calls", "filter", "list"];
    const places = wanted.map((name) => names.indexOf(name));
    check(`Tab comes to all controls, ${colorScheme}`, places[0] >= 0 && places.every((place, index) => !index || place > places[index - 1]), names);
    await page.locator("#list").focus();
    await press("Space");
    await page.locator("#detail").waitFor();
    check(`Space opens a call, ${colorScheme}`, await has("detail"));
    const all = await round(page);
    const unseen = all.filter(([, contrast]) => contrast < 3);
    check(`the focus is seen everywhere, ${colorScheme}`, unseen.length === 0 && all.some(([name]) => name === "close"), all);
    await page.locator("#close").focus();
    await press("Enter");
    check(`a call closes by its button, ${colorScheme}`, (await has("list")) && !(await page.locator("#detail").isVisible()));
  }

  await page.locator("#tab-calls").focus();
  const tabs = [];
  for (const key of ["ArrowRight", "ArrowRight", "ArrowLeft", "Home", "End"]) {
    await press(key);
    const now = await page.evaluate(() => document.activeElement.id);
    await page.waitForFunction((id) => document.getElementById(id).getAttribute("aria-selected") === "true", now);
    tabs.push(await selected());
  }
  check("arrows, Home and End move among tabs", tabs.join() === "tab-sessions,tab-calls,tab-sessions,tab-calls,tab-sessions", tabs);
  await press("1");
  await page.locator("#lanes").waitFor();

  const chosen = () => page.locator("#lanes").getAttribute("aria-activedescendant");
  await page.locator("#lanes").focus();
  const bars = await page.evaluate(() => state.shown.toSorted((one, other) => other.from - one.from).map((entry) => `bar-${idOf(entry)}`));
  await press("End", "ArrowRight");
  await page.waitForFunction((id) => document.getElementById("lanes").getAttribute("aria-activedescendant") === id, bars.at(-2));
  await press("ArrowLeft");
  await page.waitForFunction((id) => document.getElementById("lanes").getAttribute("aria-activedescendant") === id, bars.at(-1));
  const name = await page.locator(`#${await chosen()}`).getAttribute("title");
  check("arrows move along the timeline, and say what is there", /^\d\d:\d\d:\d\d \S+ .*: \w+, [\d.]+ m?s$/.test(name) && (await has("lanes")), name);
  await press("Enter");
  await page.locator("#detail").waitFor();
  check("Enter opens a call of the timeline", await has("detail"));
  await press("Escape");

  for (const [open, close] of [["Enter", "Enter"], ["Space", "Escape"]]) {
    await page.locator("#help-button").focus();
    await press(open);
    const isOpen = await page.locator("#help").isVisible();
    await press(close);
    check(`help opens by ${open} and closes by ${close}`, isOpen && !(await page.locator("#help").isVisible()) && (await has("help-button")));
  }
  await page.locator("#list").focus();
}
