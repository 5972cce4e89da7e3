// --- display form of a call

const commands = () => (state.about?.tenants ?? []).flatMap((tenant) => (tenant.place?.background ?? []).map((one) => ({ ...one, client: tenant.name })));

// The background command that a call started, while its server knows it. A new server of a token reuses command ids, so the
// command must have begun within the call.
function commandOf(call) {
  const from = Date.parse(call.at);
  const isIts = (one) => one.id === call.background && [call.client, "anyone"].includes(one.client);
  return call.background && commands().find((one) => isIts(one) && Date.parse(one.at) >= from && Date.parse(one.at) <= from + call.durationMs + 1);
}

const spoken = (word) => (word === "lost" ? "ended with the server" : word.replace("_", " "));

// Keeps the calls of an earlier run of the server in their last known state: the new run reuses their numbers.
function bury(page) {
  const begun = Math.max(state.heard, Date.now() - page.uptimeSeconds * 1000);
  state.isLost = true;
  state.now = state.heard;
  const anew = (key) => (!key || key.startsWith("past ") ? key : `past ${state.position} ${key}`);
  state.past = calls().slice(0, MOST_KEPT).map((entry) => {
    const end = entry.kind === "running" ? { kind: "lost", told: "ended with the server" } : {};
    return { ...entry, ...end, key: anew(keyOf(entry)), isPast: true };
  });
  [state.open, state.chosen] = [anew(state.open), anew(state.chosen)];
  state.calls.clear();
  state.restarts.push(begun);
}

// Number of files that a call changed, by kind of change.
function changed({ undo }) {
  const { call, ...counts } = undo ?? {};
  return Object.entries(counts).map(([word, count]) => `${count} ${word}`).join(", ");
}

// A call with its display data: its kind (which sets the colour), the kind in words, its times, and a note.
function seen(call, command = commandOf(call)) {
  if (call.isPast) return call;
  const from = Date.parse(call.at);
  if (command ? !command.outcome : call.state === "running") {
    const note = command ? `${command.bytes} bytes of output` : call.progress?.message?.replace(/^running for .*?, /, "");
    const told = state.isLost ? `last known ${clock(state.heard)}` : "running";
    return { ...call, command, kind: "running", told, from, to: Math.max(state.now, from), note };
  }
  if (command) {
    const to = Date.parse(command.at) + command.durationMs;
    return { ...call, command, kind: command.outcome, told: `${command.outcome}${command.outcome === "cancelled" ? "" : ", ended"} ${clock(to)}`, from, to, note: command.end };
  }
  const word = OUTCOMES.includes(call.outcome) ? call.outcome : "ok";
  const refused = (call.paths ?? []).filter((one) => one.access === "denied").length;
  const more = call.background ? ", in the background" : refused && word !== "denied" ? `, ${refused} denied` : "";
  return { ...call, kind: refused ? "denied" : word, told: spoken(word) + more, from, to: from + (call.durationMs ?? 0), note: call.reason ?? changed(call) };
}

// Whether a running call may have started the command. A call names its command only when it ends.
function mayStart(call, one) {
  if (call.isPast || call.state !== "running" || ![call.client, "anyone"].includes(one.client)) return false;
  return Date.parse(call.at) <= Date.parse(one.at) && (call.tool === one.command || one.command.trimStart().startsWith(call.subject.replace(/\u2026$/, "")));
}

// All calls: running ones first, then the newest. A background command whose call is not loaded is listed instead.
function calls() {
  const all = [...state.past, ...state.calls.values()].map((call) => seen(call));
  const named = new Set(all.map(({ command, isPast }) => command && !isPast && `${command.client} ${command.id}`));
  for (const one of commands()) {
    if (!one.outcome && !named.has(`${one.client} ${one.id}`) && !all.some((call) => mayStart(call, one))) {
      all.push({ ...seen({ client: one.client, tool: "execute_command", subject: one.command, at: one.at, state: "running" }, one), key: `background ${one.client} ${one.id}` });
    }
  }
  const rank = (entry) => (entry.kind === "running" ? 2 : entry.isPast ? 0 : 1);
  return all.sort((one, other) => rank(other) - rank(one) || other.from - one.from || other.id - one.id);
}

function sessions() {
  return (state.about?.tenants ?? []).flatMap((tenant) => tenant.sessions.map((one) => ({
    key: `session ${one.id}`, client: tenant.name, tool: one.id, session: one.id, of: one, kind: "cancelled",
    subject: `revision ${one.revision}, open for ${span(one.openSeconds * 1000)}, ${one.listens ? "listens" : "does not listen"}`,
    told: one.idleSeconds ? `idle for ${span(one.idleSeconds * 1000)}` : "busy",
  })));
}

// --- the filter

const UNITS = { ms: 1, s: 1000, m: 60000, h: 3600000 };

