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
  row.addEventListener("click", () => openStory(row.workload));
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
  setText(waits, w.waiting ? w.waiting.message || w.waiting.reason : "");
  waits.title = w.waiting ? w.waiting.message : "";
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

function drawTable() {
  select();
  const filtered = Object.values(model.filter).some(Boolean);
  $("spacer").style.height = `${model.shown.length * rowHeight()}px`;
  $("count").textContent = filtered ? `${model.shown.length} of ${model.workloads.size}` : String(model.workloads.size);
  $("clear").classList.toggle("hidden", !filtered);
  $("rows").classList.toggle("empty", model.shown.length === 0);
  for (const button of $("columns").children)
    if (button.dataset.column === model.sort.column) button.setAttribute("aria-sort", model.sort.down ? "descending" : "ascending");
    else button.removeAttribute("aria-sort");
  if ($("kind").options.length - 1 !== model.kinds.size)
    $("kind").replaceChildren(el("option", { value: "" }, "All kinds"), ...[...model.kinds].sort().map((kind) => el("option", { value: kind }, kind)));
  $("kind").value = model.filter.kind;
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
  box.setAttribute("aria-activedescendant", `row-${to}`);
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
  const page = () => Math.floor($("rows").clientHeight / rowHeight());
  $("rows").addEventListener("keydown", (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page(), PageUp: -page(), Home: -Infinity, End: Infinity };
    if (event.key in steps) moveSelection(steps[event.key]);
    else if (event.key === "Enter" && model.workloads.has(rows.selected)) openStory(model.workloads.get(rows.selected));
    else return;
    event.preventDefault();
  });
}
