"use strict";
// Data from the server may be written by an agent: it becomes text, never markup.

const MOST_KEPT = 2000;
const LOOK_MS = 2000;
const LOOK_AGAIN_MS = 1000;
const SILENCE_MS = 45000;
const OUTCOMES = ["ok", "failed", "denied", "invalid", "cancelled", "gave_up", "panicked", "silent"];
const KINDS = ["running", ...OUTCOMES, "lost"];
const TABS = ["calls", "sessions"];

const at = (id) => document.getElementById(id);
const state = {
  token: sessionStorage.getItem("token") ?? "",
  tab: "calls", filter: "", chosen: null, open: null, shown: [],
  calls: new Map(), before: null, about: null, position: null, run: 0, whole: null, pointed: null,
  // Calls of earlier runs of the server, start times of later runs, and the time of the last data.
  past: [], restarts: [], heard: 0, isLost: false, now: Date.now(),
};

// --- text

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

// Nodes of a text in which invisible and bidirectional control characters are escaped; in a line, line ends as well.
function shown(text, isLine = true) {
  const nodes = [];
  let from = 0;
  for (const match of String(text).matchAll(HIDDEN)) {
    const sign = match[0];
    if (sign === "\t" || sign === "\ufe0f" || (sign === "\n" && !isLine)) continue;
    if (match.index > from) nodes.push(text.slice(from, match.index));
    const code = sign.codePointAt(0);
    const word = { 10: "\\n", 13: "\\r" }[code] ?? `\\u{${code.toString(16)}}`;
    nodes.push(make("span", { class: "escape" }, word));
    from = match.index + sign.length;
  }
  if (from < String(text).length) nodes.push(String(text).slice(from));
  return nodes;
}

function make(name, attributes = {}, ...inside) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...inside.flat());
  return element;
}

const two = (number) => String(number).padStart(2, "0");

const midnight = () => new Date().setHours(0, 0, 0, 0);

// A time of day, with its date unless that is today.
function clock(when) {
  const date = new Date(when);
  if (Number.isNaN(date.getTime())) return "";
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  return date >= midnight() ? time : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
}

function span(ms) {
  if (!Number.isFinite(ms)) return "";
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${two(Math.floor(seconds / 60) % 60)} m`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor(seconds / 3600) % 24} h`;
}

function size(bytes) {
  if (!Number.isFinite(bytes)) return "";
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

// --- the server

function ask(path, more = {}) {
  const headers = { ...more.headers };
  if (state.token) headers.Authorization = `Bearer ${state.token}`;
  return fetch(path, { ...more, headers, cache: "no-store", credentials: "omit", redirect: "error" });
}

class Refused extends Error {}

async function json(path, more) {
  const reply = await ask(path, more);
  if (reply.status === 401) {
    const told = await reply.json().catch(() => ({}));
    throw new Refused(told.error?.message ?? "the token is not known");
  }
  if (!reply.ok) {
    const told = await reply.json().catch(() => ({}));
    throw new Error(told.error?.message ?? `the server answers ${reply.status}`);
  }
  return reply.json();
}

function connection(kind, text) {
  const place = at("connection");
  if (place.dataset.state !== kind) place.dataset.state = kind;
  if (at("connection-text").textContent !== text) at("connection-text").textContent = text;
}

function lose(text) {
  state.isLost = true;
  connection("lost", text);
  draw();
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

function take(call) {
  if (!Number.isSafeInteger(call?.id)) return;
  state.calls.set(call.id, call);
  if (state.calls.size > MOST_KEPT) state.calls.delete(Math.min(...state.calls.keys()));
}

const hasOlder = () => state.before !== null && state.calls.size < MOST_KEPT;

let isAsking = false;
async function older() {
  if (isAsking) return;
  isAsking = true;
  const { run } = state;
  try {
    const page = await json(`activity?before=${state.before}`);
    if (run === state.run) {
      page.calls.forEach(take);
      state.before = page.before;
      about(page);
    }
  } catch {
    // The event stream reports the failure.
  }
  isAsking = false;
}

// Loads the whole page: at the start, and after missed events.
async function load() {
  const page = await json("activity");
  const [was, is] = [state.position, page.position].map((position) => position?.split("-")[0]);
  if (was && was !== is) bury(page);
  state.isLost = false;
  for (const call of state.calls.values()) if (call.state === "running") state.calls.delete(call.id);
  page.calls.forEach(take);
  page.running.forEach(take);
  state.before = page.before;
  state.position = page.position;
  about(page);
}

function about(page) {
  state.about = page;
  state.heard = Date.now();
  draw();
}

async function follow(run) {
  const stop = new AbortController();
  state.heard = Date.now();
  const watch = setInterval(() => {
    if (Date.now() - state.heard > SILENCE_MS || run !== state.run) stop.abort();
  }, 1000);
  try {
    const headers = state.position ? { "Last-Event-ID": state.position } : {};
    const reply = await ask("activity/stream", { headers, signal: stop.signal });
    if (reply.status === 401) throw new Refused("the token is not known any more");
    if (!reply.ok) throw new Error(`the server answers ${reply.status}`);
    connection("live", "live");
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done || run !== state.run) return;
      state.heard = Date.now();
      text += value;
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        await hear(text.slice(0, end));
        text = text.slice(end + 2);
      }
    }
  } finally {
    clearInterval(watch);
    stop.abort();
  }
}

