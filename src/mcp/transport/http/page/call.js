// --- one call

function section(title, body, copied) {
  const head = make("div", {}, make("h3", {}, title));
  if (copied !== undefined) {
    const button = make("button", { type: "button" }, "Copy");
    button.addEventListener("click", () => copy(copied, button));
    head.append(button);
  }
  return make("section", {}, head, body);
}

async function copy(text, button) {
  const before = button?.textContent;
  let word = "Copied";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    word = "The browser does not let this page copy";
  }
  if (!button) return;
  button.textContent = word;
  setTimeout(() => { button.textContent = before; }, 1500);
}

const pre = (...inside) => make("pre", { tabindex: "0" }, ...inside);

function diff(lines) {
  return pre(lines.map(([sign, text]) => {
    const kind = { "+": " add", "-": " del", "@": " hunk" }[sign] ?? "";
    return make("span", { class: `line${kind}` }, sign === "@" ? [] : sign, shown(text, false));
  }));
}

// Line diff of two texts: common lines at both ends, and a longest common subsequence in between.
function compare(before, after) {
  const [a, b] = [before.split("\n"), after.split("\n")];
  // A final newline ends the last line, and adds no empty line.
  if (a.at(-1) === "" && b.at(-1) === "") { a.pop(); b.pop(); }
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  const [from, to] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  const middle = [];
  if (from.length * to.length <= 40000) {
    const best = Array.from({ length: from.length + 1 }, () => new Uint16Array(to.length + 1));
    for (let i = from.length - 1; i >= 0; i -= 1) {
      for (let j = to.length - 1; j >= 0; j -= 1) {
        best[i][j] = from[i] === to[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
      }
    }
    let [i, j] = [0, 0];
    while (i < from.length || j < to.length) {
      if (i < from.length && j < to.length && from[i] === to[j]) { middle.push([" ", from[i]]); i += 1; j += 1; }
      else if (j === to.length || (i < from.length && best[i + 1][j] >= best[i][j + 1])) { middle.push(["-", from[i]]); i += 1; }
      else { middle.push(["+", to[j]]); j += 1; }
    }
  } else {
    middle.push(...from.map((line) => ["-", line]), ...to.map((line) => ["+", line]));
  }
  const same = (lines) => lines.map((line) => [" ", line]);
  return [...same(a.slice(0, head)), ...middle, ...same(tail ? a.slice(-tail) : [])];
}

const isEdit = (one) => one && typeof one.oldText === "string" && typeof one.newText === "string";

function output(text) {
  const isDiff = /^(@@ |--- )/m.test(text) && /^\+\+\+ /m.test(text);
  if (!isDiff) return pre(shown(text, false));
  return diff(text.split("\n").map((line) => {
    if (/^(@@|--- |\+\+\+ )/.test(line)) return ["@", line];
    return /^[+ -]/.test(line) ? [line[0], line.slice(1)] : ["@", line];
  }));
}

function argumentSections(call) {
  const sections = [];
  const rest = [];
  for (const [name, value] of Object.entries(call.arguments ?? {})) {
    if (name === "edits" && Array.isArray(value) && value.length && value.every(isEdit)) {
      const lines = value.flatMap((one, index) => [...(index ? [["@", " "]] : []), ...compare(one.oldText, one.newText)]);
      sections.push(section(call.outcome === "ok" ? "Edits" : "Edits asked for", diff(lines), JSON.stringify(value, null, 2)));
    } else if (name === "content" && call.tool === "write_file" && typeof value === "string") {
      sections.push(section("Content", diff(value.split("\n").map((line) => ["+", line])), value));
    } else if (typeof value === "string" && (value.includes("\n") || value.length > 80 || name === "command")) {
      sections.push(section(name, pre(shown(value, false)), value));
    } else {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      rest.push(make("dt", {}, make("code", {}, shown(name))), make("dd", {}, make("code", {}, shown(text))));
    }
  }
  if (rest.length) sections.push(section("Arguments", make("dl", {}, rest), JSON.stringify(call.arguments, null, 2)));
  return sections;
}

function pairs(all) {
  const list = make("dl", {});
  for (const [name, text] of all) {
    if (text !== undefined && text !== null && text !== "") list.append(make("dt", {}, name), make("dd", {}, shown(text)));
  }
  return list;
}

// Changes of a call. Its client may undo them with the undo tool, within the rights of the token.
function changes(call) {
  const told = make("pre", { tabindex: "0", role: "status" }, `${changed(call)}; kept as call ${call.undo.call}`);
  const part = section("Changed", told);
  if (call.client === state.about?.you.name) {
    const button = make("button", { type: "button" }, "Undo");
    button.addEventListener("click", async () => {
      if (!confirm(`Undo what call ${call.undo.call} changed: ${changed(call)}?`)) return;
      button.disabled = true;
      told.replaceChildren(...shown(await undo(call.undo.call), false));
      button.disabled = false;
    });
    part.firstChild.append(button);
  }
  return part;
}

async function undo(number) {
  const params = { name: "undo_changes", arguments: { calls: [number] } };
  const headers = { "Content-Type": "application/json", Accept: "application/json" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  try {
    const { result, error } = await json("mcp", { method: "POST", headers, body });
    return error?.message ?? result.content.map((part) => part.text).join("\n");
  } catch (error) {
    return error.message;
  }
}

function drawStanding(entry) {
  const text = entry.kind === "running" ? `${entry.told}, ${span(entry.to - entry.from)}` : entry.told;
  at("detail-outcome").replaceChildren(make("span", { class: `outcome ${entry.kind}` }, shown(text)), " ", ...shown(entry.note ?? ""));
}

function drawCall(call) {
  state.whole = call;
  const entry = seen(call);
  at("detail-title").replaceChildren(...shown(call.tool));
  drawStanding(entry);
  const parts = [pairs([
    ["Began", clock(call.at)], [call.background ? "Answered after" : "Took", call.state === "running" ? "" : span(call.durationMs)],
    ["In the background", call.background], ["Client", call.client], ["Session", call.session], ["Error", call.code], ["Trace", call.trace],
    ["Request", size(call.requestBytes)], ["Reply", size(call.replyBytes)],
  ])];
  if (call.state === "running" && entry.kind === "running") {
    const bar = make("progress", { "aria-label": "Progress" });
    if (call.progress?.total) [bar.max, bar.value] = [call.progress.total, call.progress.done];
    parts.push(section("Progress", bar));
  }
  if (call.undo) parts.push(changes(call));
  const ofOutside = [["Changed what runs outside the walls", call.outside?.changed], ["Put back (--freeze-autorun)", call.outside?.putBack]];
  for (const [title, all] of ofOutside.filter(([, all]) => all)) {
    const lines = all.map((one) => make("li", {}, make("code", {}, shown(one.path)), " ", make("span", { class: "soft" }, shown(one.what.join(", ")))));
    parts.push(section(title, make("ul", { class: "paths" }, lines)));
  }
  if (call.paths?.length) {
    const all = call.allPaths ?? call.paths;
    const more = call.pathsMore - (all.length - call.paths.length);
    const lines = all.map((one) => make("li", {}, make("span", { class: `grant ${one.access.replace(/\W/g, "")}` }, shown(one.access)), make("code", {}, shown(one.path))));
    if (more > 0) lines.push(make("li", { class: "soft" }, `and ${more} more`));
    parts.push(section("Paths", make("ul", { class: "paths" }, lines)));
  }
  parts.push(...argumentSections(call));
  if (call.diff) parts.push(section("Diff", output(call.diff), call.diff));
  if (call.text) parts.push(section(call.outcome === "ok" ? "Reply" : "Message", output(call.text), call.text));
  at("detail-body").replaceChildren(...parts);
}

function drawOther(entry) {
  state.whole = entry.of ?? entry.command;
  at("detail-title").replaceChildren(...shown(entry.of ? `MCP session ${entry.tool}` : entry.tool));
  at("detail-outcome").replaceChildren();
  const parts = [];
  if (entry.of) {
    parts.push(pairs([
      ["Client", entry.client], ["Revision", entry.of.revision], ["Open for", span(entry.of.openSeconds * 1000)],
      ["Idle for", span(entry.of.idleSeconds * 1000)], ["Listens", entry.of.listens ? "yes" : "no"],
      ["Calls", String([...state.calls.values()].filter((call) => call.session === entry.of.id).length)],
    ]));
    const button = make("button", { type: "button" }, "Show its calls");
    button.addEventListener("click", () => { filter(`session:${entry.of.id}`); tab("calls"); at("list").focus(); });
    parts.push(make("p", {}, button));
  } else {
    const one = entry.command;
    drawStanding(entry);
    parts.push(pairs([["Client", entry.client], ["In the background", one.id], ["Began", clock(one.at)]]));
    parts.push(section("command", pre(shown(one.command, false)), one.command));
  }
  at("detail-body").replaceChildren(...parts);
}

async function detail({ id }) {
  const key = keyOf({ id });
  try {
    const call = await json(`activity/${id}`);
    if (state.open === key) drawCall(call);
  } catch (error) {
    if (error instanceof Refused) return;
    // A call that the server has dropped is shown from the local data.
    const call = state.calls.get(id);
    if (state.open === key && call) drawCall(call);
  }
}

function open(entry, hasFocus) {
  if (!entry) return;
  const wasOpen = state.open;
  state.chosen = keyOf(entry);
  state.open = state.chosen;
  at("detail").hidden = false;
  at("main").classList.add("open");
  if (entry.id) {
    if (wasOpen !== state.open) drawCall(entry);
    if (!entry.isPast) detail(entry);
  } else {
    drawOther(entry);
  }
  if (hasFocus) at("detail").focus();
  draw();
  // After the layout: rows beside an open call are higher.
  requestAnimationFrame(() => rows.get(state.chosen)?.element.scrollIntoView({ block: "nearest" }));
}

function close() {
  state.open = null;
  state.whole = null;
  at("detail").hidden = true;
  at("main").classList.remove("open");
  at("list").focus({ preventScroll: true });
  draw();
}
