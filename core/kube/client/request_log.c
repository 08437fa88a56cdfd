// SPDX-License-Identifier: Apache-2.0
#include "core/kube/client/client.h"

#include "core/base/log.h"

#include <stdlib.h>
#include <string.h>

const char *request_log_verb(enum verb verb) {
    static const char *const names[] = {
        [VERB_GET] = "get",       [VERB_CREATE] = "create", [VERB_MERGE_PATCH] = "patch", [VERB_STATUS_PATCH] = "patch",
        [VERB_DELETE] = "delete", [VERB_RAW_GET] = "get",
    };
    return names[verb];
}

void request_log_free(struct request_log *log) {
    free(log->path);
    *log = (struct request_log){0};
}

void request_log_begin(struct request_log *log, const char *verb, const char *path) {
    request_log_free(log);
    if (log_enabled(LOG_DEBUG))
        *log = (struct request_log){.verb = verb, .path = strdup(path), .begun_ns = clock_now().mono_ns};
}

static void write_line(const struct request_log *log, const char *message, const char *cluster, int status,
                       const char *problem) {
    double ms = (double)(clock_now().mono_ns - log->begun_ns) / (double)CLOCK_MS;
    log_fields(LOG_DEBUG, message, {"cluster", cluster}, {"verb", log->verb}, {"path", log->path},
               LOG_INT_IF(status > 0, "code", status), LOG_DECIMAL("ms", ms), {"error", problem});
}

void request_log_opened(const struct request_log *log, const char *cluster) {
    if (log->path)
        write_line(log, "stream opened", cluster, 200, NULL);
}

void request_log_end(struct request_log *log, const char *cluster, const struct http_result *result) {
    if (log->path)
        write_line(log, "request", cluster, result->status, result->problem);
    request_log_free(log);
}
