// SPDX-License-Identifier: Apache-2.0
// Queries of other threads to the engine: a function that runs on the engine's thread between two turns, while the
// caller waits. Such a function takes a few milliseconds at most, about 1,000 entries, to delay turns little; callers
// that need more query again.
#pragma once

#include "core/engine/engine.h"
#include "core/kube/kubeconfig/kubeconfig.h"

#define QUERY_PATIENCE_NS (5 * CLOCK_SECOND) // how long a caller waits for its turn
#define QUERY_READ_NS (10 * CLOCK_SECOND)    // and for an API server

typedef void (*query_run)(void *arg, struct engine *engine, struct moment now);

struct host;

// Runs `run(arg, ...)`. Not on the engine's thread. After a failure, `run` was not called and never will be:
// ERROR_STOPPED, the host has not started yet or is stopping; ERROR_LIMIT, the engine had no time.
struct error *host_query(struct host *host, query_run run, void *arg);

// Reads `path` ("/apis/batch/v1/namespaces/a/jobs/b") from a cluster with the host's own credentials, on the cluster's
// thread. `answer` is filled (response_clear), whatever its reason. ERROR_STOPPED, ERROR_LIMIT: as above, or no answer
// in time; `answer` is then empty.
struct error *host_read(struct host *host, size_t cluster, const char *path, struct response *answer);

// The same for any request. Copies everything but the resource's strings: these are literals.
struct error *host_ask(struct host *host, size_t cluster, const struct request *request, struct response *answer);

// The address and credentials of the named cluster, for a connection of one's own; endpoint_free. ERROR_NOT_FOUND:
// unknown, or not usable now; else as host_query.
struct error *host_endpoint(struct host *host, const char *cluster, struct endpoint **out);

// The host's side.
struct queries;
struct error *queries_new(struct queries **out);
void queries_free(struct queries *queries); // no caller may be left
// Accepts queries from now on; `poke` wakes the engine's thread.
void queries_open(struct queries *queries, void (*poke)(void *ctx), void *ctx);
struct error *queries_ask(struct queries *queries, query_run run, void *arg); // see host_query
// Runs the waiting queries, within a few milliseconds. On the engine's thread.
void queries_run(struct queries *queries, struct engine *engine);
// Fails the waiting queries, and all later ones.
void queries_close(struct queries *queries);
