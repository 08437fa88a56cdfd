// SPDX-License-Identifier: Apache-2.0
// The page: requests to the host's API (docs/api.md) and its stream of changes.
"use strict";

const $ = (id) => document.getElementById(id);

// An element; children are elements or text, so that nothing that a cluster says is ever parsed as HTML.
function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (key === "on") for (const [event, fn] of Object.entries(value)) node.addEventListener(event, fn);
    else if (key in node && key !== "role" && !key.startsWith("aria")) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const api = {
  headers(more) {
    const token = sessionStorage.getItem("wharf-token");
    return token ? { Authorization: `Bearer ${token}`, ...more } : { ...more };
  },
  // The response, or an Error with `status` and the server's sentence.
  async open(path, options = {}) {
    const response = await fetch(path, { cache: "no-store", ...options, headers: api.headers(options.headers) });
    if (response.ok) return response;
    let message = `${response.status} ${response.statusText}`;
    try {
      const text = await response.text();
      message = text.startsWith("{") ? JSON.parse(text).message || message : text.trim() || message;
    } catch { /* the status line says enough */ }
    throw Object.assign(new Error(message), { status: response.status });
  },
  async get(path) {
    return (await api.open(path)).json();
  },
  // Asks for a token; resolves when one was entered.
  ask(why) {
    $("ask-why").textContent = why;
    const dialog = $("ask");
    if (!dialog.open) dialog.showModal();
    return new Promise((resolve) => {
      dialog.addEventListener("close", () => {
        const token = $("token").value.trim();
        $("token").value = "";
        if (token) sessionStorage.setItem("wharf-token", token);
        resolve(Boolean(token));
      }, { once: true });
    });
  },
};

// Reads server-sent events (WHATWG HTML, section 9.2) with fetch, since EventSource sends no Authorization header.
async function readEvents(body, take) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", name = "", data = [], id = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (data.length) take(name, JSON.parse(data.join("\n")), id);
        name = "";
        data = [];
      } else if (line.startsWith("event:")) name = line.slice(6).trim();
      else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
      else if (line.startsWith("id:")) id = line.slice(3).trim();
    }
  }
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
