// SPDX-License-Identifier: Apache-2.0
// A worker with invalid answers: an API server of the world model over plain HTTP on 127.0.0.1, some of whose answers
// are replaced by bytes that no API server would send.
#pragma once

#include "tests/unit/kube/tls_server.h"
#include "tests/world/world.h"

#include <stdbool.h>
#include <stddef.h>

enum raw_stage {
    RAW_DISCOVERY, // GET /apis/<group>/<version>
    RAW_LIST,      // GET of a collection; the server does not know sendInitialEvents then
    RAW_WATCH,
    RAW_WRITE // the write takes effect, its answer is replaced
};

struct raw_case {
    const char *name; // of the worker
    enum raw_stage stage;
    const char *answer; // sent verbatim, then the connection is closed; NULL: `spoil` sends
    void (*spoil)(struct peer *peer, const struct raw_case *raw);
    const char *detail; // for `spoil`
};

struct raw_server;
struct raw_server *raw_start(const struct raw_case *raw); // aborts on failure; `raw` must outlive it
void raw_stop(struct raw_server *server);
unsigned raw_port(const struct raw_server *server);
size_t raw_hits(struct raw_server *server); // answers that were replaced
void raw_heal(struct raw_server *server);   // from now on its answers are valid
size_t raw_jobs(struct raw_server *server); // that exist there
uint64_t raw_creates(struct raw_server *server);
void raw_let_end(struct raw_server *server); // held pods

// For `spoil`. A whole answer of 200 with Content-Length.
void raw_send_json(struct peer *peer, const char *body);
// An object of 100 MB in one annotation; `detail`: a format with one %s, around the object.
void raw_send_huge(struct peer *peer, const struct raw_case *raw);
// A response head of 10 MB.
void raw_send_endless_head(struct peer *peer, const struct raw_case *raw);
// 100,000 nested arrays.
void raw_send_deep(struct peer *peer, const struct raw_case *raw);
