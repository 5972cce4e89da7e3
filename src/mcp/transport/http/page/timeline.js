// --- the timeline

const BAR_PX = 4;
const LANE_PX = 14;
const MOST_LANES = 6;
const SHORTEST_IDLE_MS = 1000;
const LONGEST_TO_SCALE_MS = 60000;
// Possible distances of the time labels, in ms.
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400].map((seconds) => seconds * 1000);

// Time ranges that are drawn to scale, up to now. An idle time much longer than usual separates two ranges.
function stretches(entries, marks) {
  const busy = [];
  for (const { from, to } of [...entries, ...marks.map((time) => ({ from: time, to: time }))].toSorted((one, other) => one.from - other.from)) {
    const last = busy.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else busy.push({ from, to });
  }
  const gaps = busy.slice(1).map((one, index) => one.from - busy[index].to).sort((one, other) => one - other);
  const often = 3 * (gaps[Math.floor((gaps.length - 1) * 0.9)] ?? 0);
  const usual = Math.max(SHORTEST_IDLE_MS, Math.min(LONGEST_TO_SCALE_MS, often));
  const now = Math.max(state.now, busy.at(-1).to);
  const parts = [];
  for (const one of [...busy, { from: now, to: now }]) {
    const last = parts.at(-1);
    if (last && one.from - last.to <= usual) last.to = one.to;
    else parts.push({ ...one });
  }
  return parts;
}

// Lays out the ranges within `width`, and returns the scale in ms per pixel.
function lay(parts, width) {
  const length = parts.reduce((sum, part) => sum + part.to - part.from, 0);
  const idle = Math.max(length, 1000) / Math.max(12, 2 * parts.length);
  const scale = (length + idle * (parts.length - 1)) / width || 1;
  let left = 0;
  for (const part of parts) {
    part.left = left;
    part.right = left + (part.to - part.from) / scale;
    left = part.right + idle / scale;
  }
  return scale;
}

const bars = new Map();
const lanes = new Map();

function bar(entry) {
  const key = keyOf(entry);
  if (!bars.has(key)) bars.set(key, make("div", { role: "option", id: `bar-${idOf(entry)}` }));
  const element = bars.get(key);
  const kind = `bar ${entry.kind}`;
  // The label of an ended call never changes.
  if (element.className !== kind || entry.kind === "running") {
    element.className = kind;
    element.dataset.key = key;
    element.title = `${clock(entry.at)} ${entry.tool} ${plain(near(entry))}: ${entry.told}, ${span(entry.to - entry.from)}`;
  }
  element.setAttribute("aria-selected", String(key === state.chosen));
  return element;
}

// The bars of one client, in as many lanes as needed to avoid overlaps.
function lane(name, entries, place, beside, width) {
  if (!lanes.has(name)) lanes.set(name, make("div", { class: "lane", role: "group", "aria-label": plain(name) }, cell("", name), make("div", { class: "bars" })));
  const element = lanes.get(name);
  const ends = [];
  const wanted = entries.map((entry) => {
    const drawn = bar(entry);
    const left = Math.min(place(entry.from), width - BAR_PX);
    const wide = Math.max(BAR_PX, place(entry.to) - left);
    let free = ends.findIndex((end) => end < left);
    if (free < 0) free = ends.length < MOST_LANES ? ends.length : ends.indexOf(Math.min(...ends));
    ends[free] = left + wide;
    [drawn.style.left, drawn.style.width, drawn.style.top] = [`${left}px`, `${wide}px`, `${free * LANE_PX}px`];
    return drawn;
  });
  element.lastChild.style.height = `${ends.length * LANE_PX}px`;
  arrange(element.lastChild, [...beside.map(([kind, left, wide, title]) => {
    const part = make("div", { class: kind, title });
    [part.style.left, part.style.width] = [`${left}px`, `${wide}px`];
    return part;
  }), ...wanted]);
  return element;
}

