// --- the timeline

const BAR_PX = 4;
const LANE_PX = 14;
const MOST_LANES = 6;
const LONGEST_TO_SCALE_MS = 60000;
// Between the times that are written below, in ms.
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400].map((seconds) => seconds * 1000);

// Times that are drawn to scale, up to now. Where nothing was done for much longer than usual, one ends and the next begins.
function stretches(entries) {
  const busy = [];
  for (const { from, to } of entries.toSorted((one, other) => one.from - other.from)) {
    const last = busy.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else busy.push({ from, to });
  }
  const gaps = busy.slice(1).map((one, index) => one.from - busy[index].to).sort((one, other) => one - other);
  const usual = Math.min(LONGEST_TO_SCALE_MS, 3 * (gaps[Math.floor((gaps.length - 1) * 0.9)] ?? 0));
  const now = Math.max(Date.now(), busy.at(-1).to);
  const parts = [];
  for (const one of [...busy, { from: now, to: now }]) {
    const last = parts.at(-1);
    if (last && one.from - last.to <= usual) last.to = one.to;
    else parts.push({ ...one });
  }
  return parts;
}

// Gives each stretch its place, all within `width`, and returns what one pixel stands for, in ms.
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
  // What has ended says the same for ever.
  if (element.className !== kind || entry.kind === "running") {
    element.className = kind;
    element.dataset.key = key;
    element.title = `${clock(entry.at)} ${entry.tool} ${plain(near(entry))}: ${entry.told}, ${span(entry.to - entry.from)}`;
  }
  element.setAttribute("aria-selected", String(key === state.chosen));
  return element;
}

// The bars of one client, in as many lanes as it takes for none to hide another.
function lane(name, entries, place, idle, width) {
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
  arrange(element.lastChild, [...idle.map(([left, right]) => {
    const gap = make("div", { class: "idle" });
    [gap.style.left, gap.style.width] = [`${left}px`, `${right - left}px`];
    return gap;
  }), ...wanted]);
  return element;
}

// Times of day below, as many as there is room for, and how long nothing was done.
function ticks(parts, scale, width) {
  const found = [];
  let free = 0;
  const put = (text, left, room, kind) => {
    if (left < free || left + room > width) return;
    const tick = make("span", { class: kind }, text);
    tick.style.left = `${left}px`;
    if (kind) tick.style.width = `${room}px`;
    found.push(tick);
    free = left + room;
  };
  const step = STEPS.find((ms) => ms >= 90 * scale) ?? STEPS.at(-1);
  parts.forEach((part, index) => {
    const zone = new Date(part.from).getTimezoneOffset() * 60000;
    const times = [part.from];
    for (let time = Math.ceil((part.from - zone) / step) * step + zone; time <= part.to; time += step) times.push(time);
    for (const time of times) put(clock(time), part.left + (time - part.from) / scale, clock(time).length * 7 + 8, "");
    const next = parts[index + 1];
    if (!next) return;
    const text = `idle ${span(next.from - part.to).split(" ").slice(0, 2).join(" ")}`;
    const left = Math.max(part.right, free);
    if (next.left - left > text.length * 7) put(text, left, next.left - left, "gap");
  });
  at("ticks").replaceChildren(...found);
}

function drawTimeline() {
  const isShown = state.tab === "calls" && state.shown.length > 0;
  for (const id of ["lanes", "axis", "told"]) at(id).hidden = !isShown;
  if (!isShown) return;
  const parts = stretches(state.shown);
  const width = at("ticks").clientWidth;
  if (!width) return;
  const scale = lay(parts, width);
  const place = (time) => {
    const part = parts.findLast((one) => one.from <= time) ?? parts[0];
    return part.left + (time - part.from) / scale;
  };
  const idle = parts.slice(1).map((part, index) => [parts[index].right, part.left]);
  const groups = Map.groupBy(state.shown.toSorted((one, other) => one.from - other.from), (entry) => entry.client);
  const names = [...groups.keys()].sort();
  arrange(at("lanes"), names.map((name) => lane(name, groups.get(name), place, idle, width)));
  for (const kept of [bars, lanes]) for (const [key, element] of kept) if (!element.isConnected) kept.delete(key);
  ticks(parts, scale, width);
  tell();
}

// In words: the bar under the pointer, the chosen one, or what is done now.
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