async function hear(event) {
  const fields = {};
  for (const line of event.split("\n")) {
    const colon = line.indexOf(": ");
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
  }
  if (!fields.event) return;
  if (fields.event === "gap") {
    await load();
    return;
  }
  if (fields.event !== "call") return;
  const call = JSON.parse(fields.data);
  // The state of its background command comes with the tenants, not with the call.
  if (call.background) state.about = await json("activity?limit=0");
  take(call);
  state.position = fields.id;
  if (state.open === keyOf(call)) detail(call);
  draw();
  look();
}

async function connect() {
  const run = ++state.run;
  let wait = 1000;
  while (run === state.run) {
    try {
      connection("idle", "connecting");
      await load();
      gate(false);
      wait = 1000;
      await follow(run);
      if (run !== state.run) return;
      lose("the server has ended");
    } catch (error) {
      if (run !== state.run) return;
      if (error instanceof Refused) {
        forget(state.token ? error.message : "");
        return;
      }
      lose(`no connection; again in ${wait / 1000} s`);
    }
    await pause(wait);
    wait = Math.min(wait * 2, 16000);
  }
}

// Refreshes the header from time to time, and soon after a change.
let looked = -Infinity;
let willLook = false;
function look() {
  if (willLook || document.hidden || at("connection").dataset.state !== "live") return;
  willLook = true;
  setTimeout(async () => {
    willLook = false;
    looked = performance.now();
    const { run } = state;
    try {
      const page = await json("activity?limit=0");
      if (run === state.run) about(page);
    } catch {
      // The event stream reports the failure.
    }
  }, looked + LOOK_AGAIN_MS - performance.now());
}
setInterval(look, LOOK_MS);
document.addEventListener("visibilitychange", look);

// --- the token

function gate(isShut, message = "") {
  at("gate").hidden = !isShut;
  for (const id of ["timeline", "bar", "main"]) at(id).hidden = isShut;
  if (isShut) at("places").hidden = true;
  at("forget").hidden = isShut || !state.token;
  at("gate-error").textContent = message;
  if (isShut) at("token").focus();
}

function forget(message = "") {
  state.run += 1;
  state.token = "";
  sessionStorage.removeItem("token");
  state.calls.clear();
  Object.assign(state, { about: null, position: null, past: [], restarts: [], isLost: false });
  close();
  draw();
  connection("idle", "not connected");
  gate(true, message);
}

at("gate-form").addEventListener("submit", (event) => {
  event.preventDefault();
  state.token = at("token").value.trim();
  at("token").value = "";
  // A header allows no other characters, and tokens have none.
  if (!/^[\x21-\x7e]+$/.test(state.token)) {
    forget("that is no token");
    return;
  }
  sessionStorage.setItem("token", state.token);
  connect();
});
at("forget").addEventListener("click", () => forget());
