// --- what a call is shown as

const commands = () => (state.about?.tenants ?? []).flatMap((tenant) => (tenant.place?.background ?? []).map((one) => ({ ...one, client: tenant.name })));

// The background command that a call has started, as long as its server knows it. A token's next server names its commands
// anew, so the command must have begun within the call.
function commandOf(call) {
  const from = Date.parse(call.at);
  const isIts = (one) => one.id === call.background && [call.client, "anyone"].includes(one.client);
  return call.background && commands().find((one) => isIts(one) && Date.parse(one.at) >= from && Date.parse(one.at) <= from + call.durationMs + 1);
}

const spoken = (word) => word.replace("_", " ");

// A call with what is to be seen of it: its kind (which has a colour), that in words, when it was, and what is said beside it.
function seen(call, command = commandOf(call)) {
  const from = Date.parse(call.at);
  if (command ? !command.outcome : call.state === "running") {
    const note = command ? `${size(command.bytes)} of output` : call.progress?.message;
    return { ...call, command, outcome: undefined, kind: "running", told: `running since ${clock(command?.at ?? call.at)}`, from, to: Math.max(Date.now(), from), note };
  }
  if (command) {
    const to = Date.parse(command.at) + command.durationMs;
    return { ...call, command, outcome: command.outcome, kind: command.outcome, told: `${command.outcome}${command.outcome === "cancelled" ? "" : ", ended"} ${clock(to)}`, from, to, note: command.end };
  }
  const word = OUTCOMES.includes(call.outcome) ? call.outcome : "ok";
  const refused = (call.paths ?? []).filter((one) => one.access === "denied").length;
  const more = call.background ? ", in the background" : refused && word !== "denied" ? `, ${refused} denied` : "";
  return { ...call, kind: refused ? "denied" : word, told: spoken(word) + more, from, to: from + (call.durationMs ?? 0) };
}

// The calls, first those that run, then the newest. A command that runs on behind a call that is not here stands for it.
function calls() {
  const all = [...state.calls.values()].map((call) => seen(call));
  const named = new Set(all.map(({ command }) => command && `${command.client} ${command.id}`));
  for (const one of commands()) {
    if (!one.outcome && !named.has(`${one.client} ${one.id}`)) {
      all.push({ ...seen({ client: one.client, tool: "execute_command", subject: one.command, at: one.at, state: "running" }, one), key: `background ${one.client} ${one.id}` });
    }
  }
  const rank = (entry) => (entry.kind === "running" ? Infinity : entry.id);
  return all.sort((one, other) => (rank(one) === rank(other) ? other.from - one.from : rank(other) - rank(one)));
}

function sessions() {
  return (state.about?.tenants ?? []).flatMap((tenant) => tenant.sessions.map((one) => ({
    key: `session ${one.id}`, client: tenant.name, tool: one.id, session: one.id, of: one, kind: "cancelled",
    subject: `revision ${one.revision}, open for ${span(one.openSeconds * 1000)}, ${one.listens ? "listens" : "does not listen"}`,
    told: one.idleSeconds ? `idle for ${span(one.idleSeconds * 1000)}` : "busy",
  })));
}

// --- the filter

function words(text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const isLeftOut = word.length > 1 && word.startsWith("-");
    const rest = isLeftOut ? word.slice(1) : word;
    const [, key, value] = rest.match(/^(tool|client|session|path|is):(.*)$/) ?? [null, null, rest];
    return { isLeftOut, key, value };
  });
}

const FIELDS = {
  tool: (entry) => entry.tool, client: (entry) => entry.client, session: (entry) => entry.session ?? "",
  path: (entry) => (entry.paths ?? []).map((one) => one.path).join("\n"), is: (entry) => `${entry.kind} ${entry.outcome ?? ""}`,
};
const whole = (entry) => [...Object.values(FIELDS).map((field) => field(entry)), entry.subject, entry.code ?? ""].join("\n");

function filtered(entries, text) {
  const asked = words(text);
  return entries.filter((entry) => asked.every(({ isLeftOut, key, value }) => (key ? FIELDS[key] : whole)(entry).toLowerCase().includes(value) !== isLeftOut));
}

// --- the list

// With older ones that are not here, that many and more.
const counted = (count) => (count && (state.before || state.calls.size >= MOST_KEPT) ? `${count}+` : String(count));
const keyOf = (entry) => entry.key ?? `call ${entry.id}`;
const idOf = (entry) => keyOf(entry).replace(/[^\w.-]/g, "-");

// A path below a directory of its client is shown without that.
function near(entry) {
  const own = (state.about?.tenants ?? []).find((tenant) => tenant.name === entry.client);
  const root = (own?.place?.roots ?? []).find((one) => entry.subject.startsWith(`${one.path}/`));
  return root ? entry.subject.slice(root.path.length + 1) : entry.subject;
}

const plain = (text) => String(text).replace(HIDDEN, "\ufffd").slice(0, 400);

function cell(kind, text) {
  return make("span", { class: kind }, shown(text ?? ""));
}

// Has `parent` hold these elements and no others, without a touch to those that are in their place.
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
    const about = cell("subject", entry.note ? `${subject} — ${entry.note}` : subject);
    about.title = plain(subject);
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
    const all = { calls: calls(), sessions: sessions() };
    state.shown = filtered(all[state.tab], state.filter);
    if (!state.shown.some((entry) => keyOf(entry) === state.chosen)) state.chosen = null;
    drawTop();
    drawFacts(all.calls);
    drawTimeline();
    drawList(all);
    if (state.whole?.tool) drawStanding(seen(state.whole));
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
  at("empty").textContent = all[state.tab].length ? "Nothing fits the filter." : EMPTY[state.tab];
  at("older").hidden = !state.before || state.tab !== "calls" || state.calls.size >= MOST_KEPT;
}

const facts = new Map();

// How many calls are of each kind; each is a filter for them.
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
  for (const word of ["running", ...OUTCOMES]) {
    const count = filtered(all, `is:${word}`).length;
    if (count) wanted.push(fact(word, spoken(word), `is:${word}`, counted(count), `outcome ${word}`));
  }
  const waiting = (state.about?.tenants ?? []).reduce((sum, tenant) => sum + tenant.callsWaiting, 0);
  if (waiting) wanted.push(make("li", { class: "soft" }, make("b", {}, String(waiting)), " waiting"));
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
  for (const [word, those] of Map.groupBy(served, (tenant) => tenant.place.walls)) {
    const names = tenants.length > 1 ? those.map((tenant) => tenant.name).join(", ") : "";
    const [about, text] = word === null ? ["", "tools without commands"] : word.startsWith("commands are refused") ? ["", word] : ["walls", word];
    const whose = `${names} ${about}`.trim();
    places.push(make("li", {}, whose ? make("span", { class: "soft" }, shown(whose)) : [], make("span", {}, shown(text))));
  }
  at("places").replaceChildren(...places);
  at("places").hidden = !places.length;
}
