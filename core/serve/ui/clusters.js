// SPDX-License-Identifier: Apache-2.0
// The clusters as cards, the workloads by phase, what is held back, and the adapters.
const TONES = { Ready: "good", Cordoned: "off", Draining: "warn", Leaving: "warn", Connecting: "warn", Suspect: "warn",
  Unreachable: "bad", Refused: "bad", Rejected: "bad", Paused: "warn" };
const SVG = "http://www.w3.org/2000/svg";

function filterBy(field, value) {
  setFilter(field, model.filter[field] === value ? "" : value);
}

function sparkline(samples) {
  const svg = document.createElementNS(SVG, "svg"), path = document.createElementNS(SVG, "path");
  const most = Math.max(...samples, 0.001), step = 100 / (SAMPLES - 1), first = SAMPLES - samples.length;
  svg.setAttribute("class", "spark");
  svg.setAttribute("viewBox", "0 0 100 28");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `latency, at most ${Math.round(most * 1000)} ms`);
  path.setAttribute("d", samples.map((v, i) => `${i ? "L" : "M"}${((first + i) * step).toFixed(1)} ${(26 - 24 * v / most).toFixed(1)}`).join(""));
  svg.append(path);
  return svg;
}

function number(value, label) {
  return el("span", {}, el("b", {}, String(value ?? 0)), " ", el("span", { className: "dim" }, label));
}

// Free GPUs and the like, the guard, and credentials that end within an hour; "": nothing of the kind.
function assets(worker) {
  const { capacity, guard, credentials } = worker, facts = [];
  if (capacity && capacity.state !== "known") facts.push(`free capacity is ${capacity.state}`);
  for (const r of capacity && capacity.state === "known" ? capacity.resources : [])
    if (r.name.includes("/")) facts.push(`${r.free} of ${r.allocatable} ${r.name} free`);
  if (guard) facts.push(`guard: ${guard.state}`);
  if (credentials && credentials.expiresAt) facts.push(`${credentials.kind} until ${new Date(credentials.expiresAt).toLocaleString()}`);
  return facts.join(", ");
}

function card(worker, most) {
  const samples = model.latencies.get(worker.name) || [], last = samples[samples.length - 1];
  const blind = (worker.kinds || []).filter((kind) => !kind.eligible && kind.problem && kind.problem !== worker.reason);
  const load = el("i", {});
  load.style.transform = `scaleX(${most ? (worker.active / most).toFixed(3) : 0})`;
  return el("button", { type: "button", className: "card worker", "aria-pressed": String(model.filter.cluster === worker.name),
    title: worker.from || worker.source || "", on: { click: () => filterBy("cluster", worker.name) } },
    el("span", { className: "top" }, el("span", { className: "name" }, worker.name),
      el("span", { className: `pill s-${TONES[worker.state] || "off"}` }, worker.state)),
    el("span", { className: "numbers" }, number(worker.active, "active"), number(worker.mirrors, "mirrors")),
    el("span", { className: "load" }, load),
    sparkline(samples),
    el("span", { className: "why" }, last === undefined ? "no latency yet" : `${(last * 1000).toFixed(last < 0.01 ? 1 : 0)} ms a request, ` +
      `${worker.inFlight} of ${worker.window} in flight`),
    assets(worker) ? el("span", { className: "why" }, assets(worker)) : null,
    worker.reason ? el("span", { className: "why" }, worker.reason) : null,
    ...blind.slice(0, 2).map((kind) => el("span", { className: "why" }, `${kind.kind}: ${kind.problem}`)));
}

function drawWorkers() {
  const most = Math.max(...model.workers.map((w) => w.active), 1), box = $("workers");
  const focused = [...box.children].indexOf(document.activeElement);
  box.replaceChildren(...model.workers.map((worker) => card(worker, most)));
  if (!model.workers.length) box.append(el("p", { className: "dim" }, "No cluster is configured: wharf join --context CONTEXT adds one."));
  if (focused >= 0 && box.children[focused]) box.children[focused].focus();
}