function words(text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const isLeftOut = word.length > 1 && word.startsWith("-");
    const rest = isLeftOut ? word.slice(1) : word;
    const [, sign, count, unit] = rest.match(/^([<>])(\d+\.?\d*)(ms|s|m|h)$/) ?? [];
    if (sign) {
      const ms = count * UNITS[unit];
      return { isLeftOut, fits: ({ from, to }) => (sign === ">" ? to - from > ms : to - from < ms) };
    }
    const [, key, value] = rest.match(/^(tool|client|session|path|is):(.*)$/) ?? [null, null, rest];
    const field = key ? FIELDS[key] : whole;
    return { isLeftOut, key, value, fits: (entry) => field(entry).toLowerCase().includes(value) };
  });
}

const FIELDS = {
  tool: (entry) => entry.tool, client: (entry) => entry.client, session: (entry) => entry.session ?? "",
  path: (entry) => (entry.paths ?? []).map((one) => one.path).join("\n"), is: (entry) => entry.kind,
};
const whole = (entry) => [...Object.values(FIELDS).map((field) => field(entry)), entry.subject, entry.code ?? "", entry.note ?? ""].join("\n");

function filtered(entries, text) {
  const asked = words(text);
  return entries.filter((entry) => asked.every(({ isLeftOut, fits }) => fits(entry) !== isLeftOut));
}

// Reason for an empty list.
function nothing(count) {
  if (!count) return EMPTY[state.tab];
  const odd = words(state.filter).find(({ key, value }) => key === "is" && !KINDS.some((kind) => kind.includes(value)));
  if (odd) return `There is no is:${odd.value}; there are ${KINDS.map((kind) => `is:${kind}`).join(", ")}.`;
  if (state.tab !== "calls" || state.before === null) return "Nothing fits the filter.";
  const latest = `Nothing among the latest ${state.calls.size} calls`;
  if (!hasOlder()) return `${latest}; this page keeps no older ones.`;
  older();
  return `${latest}; older ones are being looked at.`;
}

// --- the list

// A count, with a plus sign if older calls are not loaded.
const counted = (count) => (state.before === null && state.calls.size < MOST_KEPT ? String(count) : `${count}+`);
const keyOf = (entry) => entry.key ?? `call ${entry.id}`;
const idOf = (entry) => keyOf(entry).replace(/[^\w.-]/g, "-");

// Shortens a path below a directory of its client to the relative path.
function near(entry) {
  const own = (state.about?.tenants ?? []).find((tenant) => tenant.name === entry.client);
  const root = (own?.place?.roots ?? []).find((one) => entry.subject.startsWith(`${one.path}/`));
  return root ? entry.subject.slice(root.path.length + 1) : entry.subject;
}

const plain = (text) => String(text).replace(HIDDEN, "\ufffd").slice(0, 400);

function cell(kind, text) {
  return make("span", { class: kind }, shown(text ?? ""));
}

// Makes these elements the only children of `parent`, without moving those already in place.
function arrange(parent, wanted) {
  const kept = new Set(wanted);
  for (const child of [...parent.children]) if (!kept.has(child)) child.remove();
  wanted.forEach((element, index) => {
    if (parent.children[index] !== element) parent.insertBefore(element, parent.children[index] ?? null);
  });
}

const rows = new Map();

function row(entry) {
  const key = keyOf(entry);
  const known = rows.get(key);
  const element = known?.element ?? make("div", { class: "row", role: "option", id: `row-${idOf(entry)}` });
  const subject = near(entry);
  const version = subject + JSON.stringify({ ...entry, to: 0 });
  if (known?.version !== version) {
    // An error that quotes the subject is shown without the subject.
    const parts = entry.note?.includes(`\`${entry.subject}\``) ? [entry.note] : [subject, entry.note].filter(Boolean);
    const about = make("span", { class: "subject", title: plain(parts.join(" — ")) }, cell("", parts[0]));
    if (parts[1]) about.append(cell("note", ` — ${parts[1]}`));
    element.replaceChildren(
      cell("time", entry.at ? clock(entry.at) : ""), cell("client", entry.client),
      make("span", { class: "state" }, make("span", { class: `outcome ${entry.kind}` }, entry.told)), cell("tool", entry.tool), about, cell("took"),
    );
    element.dataset.key = key;
    rows.set(key, { element, version });
  }
  const took = span(entry.to - entry.from);
  if (element.lastChild.textContent !== took) element.lastChild.textContent = took;
  element.setAttribute("aria-selected", String(key === state.chosen));
  return element;
}

const EMPTY = { calls: "No calls yet. They appear here as agents make them.", sessions: "No MCP sessions are open." };

let isDue = false;
function draw() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    state.now = state.isLost ? state.heard : Date.now();
    document.body.classList.toggle("lost", state.isLost);
    const all = { calls: calls(), sessions: sessions() };
    state.shown = filtered(all[state.tab], state.filter);
    if (!state.shown.some((entry) => keyOf(entry) === state.chosen)) state.chosen = null;
    drawTop();
    drawFacts(all.calls);
    drawTimeline();
    drawList(all);
    const opened = all.calls.find((entry) => keyOf(entry) === state.open);
    if (opened) drawStanding(opened);
  });
}

