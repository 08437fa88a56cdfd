// SPDX-License-Identifier: Apache-2.0
// The view in the address, #kind=Job&namespace=team-a&open=Job/team-a/train: a view can be linked to, and Back and Forward work.
const FILTERS = ["text", "phase", "cluster", "kind", "namespace"];

function routeText() {
  const params = new URLSearchParams();
  for (const name of FILTERS) if (model.filter[name]) params.set(name, model.filter[name]);
  if (story.key) params.set("open", story.key);
  const text = params.toString().replaceAll("%2F", "/");
  return text && `#${text}`;
}

// Each view is a step that Back undoes; typing replaces the last one.
function writeRoute(replace) {
  const text = routeText();
  if (text !== location.hash) history[replace ? "replaceState" : "pushState"](null, "", text || location.pathname);
}

function readRoute() {
  const params = new URLSearchParams(location.hash.slice(1));
  for (const name of FILTERS) model.filter[name] = params.get(name) || "";
  $("search").value = model.filter.text;
  story.key = params.get("open") || "";
  writeRoute(true);
  if (story.key) showStory();
  else if ($("story").open) $("story").close();
  draw();
}

function setFilter(name, value) {
  model.filter[name] = value;
  writeRoute(name === "text");
  drawTable();
  draw();
}

function clearFilters() {
  for (const name of FILTERS) model.filter[name] = "";
  $("search").value = "";
  writeRoute();
  draw();
}
