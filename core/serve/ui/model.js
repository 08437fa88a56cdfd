// SPDX-License-Identifier: Apache-2.0
// What the page knows: the workers, and every delegated workload by its key.
const model = {
  workloads: new Map(), workers: [], status: null, sequence: 0, adapters: [], loaded: false,
  filter: { text: "", phase: "", cluster: "", kind: "", namespace: "" },
  latencies: new Map(), // of a worker: its last samples
  sort: { column: "changedAt", down: true },
  shown: [], kinds: new Set(), namespaces: new Set(), nodes: {}, moves: [],
};
const SAMPLES = 60;
const PHASES = ["Pending", "Suspended", "Running", "Succeeded", "Failed"];
const keyOf = (w) => `${w.kind}/${w.namespace}/${w.name}`;

// Why it waits, of each worker where that is known.
const waitText = (w) => (w.waiting ? w.waiting.detail || w.waiting.message : "");
const waitsForWorker = (w) => Boolean(w.waiting) && ["no-worker", "refused", "room", "capacity"].includes(w.waiting.reason);

// Where the flow shows it: unplaced ones wait.
function nodeOf(w) {
  return !w.cluster && (w.phase === "Pending" || w.phase === "Running") ? "Waiting" : w.phase;
}

function countNode(node, by) {
  model.nodes[node] = (model.nodes[node] || 0) + by;
}

function put(w) {
  const key = keyOf(w), old = model.workloads.get(key), node = nodeOf(w);
  w.key = key;
  w.node = node;
  w.text = `${w.namespace}/${w.name} ${w.kind} ${w.cluster || ""} ${w.phase}`.toLowerCase();
  if (old) countNode(old.node, -1);
  countNode(node, 1);
  if (old && old.node !== node && model.moves.length < 40) model.moves.push([old.node, node]);
  model.workloads.set(key, w);
  model.kinds.add(w.kind);
  model.namespaces.add(w.namespace);
}

function drop(w) {
  const key = keyOf(w), old = model.workloads.get(key);
  if (!old) return;
  countNode(old.node, -1);
  model.workloads.delete(key);
}

function takeWorkloads(batch) {
  if (batch.full) [...model.workloads.values()].forEach(drop);
  (batch.gone || []).forEach(drop);
  batch.items.forEach(put);
  model.sequence = batch.sequence;
}

function takeWorkers(list) {
  model.workers = list.items;
  for (const worker of list.items) {
    const samples = model.latencies.get(worker.name) || [];
    const p50 = worker.latencySeconds && worker.latencySeconds.p50;
    if (typeof p50 === "number") samples.push(p50);
    model.latencies.set(worker.name, samples.slice(-SAMPLES));
  }
}

const ORDERS = {
  kind: (w) => w.kind, name: (w) => `${w.namespace}/${w.name}`, phase: (w) => PHASES.indexOf(w.phase),
  cluster: (w) => w.cluster || "", attempt: (w) => w.attempt || 0, changedAt: (w) => w.changedAt || w.placedAt || "",
  waiting: waitText,
};

function select() {
  const { text, phase, cluster, kind, namespace } = model.filter, words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const order = ORDERS[model.sort.column], sign = model.sort.down ? -1 : 1, found = [];
  for (const w of model.workloads.values())
    if ((!kind || w.kind === kind) && (!namespace || w.namespace === namespace) && (!cluster || w.cluster === cluster) &&
        (!phase || w.node === phase) && words.every((word) => w.text.includes(word))) {
      w.order = order(w);
      found.push(w);
    }
  found.sort((a, b) => (a.order < b.order ? -sign : a.order > b.order ? sign : a.key < b.key ? -1 : 1));
  model.shown = found;
}

function age(time) {
  if (!time) return "";
  const s = Math.max(0, (Date.now() - Date.parse(time)) / 1000);
  if (s < 120) return `${Math.floor(s)}s`;
  if (s < 7200) return `${Math.floor(s / 60)}m`;
  if (s < 172800) return `${Math.floor(s / 3600)}h`;
  return `${Math.floor(s / 86400)}d`;
}
