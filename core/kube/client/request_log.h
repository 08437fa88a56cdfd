// SPDX-License-Identifier: Apache-2.0
// One line at level debug for each request to an API server: cluster, verb, path, status code, time. Bodies are never
// logged.
#pragma once

#include "core/kube/client/types.h"
#include "core/kube/transport/transport.h"

// State of one request; initialised to zeros, and unused unless debug is logged.
struct request_log {
    const char *verb; // static
    char *path;       // owned
    int64_t begun_ns; // CLOCK_BOOTTIME
};

const char *request_log_verb(enum verb verb); // "create", "patch", ...

// The request is sent now. Drops a previous one that did not end (cancelled).
void request_log_begin(struct request_log *log, const char *verb, const char *path);
// A stream was opened and continues.
void request_log_opened(const struct request_log *log, const char *cluster);
// The request has ended.
void request_log_end(struct request_log *log, const char *cluster, const struct http_result *result);
void request_log_free(struct request_log *log);
