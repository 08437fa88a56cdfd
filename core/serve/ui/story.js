// SPDX-License-Identifier: Apache-2.0
// One workload: its attempts on a time line, why it is where it is, and the logs of its pods.
const story = { key: "", abort: null };
const OUTCOMES = { Succeeded: "Succeeded", Failed: "Failed", Lost: "Failed", Rejected: "Failed" };
const LOG_LINES = 2000;

// Of the workload with a key; one that is not listed is found by its kind.
function pathOf(key) {
  const w = model.workloads.get(key), [kind, ...rest] = key.split("/");
  return [w ? `${w.resource || kind}${w.group ? `.${w.group}` : ""}` : kind, ...rest].map(encodeURIComponent).join("/");
}
const clock = (time) => (time ? new Date(time).toLocaleString() : "");

function bar(from, to, span, tone, title) {
  const line = el("i", { className: tone, title });
  line.style.left = `${(100 * (from - span.first) / span.length).toFixed(2)}%`;
  line.style.width = `${(100 * Math.max(0, to - from) / span.length).toFixed(2)}%`;
  return line;
}

function timeLine(attempts) {
  const at = (time, other) => (time ? Date.parse(time) : other), now = Date.now();
  const first = Math.min(...attempts.map((a) => at(a.placedAt || a.createdAt || a.startedAt, now)));
  const last = Math.max(...attempts.map((a) => at(a.endedAt, now)));
  const span = { first, length: Math.max(last - first, 1000) };
  return attempts.map((a) => {
    const placed = at(a.placedAt || a.createdAt, first), started = at(a.startedAt || a.createdAt, placed), ended = at(a.endedAt, now);
    const tone = a.endedAt ? OUTCOMES[a.outcome] || "Suspended" : "Running";
    return el("div", {}, el("div", { className: "attempt" }, el("span", {}, el("b", {}, `#${a.attempt}`), ` ${a.cluster}`),
      el("span", { className: "line" }, bar(placed, started, span, `wait p-${tone}`, `placed ${clock(a.placedAt)}`),
        bar(started, ended, span, `p-${tone}`, `${clock(a.startedAt || a.createdAt)} – ${a.endedAt ? clock(a.endedAt) : "now"}`))),
      el("p", { className: "why" }, [a.outcome || "running", a.endedAt ? clock(a.endedAt) : `since ${clock(a.startedAt || a.createdAt || a.placedAt)}`,
        a.message].filter(Boolean).join(" · ")));
  });
}

function section(title, ...content) {
  return content.some(Boolean) ? el("section", {}, el("h2", {}, title), ...content) : null;
}

async function followLogs(out, options) {
  if (story.abort) story.abort.abort();
  const abort = story.abort = new AbortController();
  const lines = [];
  out.textContent = "";
  try {
    const body = (await api.open(`/api/v1/logs/${pathOf(story.key)}?tailLines=500&allPods=true${options.follow ? "&follow=true" : ""}`, { signal: abort.signal })).body;
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "", due = false;
    const paint = () => {
      due = false;
      const bottom = out.scrollHeight - out.scrollTop - out.clientHeight < 30;
      out.textContent = lines.join("\n");
      if (bottom) out.scrollTop = out.scrollHeight;
    };
    for (;;) {
      const { value, done } = await reader.read();
      const parts = (rest + (value || "")).split("\n");
      rest = done ? "" : parts.pop();
      lines.push(...parts);
      lines.splice(0, Math.max(0, lines.length - LOG_LINES));
      if (!due) requestAnimationFrame(paint);
      due = true;
      if (done) return;
    }
  } catch (error) {
    if (abort.signal.aborted) return;
    if (error.status === 401 && await api.ask("Logs are shown to those who may read them in the management cluster.")) followLogs(out, options);
    else out.textContent = error.message;
  }
}

function logSection() {
  const out = el("pre", { className: "logs", tabIndex: 0, "aria-label": "Logs" });
  const follow = el("input", { type: "checkbox", checked: true });
  const show = el("button", { type: "button", on: { click: () => followLogs(out, { follow: follow.checked }) } }, "Show logs");
  return section("Logs", el("div", { className: "tools" }, show, el("label", {}, follow, " follow")), out);
}

function reasons(list) {
  return list && list.length ? el("table", {}, el("tbody", {}, ...list.map((worker) => el("tr", {}, el("td", {}, worker.name),
    el("td", {}, el("span", { className: `pill s-${worker.fit ? "good" : "warn"}` }, worker.fit ? "accepts it" : "does not")),
    el("td", { className: "dim text" }, [worker.reason, worker.until ? `until ${clock(worker.until)}` : ""].filter(Boolean).join(", ")))))) : null;
}

function drawStory(told) {
  const body = $("story-body"), w = model.workloads.get(story.key) || told;
  const waiting = told.waitingFor || (told.waiting && told.waiting.message);
  body.replaceChildren(...[
    w.phase && el("p", {}, el("span", { className: `pill p-${w.phase}` }, w.phase), " ", w.cluster ? `in ${w.cluster}, attempt ${w.attempt}` : "in no cluster"),
    told.ours === false ? el("p", {}, told.why) : null,
    waiting ? section("Waits for", el("p", {}, waiting, told.until ? ` (until ${clock(told.until)})` : "")) : null,
    told.attempts && told.attempts.length ? section("Attempts", ...timeLine(told.attempts)) : null,
    told.lastWords && told.lastWords.length ? section("Last words", el("ul", {}, ...told.lastWords.map((words) =>
      el("li", { className: "text" }, `attempt ${words.attempt} in ${words.cluster}: ${words.text}`)))) : null,
    section("Clusters", reasons(told.workers)),
    told.help && told.help.length ? section("What would help", el("ul", {}, ...told.help.map((line) => el("li", {}, line)))) : null,
    told.events && told.events.length ? section("Events", el("table", {}, el("tbody", {}, ...told.events.map((event) =>
      el("tr", {}, el("td", { className: "dim" }, age(event.lastAt)), el("td", {}, event.reason), el("td", { className: "text" }, event.message)))))) : null,
  ].filter(Boolean));
}

async function refreshStory() {
  const key = story.key;
  if (!key || !$("story").open) return;
  try {
    const told = await api.get(`/api/v1/workloads/${pathOf(key)}`);
    if (key === story.key) drawStory(told);
  } catch (error) {
    if (key === story.key) $("story-body").replaceChildren(el("p", {}, error.message));
  }
}

function showStory() {
  const [kind, ...rest] = story.key.split("/");
  if (story.abort) story.abort.abort();
  rows.selected = story.key;
  $("story").replaceChildren(
    el("div", { className: "head" }, el("h2", { id: "story-name" }, `${kind} ${rest.join("/")}`),
      el("button", { type: "button", "aria-label": "Close", on: { click: () => $("story").close() } }, "✕")),
    el("div", { id: "story-body" }, el("p", { className: "dim" }, "…")), el("div", {}, logSection()));
  if (!$("story").open) $("story").showModal();
  drawRows();
  refreshStory();
}

function openStory(key) {
  story.key = key;
  writeRoute();
  showStory();
}

function closedStory() {
  if ($("story").open) return; // opened again since
  if (story.abort) story.abort.abort();
  story.key = "";
  writeRoute();
  $("rows").focus();
}
