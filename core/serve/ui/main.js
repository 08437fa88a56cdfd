// SPDX-License-Identifier: Apache-2.0
// Keeps the page up to date: one list, then the stream of changes.
let drawDue = 0, drawnAt = 0;

// Redraws at most four times a second, and not while nobody looks.
function draw() {
  if (drawDue || document.hidden) return;
  drawDue = setTimeout(() => requestAnimationFrame(() => {
    drawDue = 0;
    drawnAt = Date.now();
    drawWorkers();
    drawFlow();
    drawTable();
    drawHeld();
  }), Math.max(0, drawnAt + 250 - Date.now()));
}

function drawStatus() {
  const status = model.status;
  $("ready").textContent = status.ready ? "Ready" : "Not ready";
  $("ready").className = `pill s-${status.ready ? "good" : "bad"}`;
  $("summary").textContent = `${status.origin || ""} · ${status.version}`;
  const reload = status.config && status.config.lastReload;
  const problems = [...(status.reasons || [])];
  if (reload && reload.successful === false) problems.push(`The configuration was not reloaded: ${reload.message}`);
  $("notice").textContent = problems.join(" · ");
  $("notice").classList.toggle("hidden", problems.length === 0);
}

function setLive(text, tone) {
  $("live").textContent = text;
  $("live").className = `pill s-${tone}`;
}

// The pages of a list of workloads.
async function* listed(query) {
  let next = "";
  do {
    const page = await api.get(`/api/v1/workloads?limit=1000${query}${next ? `&continue=${encodeURIComponent(next)}` : ""}`);
    yield page;
    next = page.continue;
  } while (next);
}

// The reasons of workers change, and the workloads that wait for one do not: their texts are read again.
async function refreshWaiting() {
  for await (const page of listed("&cluster="))
    for (const w of page.items) {
      const old = model.workloads.get(keyOf(w));
      if (old && (w.changedAt || "") >= (old.changedAt || "")) put(w);
    }
  draw();
}

function followWorkers(list) {
  const states = JSON.stringify(list.items.map((worker) => [worker.name, worker.state, worker.reason]));
  const changed = model.states !== states;
  takeWorkers(list);
  model.states = states;
  if (changed && [...model.workloads.values()].some(waitsForWorker)) refreshWaiting().catch(() => { /* the next list has them */ });
}

async function loadAll() {
  model.status = await api.get("/api/v1/status");
  drawStatus();
  followWorkers(await api.get("/api/v1/workers"));
  const seen = new Set();
  let sequence = null;
  for await (const page of listed("")) {
    sequence ??= page.sequence; // what changes meanwhile comes again
    page.items.forEach((w) => { put(w); seen.add(w.key); });
    draw();
  }
  for (const w of [...model.workloads.values()]) if (!seen.has(w.key)) drop(w);
  model.sequence = sequence;
  model.moves.length = 0;
  model.loaded = true;
  refreshStory();
  drawAdapters().catch((error) => { $("adapters").textContent = error.message; });
}

function take(name, data) {
  if (name === "workloads") takeWorkloads(data);
  else if (name === "workers") followWorkers(data);
  else if (name === "status") {
    model.status = data;
    drawStatus();
  }
  if (name === "workloads" && [...data.items, ...data.gone || []].some((w) => keyOf(w) === story.key)) refreshStory();
  draw();
}

async function run() {
  for (let pause = 500; ; pause = Math.min(pause * 2, 10000)) {
    try {
      await loadAll();
      const response = await api.open(`/api/v1/watch?since=${model.sequence}`, { headers: { Accept: "text/event-stream" } });
      setLive("live", "good");
      pause = 500;
      await readEvents(response.body, take);
    } catch (error) {
      if (error.status === 401 || error.status === 403) {
        await api.ask(error.message);
        continue;
      }
    }
    setLive("reconnecting", "warn");
    await wait(pause);
  }
}

function listen() {
  $("search").addEventListener("input", (event) => setFilter("text", event.target.value));
  for (const id of ["phase", "cluster", "kind", "namespace"])
    $(id).addEventListener("change", (event) => setFilter(id, event.target.value));
  $("clear").addEventListener("click", clearFilters);
  $("theme").addEventListener("click", () => {
    const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = (root.dataset.theme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
    localStorage.setItem("wharf-theme", root.dataset.theme);
  });
  $("story").addEventListener("close", closedStory);
  addEventListener("hashchange", readRoute);
  document.addEventListener("visibilitychange", draw);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || /INPUT|SELECT|TEXTAREA/.test(document.activeElement.tagName) || $("story").open) return;
    event.preventDefault();
    $("search").focus();
  });
  setInterval(draw, 5000); // ages
}

const theme = localStorage.getItem("wharf-theme");
if (theme) document.documentElement.dataset.theme = theme;
buildFlow();
buildTable();
listen();
readRoute();
run();