const NODES = [["Waiting", "Pending", "no cluster yet"], ["Pending", "Pending", "placed, not started"], ["Suspended", "Suspended", "asked to pause"],
  ["Running", "Running", ""], ["Succeeded", "Succeeded", ""], ["Failed", "Failed", ""]];
const EDGES = [["Waiting", "Pending"], ["Pending", "Running"], ["Suspended", "Running"], ["Running", "Succeeded"], ["Running", "Failed"]];

function buildFlow() {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("aria-hidden", "true");
  $("flow").append(...NODES.map(([name, tone, note]) => el("button", { type: "button", id: `n-${name}`, className: `node p-${tone}`,
    on: { click: () => filterBy("phase", name) } }, el("b", {}, "0"), el("span", {}, name), el("span", { className: "dim" }, note && ` · ${note}`))));
  $("flow").append(svg);
  new ResizeObserver(drawEdges).observe($("flow"));
}

// The middle of a node's side, relative to the flow.
function point(name, side) {
  const node = $(`n-${name}`);
  return [node.offsetLeft + (side < 0 ? 0 : side > 0 ? node.offsetWidth : node.offsetWidth / 2), node.offsetTop + node.offsetHeight / 2];
}

function drawEdges() {
  $("flow").querySelector("svg").replaceChildren(...EDGES.map(([from, to]) => {
    const [x1, y1] = point(from, 1), [x2, y2] = point(to, -1), path = document.createElementNS(SVG, "path"), mid = (x1 + x2) / 2;
    path.setAttribute("d", `M${x1} ${y1}C${mid} ${y1} ${mid} ${y2} ${x2} ${y2}`);
    return path;
  }));
}

function drawFlow() {
  for (const [name] of NODES) {
    $(`n-${name}`).firstChild.textContent = String(model.nodes[name] || 0);
    $(`n-${name}`).setAttribute("aria-pressed", String(model.filter.phase === name));
  }
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches || document.hidden;
  for (const [from, to] of model.moves.splice(0)) {
    if (still) continue;
    const [x1, y1] = point(from, 1), [x2, y2] = point(to, -1);
    const dot = el("i", { className: `dot p-${to === "Waiting" ? "Pending" : to}` });
    $("flow").append(dot);
    dot.animate([{ transform: `translate(${x1}px,${y1}px)` }, { transform: `translate(${x2}px,${y2}px)` }],
      { duration: 700 + Math.random() * 300, easing: "ease-in-out" }).finished.then(() => dot.remove(), () => dot.remove());
  }
}

function drawHeld() {
  const groups = new Map();
  for (const w of model.workloads.values()) {
    if (!w.waiting) continue;
    const group = groups.get(w.waiting.reason) || { count: 0, text: waitText(w), first: w };
    group.count++;
    if (group.text !== waitText(w)) group.text = w.waiting.message;
    groups.set(w.waiting.reason, group);
  }
  const rows = [...groups].sort((a, b) => b[1].count - a[1].count).map(([reason, group]) =>
    el("tr", {}, el("td", {}, String(group.count)), el("td", {}, reason), el("td", { className: "dim text" }, group.text),
      el("td", {}, el("button", { type: "button", on: { click: () => openStory(group.first.key) } }, "one of them"))));
  $("held").replaceChildren(rows.length ? el("table", {}, el("tbody", {}, ...rows)) : el("span", { className: "dim" }, "Nothing waits."));
}

async function drawAdapters() {
  const { items } = await api.get("/api/v1/adapters");
  model.adapters = items;
  draw();
  $("adapters").replaceChildren(el("table", {}, el("tbody", {}, ...items.map((adapter) =>
    el("tr", {}, el("td", {}, el("b", {}, adapter.name), " ", el("span", { className: "dim" }, adapter.version || "")),
      el("td", { className: "text" }, adapter.kinds.map((kind) => kind.kind).join(", ")),
      el("td", { className: "mono", title: `${adapter.file}\nsha256 ${adapter.sha256}` }, (adapter.sha256 || "").slice(0, 12)),
      el("td", { className: "dim" }, adapter.errors ? `${adapter.errors} errors` : ""))))));
}