// Labels below: times of day as space permits, restarts of the server, and lengths of idle times.
function ticks(parts, scale, width, marks) {
  const found = [];
  const taken = [];
  const put = (text, left, room, kind) => {
    if (left + room > width || taken.some(([from, to]) => left < to && left + room > from)) return;
    const tick = make("span", { class: kind }, text);
    tick.style.left = `${left}px`;
    if (kind === "gap") tick.style.width = `${room}px`;
    found.push(tick);
    taken.push([left, left + room]);
  };
  for (const [, left, , title] of marks) put(title, Math.min(left, width - title.length * 7 - 8), title.length * 7 + 8, "mark");
  const step = STEPS.find((ms) => ms >= 90 * scale) ?? STEPS.at(-1);
  parts.forEach((part, index) => {
    const zone = new Date(part.from).getTimezoneOffset() * 60000;
    const times = [part.from];
    for (let time = Math.ceil((part.from - zone) / step) * step + zone; time <= part.to; time += step) times.push(time);
    for (const time of times) put(clock(time), part.left + (time - part.from) / scale, clock(time).length * 7 + 8, "");
    const next = parts[index + 1];
    if (!next) return;
    const text = `idle ${span(next.from - part.to).split(" ").slice(0, 2).join(" ")}`;
    const left = Math.max(part.right, ...taken.map(([, to]) => (to <= next.left ? to : 0)));
    if (next.left - left > text.length * 7) put(text, left, next.left - left, "gap");
  });
  at("ticks").replaceChildren(...found);
}

function drawTimeline() {
  const isShown = state.tab === "calls" && state.shown.length > 0;
  for (const id of ["lanes", "axis", "told"]) at(id).hidden = !isShown;
  if (!isShown) return;
  const first = Math.min(...state.shown.map(({ from }) => from));
  const restarts = state.restarts.filter((time) => time >= first);
  const parts = stretches(state.shown, restarts);
  const width = at("ticks").clientWidth;
  if (!width) return;
  const scale = lay(parts, width);
  const place = (time) => {
    const part = parts.findLast((one) => one.from <= time) ?? parts[0];
    return part.left + (time - part.from) / scale;
  };
  const idle = parts.slice(1).map((part, index) => ["idle", parts[index].right, part.left - parts[index].right, ""]);
  const marks = restarts.map((time) => ["restart", Math.min(place(time), width - 2), 2, `restart ${clock(time)}`]);
  const groups = Map.groupBy(state.shown.toSorted((one, other) => one.from - other.from), (entry) => entry.client);
  const names = [...groups.keys()].sort();
  arrange(at("lanes"), names.map((name) => lane(name, groups.get(name), place, [...idle, ...marks], width)));
  for (const kept of [bars, lanes]) for (const [key, element] of kept) if (!element.isConnected) kept.delete(key);
  ticks(parts, scale, width, marks);
  tell();
}

// Describes the bar under the pointer, the selected call, or a running call.
function tell() {
  const find = (key) => state.shown.find((entry) => keyOf(entry) === key);
  const entry = find(state.pointed) ?? find(state.chosen) ?? state.shown.find(({ kind }) => kind === "running");
  const last = Math.max(...state.shown.map(({ to }) => to));
  at("told").replaceChildren(...(entry
    ? [`${clock(entry.at)} `, make("span", { class: `outcome ${entry.kind}` }, entry.told), " ", make("b", {}, shown(entry.tool)), " ", make("code", {}, shown(near(entry))), ` ${span(entry.to - entry.from)}`]
    : [`nothing runs; the last call ended ${clock(last)}`]));
}

at("lanes").addEventListener("pointerover", (event) => { state.pointed = event.target.dataset.key; tell(); });
at("lanes").addEventListener("pointerleave", () => { state.pointed = null; tell(); });
new ResizeObserver(() => draw()).observe(at("timeline"));
