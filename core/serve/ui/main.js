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

async function loadAll() {
  model.status = await api.get("/api/v1/status");
  drawStatus();
  takeWorkers(await api.get("/api/v1/workers"));
  const seen = new Set();
  let next = "", sequence = null;
  do {
    const page = await api.get(`/api/v1/workloads?limit=1000${next ? `&continue=${encodeURIComponent(next)}` : ""}`);
    sequence ??= page.sequence; // what changes meanwhile comes again
    page.items.forEach((w) => { put(w); seen.add(w.key); });
    next = page.continue;
    draw();
  } while (next);
  for (const w of [...model.workloads.values()]) if (!seen.has(w.key)) drop(w);
  model.sequence = sequence;
  model.moves.length = 0;
  drawAdapters().catch((error) => { $("adapters").textContent = error.message; });
}

function take(name, data) {
  if (name === "workloads") takeWorkloads(data);
  else if (name === "workers") takeWorkers(data);
  else if (name === "status") {
    model.status = data;
    drawStatus();
  }
  if (name === "workloads" && data.items.some((w) => keyOf(w) === story.key)) refreshStory();
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
  $("search").addEventListener("input", (event) => { model.filter.text = event.target.value; drawTable(); });
  $("kind").addEventListener("change", (event) => { model.filter.kind = event.target.value; drawTable(); });
  $("clear").addEventListener("click", () => {
    model.filter = { text: "", kind: "", cluster: "", node: "" };
    $("search").value = "";
    draw();
  });
  $("theme").addEventListener("click", () => {
    const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = (root.dataset.theme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
    localStorage.setItem("wharf-theme", root.dataset.theme);
  });
  $("story").addEventListener("close", () => { if (story.abort) story.abort.abort(); story.key = ""; $("rows").focus(); });
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
run();
