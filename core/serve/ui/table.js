// SPDX-License-Identifier: Apache-2.0
// The table of workloads: only the rows in view exist.
const COLUMNS = [["kind", "Kind"], ["name", "Name"], ["phase", "Phase"], ["cluster", "Cluster"], ["attempt", "Attempt"], ["changedAt", "Changed"],
  ["waiting", "Waits for"]];
const rows = { pool: [], selected: "" };

function rowHeight() {
  return parseInt(getComputedStyle(document.documentElement).getPropertyValue("--row"), 10);
}

function makeRow() {
  const row = el("div", { className: "row", role: "option" }, el("span", { className: "kind dim" }), el("span", { className: "name" }),
    el("span", { className: "pill" }), el("span", { className: "cluster" }), el("span", { className: "attempt-n dim" }),
    el("span", { className: "age dim" }), el("span", { className: "wait dim" }));
  row.addEventListener("click", () => openStory(row.workload.key));
  return row;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function fillRow(row, w, index, height) {
  row.workload = w;
  row.style.transform = `translateY(${index * height}px)`;
  row.setAttribute("aria-selected", String(w.key === rows.selected));
  row.id = `row-${index}`;
  const [kind, name, phase, cluster, attempt, changed, waits] = row.children;
  setText(kind, w.kind);
  setText(name, `${w.namespace}/${w.name}`);
  phase.className = `pill p-${w.phase}`;
  setText(phase, w.deleting ? "Deleting" : w.phase);
  setText(cluster, w.cluster || "—");
  setText(attempt, w.attempt ? String(w.attempt) : "");
  setText(changed, age(w.changedAt || w.placedAt));
  setText(waits, waitText(w).replace(/^0\/\d+ workers accept it: /, ""));
  waits.title = waitText(w);
}

function drawRows() {
  const box = $("rows"), height = rowHeight(), first = Math.max(0, Math.floor(box.scrollTop / height) - 4);
  const last = Math.min(model.shown.length, Math.ceil((box.scrollTop + box.clientHeight) / height) + 4);
  while (rows.pool.length < last - first) {
    const row = makeRow();
    rows.pool.push(row);
    $("spacer").append(row);
  }
  rows.pool.forEach((row, i) => {
    row.classList.toggle("hidden", first + i >= last);
    if (first + i < last) fillRow(row, model.shown[first + i], first + i, height);
  });
}

// The choices of a filter; one that a link names may not be among the workloads.
function fillChoices(name, all, values) {
  const select = $(name), chosen = model.filter[name], wanted = [...new Set([...values, chosen])].filter(Boolean).sort();
  if (select.options.length - 1 !== wanted.length || ![...select.options].some((option) => option.value === chosen))
    select.replaceChildren(el("option", { value: "" }, all), ...wanted.map((value) => el("option", { value }, value)));
  select.value = chosen;
}

function emptyText() {
  const filters = FILTERS.filter((name) => model.filter[name]).map((name) => `${name} ${model.filter[name]}`);
  if (!model.loaded) return ["Loading…"];
  if (filters.length && model.workloads.size)
    return [`None of the ${model.workloads.size} workloads matches ${filters.join(", ")}. `,
      el("button", { type: "button", on: { click: clearFilters } }, "Clear filters")];
  if (!model.status.ready) return ["No workloads are known yet: the host is not ready."];
  const kind = model.adapters.flatMap((adapter) => adapter.kinds)[0];
  return ["No workload is delegated to this host. ", kind ? `Create one with managedBy: ${kind.managedBy}, for example a ${kind.kind}; ` +
    "or see why one is not listed: " : "See why one is not listed: ", el("code", {}, "wharf explain KIND/NAME")];
}

function drawEmpty() {
  const none = model.shown.length === 0;
  $("rows").classList.toggle("hidden", none);
  $("empty").classList.toggle("hidden", !none);
  const text = none ? emptyText() : [];
  if (text.map((part) => part.textContent || part).join("") !== $("empty").textContent) $("empty").replaceChildren(...text);
}

function drawTable() {
  select();
  const filtered = Object.values(model.filter).some(Boolean);
  $("spacer").style.height = `${model.shown.length * rowHeight()}px`;
  $("count").textContent = filtered ? `${model.shown.length} of ${model.workloads.size}` : String(model.workloads.size);
  $("clear").classList.toggle("hidden", !filtered);
  drawEmpty();
  for (const button of $("columns").children)
    if (button.dataset.column === model.sort.column) button.setAttribute("aria-sort", model.sort.down ? "descending" : "ascending");
    else button.removeAttribute("aria-sort");
  fillChoices("phase", "All phases", NODES.map(([name]) => name));
  fillChoices("cluster", "All clusters", model.workers.map((worker) => worker.name));
  fillChoices("kind", "All kinds", model.kinds);
  fillChoices("namespace", "All namespaces", model.namespaces);
  drawRows();
}

function moveSelection(by) {
  const at = model.shown.findIndex((w) => w.key === rows.selected);
  const to = Math.min(model.shown.length - 1, Math.max(0, at + by)), box = $("rows"), height = rowHeight();
  if (to < 0) return;
  rows.selected = model.shown[to].key;
  if (to * height < box.scrollTop) box.scrollTop = to * height;
  if ((to + 1) * height > box.scrollTop + box.clientHeight) box.scrollTop = (to + 1) * height - box.clientHeight;
  drawRows();
  for (const id of ["rows", "search"]) $(id).setAttribute("aria-activedescendant", `row-${to}`);
}

// In the rows, and in the search above them, where Home and End move in the text.
function moveByKey(event) {
  const page = Math.floor($("rows").clientHeight / rowHeight());
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
  if (event.currentTarget === $("rows")) Object.assign(steps, { Home: -Infinity, End: Infinity });
  if (event.key in steps) moveSelection(steps[event.key]);
  else if (event.key !== "Enter") return;
  else {
    const found = model.shown.find((w) => w.key === rows.selected) || model.shown[0];
    if (found) openStory(found.key);
  }
  event.preventDefault();
}

function buildTable() {
  $("columns").append(...COLUMNS.map(([column, title]) => {
    const button = el("button", { type: "button", on: { click: () => {
      model.sort = { column, down: model.sort.column === column ? !model.sort.down : column === "changedAt" };
      drawTable();
    } } }, title);
    button.dataset.column = column;
    return button;
  }));
  $("rows").addEventListener("scroll", () => requestAnimationFrame(drawRows), { passive: true });
  new ResizeObserver(drawRows).observe($("rows"));
  for (const id of ["rows", "search"]) $(id).addEventListener("keydown", moveByKey);
}
