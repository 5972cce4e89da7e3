// --- keyboard and mouse

function tab(name) {
  if (state.tab !== name) {
    state.tab = name;
    state.chosen = null;
    at("scroll").scrollTop = 0;
    look();
  }
  draw();
}

function filter(text) {
  state.filter = text;
  if (at("filter").value !== text) at("filter").value = text;
  draw();
}

function move(step) {
  if (!state.shown.length) return;
  const isInTime = document.activeElement === at("lanes");
  const order = isInTime ? state.shown.toSorted((one, other) => other.from - one.from) : state.shown;
  const index = order.findIndex((entry) => keyOf(entry) === state.chosen);
  const next = index < 0 ? (step === -1 ? order.length - 1 : Math.max(step, 0)) : index + step;
  const entry = order[Math.max(0, Math.min(order.length - 1, next))];
  state.chosen = keyOf(entry);
  if (!isInTime) at("list").focus({ preventScroll: true });
  rows.get(state.chosen)?.element.scrollIntoView({ block: "nearest" });
  if (state.open !== null) open(entry, false);
  draw();
}

const chosen = () => state.shown.find((entry) => keyOf(entry) === state.chosen);

for (const id of ["list", "lanes"]) {
  at(id).addEventListener("click", (event) => {
    const key = event.target.closest("[data-key]")?.dataset.key;
    open(state.shown.find((entry) => keyOf(entry) === key), false);
  });
}
at("close").addEventListener("click", close);
at("filter").addEventListener("input", () => filter(at("filter").value));
for (const name of TABS) at(`tab-${name}`).addEventListener("click", () => tab(name));
at("help-button").addEventListener("click", () => at("help").showModal());
at("help-close").addEventListener("click", () => at("help").close());
at("older").addEventListener("click", older);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || at("help").open || !at("gate").hidden) return;
  const isTyping = event.target.matches("input");
  const { key } = event;
  const done = () => event.preventDefault();
  if (key === "Escape") {
    // An empty list cannot get the focus.
    if (isTyping) { filter(""); event.target.blur(); at("list").focus({ preventScroll: true }); } else if (state.open !== null) close();
    else filter("");
    return done();
  }
  if (isTyping) {
    if (key === "Enter" || key === "ArrowDown") { move(state.chosen ? 0 : 1); done(); }
    return;
  }
  if (event.target.getAttribute("role") === "tab" && ["ArrowLeft", "ArrowRight", "Home", "End"].includes(key)) {
    const index = TABS.indexOf(state.tab);
    const [first, last] = [0, TABS.length - 1];
    const next = { ArrowLeft: index ? index - 1 : last, ArrowRight: index < last ? index + 1 : first, Home: first, End: last }[key];
    tab(TABS[next]);
    at(`tab-${TABS[next]}`).focus();
    return done();
  }
  // Inside the open call the arrow keys scroll, as usual.
  const isInside = at("detail").contains(event.target);
  const isInTime = event.target === at("lanes");
  if (isInTime && ["ArrowLeft", "ArrowRight"].includes(key)) { move(key === "ArrowLeft" ? 1 : -1); done(); }
  else if (key === "j" || (key === "ArrowDown" && !isInside)) { move(1); done(); }
  else if (key === "k" || (key === "ArrowUp" && !isInside)) { move(-1); done(); }
  else if (key === "g" || (key === "Home" && !isInside)) { move(-Infinity); done(); }
  else if (key === "G" || (key === "End" && !isInside)) { move(Infinity); done(); }
  else if ((key === "Enter" && !event.target.matches("button")) || (key === " " && (isInTime || event.target === at("list")))) { open(chosen() ?? state.shown[0], true); done(); }
  else if (key === "/") { at("filter").focus(); at("filter").select(); done(); }
  else if (key === "?") { at("help").showModal(); done(); }
  else if (key === "c" && state.whole) copy(JSON.stringify(state.whole, null, 2));
  else if (/^[12]$/.test(key)) tab(TABS[key - 1]);
});

at("zone").textContent = `Times are those of this browser: ${Intl.DateTimeFormat().resolvedOptions().timeZone}.`;
at("axis").title = at("zone").textContent;

setInterval(() => { if (!document.hidden && state.shown.some((entry) => entry.kind === "running")) draw(); }, 1000);

if (document.documentElement.dataset.token === "needed" && !state.token) gate(true);
else connect();
