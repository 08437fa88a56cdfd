// SPDX-License-Identifier: Apache-2.0
// The paths that are served, who may use them, and what answers.
#ifndef WHARF_SERVE_ROUTE_H
#define WHARF_SERVE_ROUTE_H

#include "core/serve/http/connections.h"
#include "core/serve/http/web.h"

#define ROUTE_SEGMENTS 3

enum access {
    ACCESS_OPEN,      // everybody
    ACCESS_WHARF,     // get of the path /wharf, or a caller at a loopback address
    ACCESS_WORKLOADS, // list of the kinds asked for, or a caller at a loopback address
    ACCESS_EXPLAIN,   // get of the object, or a caller at a loopback address
    ACCESS_LOGS,      // get of pods/log in the namespace
    ACCESS_EXEC       // create of pods/exec in the namespace
};

struct route {
    const char *path; // with a slash at its end: `segments` more parts follow
    size_t segments;
    enum access access;
    enum connection_kind kind;
    const char *content_type; // of `make`
    // Answers at once, from memory: fills the body and returns the status code. NULL: `serve` does.
    unsigned (*make)(struct http_server *server, struct buffer *body);
    // Answers on a thread that may wait.
    void (*serve)(struct web_call *call);
};

// NULL: there is none. `with_api` false: only what has no API behind it.
const struct route *route_find(const char *path, bool with_api);

// Splits what follows a route's own path into exactly `count` segments, none of them empty; changes `rest`.
bool route_split(char *rest, size_t count, const char **segments);

#endif