function drawList(all) {
  for (const tab of TABS) {
    const button = at(`tab-${tab}`);
    button.setAttribute("aria-selected", String(tab === state.tab));
    button.tabIndex = tab === state.tab ? 0 : -1;
    const count = tab === "calls" ? counted(all[tab].length) : all[tab].length;
    button.lastElementChild.textContent = tab === state.tab && state.filter ? `${state.shown.length} of ${count}` : count;
  }
  at("panel").setAttribute("aria-labelledby", `tab-${state.tab}`);
  const list = at("list");
  const wanted = state.shown.map(row);
  arrange(list, wanted);
  for (const [key, { element }] of rows) if (!element.isConnected) rows.delete(key);
  for (const [place, part] of [[list, "row"], [at("lanes"), "bar"]]) {
    const chosen = place.querySelector(`.${part}[aria-selected=true]`);
    if (chosen) place.setAttribute("aria-activedescendant", chosen.id);
    else place.removeAttribute("aria-activedescendant");
  }
  list.classList.toggle("dated", state.shown.some((entry) => entry.from < midnight()));
  list.hidden = !wanted.length;
  at("empty").hidden = wanted.length > 0;
  at("empty").textContent = wanted.length ? "" : nothing(all[state.tab].length);
  at("older").hidden = state.tab !== "calls" || !hasOlder();
}

const facts = new Map();

// Number of calls of each kind; each is a button that filters by it.
function drawFacts(all) {
  const fact = (key, word, text, count, kind) => {
    if (!facts.has(key)) {
      const button = make("button", { type: "button", class: kind });
      button.addEventListener("click", () => { tab("calls"); filter(state.filter === text ? "" : text); });
      facts.set(key, make("li", {}, button));
    }
    const button = facts.get(key).firstChild;
    button.replaceChildren(make("b", {}, count), ` ${word}`);
    button.setAttribute("aria-pressed", String(state.filter === text));
    return facts.get(key);
  };
  const wanted = [fact("all", all.length === 1 ? "call" : "calls", "", counted(all.length), "")];
  const tenants = state.about?.tenants ?? [];
  const title = [];
  for (const word of KINDS) {
    const count = filtered(all, `is:${word}`).length;
    // The server has further calls with this outcome.
    const hasMore = hasOlder() && tenants.some(({ outcomes }) => outcomes[word]);
    if (count || hasMore) wanted.push(fact(word, spoken(word), `is:${word}`, word === "running" ? String(count) : counted(count), `outcome ${word}`));
    if (count && ["running", "failed"].includes(word)) title.push(`${count} ${word}`);
  }
  document.title = [title.join(", "), "replay"].filter(Boolean).join(" \u2013 ");
  const waiting = tenants.reduce((sum, tenant) => sum + tenant.callsWaiting, 0);
  if (waiting) wanted.push(make("li", { class: "soft" }, make("b", {}, String(waiting)), " waiting"));
  for (const { name, tooFast } of tenants) {
    if (tooFast) wanted.push(make("li", { class: "soft" }, make("b", {}, String(tooFast)), " came too fast", tenants.length > 1 ? [" from ", ...shown(name)] : []));
  }
  arrange(at("facts"), wanted);
}

function drawTop() {
  const page = state.about;
  at("version").textContent = page ? `${page.version}, up ${span(page.uptimeSeconds * 1000)}` : "";
  at("name").replaceChildren(...(page ? shown(page.you.operator && page.tenants.length > 1 ? `${page.you.name}, sees all` : page.you.name) : []));
  const tenants = page?.tenants ?? [];
  document.body.classList.toggle("many", tenants.length > 1);
  const served = tenants.filter((tenant) => !tenant.revoked && tenant.place);
  const places = [];
  for (const tenant of served) {
    for (const root of tenant.place.roots) {
      const name = tenants.length > 1 ? [make("span", { class: "soft" }, shown(tenant.name))] : [];
      places.push(make("li", {}, name, make("code", {}, shown(root.path)), make("span", { class: `grant ${root.access}` }, root.access)));
    }
  }
  for (const tenant of served) {
    for (const { port, program, published } of tenant.place.ports ?? []) {
      const name = tenants.length > 1 ? [make("span", { class: "soft" }, shown(tenant.name))] : [];
      const number = published
        ? make("a", { href: published, target: "_blank", rel: "noopener noreferrer" }, `port ${port}`)
        : make("span", {}, `port ${port}`);
      places.push(make("li", {}, name, number, make("span", { class: "soft" }, shown(published ? program : `${program}, commands only`))));
    }
  }
  for (const [word, those] of Map.groupBy(served, (tenant) => tenant.place.walls)) {
    const names = tenants.length > 1 ? those.map((tenant) => tenant.name).join(", ") : "";
    const [about, text] = word === null ? ["", "tools without commands"] : word.startsWith("commands are refused") ? ["", word] : ["walls", word];
    const whose = `${names} ${about}`.trim();
    places.push(make("li", {}, whose ? make("span", { class: "soft" }, shown(whose)) : [], make("span", {}, shown(text))));
  }
  at("places").replaceChildren(...places);
  at("places").hidden = !places.length;
}
