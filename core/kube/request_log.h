// SPDX-License-Identifier: Apache-2.0
// One line at level debug for each request to an API server: cluster, verb, path, status code, time. Bodies are never
// logged.
#ifndef WHARF_KUBE_REQUEST_LOG_H
#define WHARF_KUBE_REQUEST_LOG_H

#include "core/kube/transport.h"
#include "core/kube/types.h"

// Of one request; begins as all zero, and stays so while debug is not logged.
struct request_log {
    const char *verb; // static
    char *path;       // owned
    int64_t begun_ns; // CLOCK_BOOTTIME
};

const char *request_log_verb(enum verb verb); // "create", "patch", ...

// The request is sent now. One that was not ended (cancelled) is forgotten.
void request_log_begin(struct request_log *log, const char *verb, const char *path);
// A stream was opened: the server took the request, and it goes on.
void request_log_opened(const struct request_log *log, const char *cluster);
// It is over.
void request_log_end(struct request_log *log, const char *cluster, const struct http_result *result);
void request_log_free(struct request_log *log);

#endif
