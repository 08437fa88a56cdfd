// SPDX-License-Identifier: Apache-2.0
// What mirrors in a worker have achieved, as the worker's guard reports it to the management cluster while the host is
// lost: one ConfigMap for each worker, with a key for each mirror (docs/fencing.md).
#pragma once

#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/json/json.h"

#include <stdbool.h>
#include <stdint.h>

struct kind;

#define GUARD_REPORT_PREFIX "wharf-guard."          // of the name: "wharf-guard.ORIGIN.WORKER"
#define GUARD_REPORT_LABEL "wharf.dev/guard-report" // has the origin
#define GUARD_REPORT_NAME_MAX 160
#define GUARD_REPORT_MAX ((size_t)512 * 1024) // bytes of all entries

// The value of one key.
struct guard_report { // the texts are those of the JSON value that was read
    const char *kind; // plural.group
    const char *namespace_, *name, *uid, *version;
    uint32_t attempt;
    bool whole;
    const struct json *status;
};

void guard_report_name(const char *origin, const char *worker, char out[GUARD_REPORT_NAME_MAX]);
// The worker of a ConfigMap of this name, or NULL.
const char *guard_report_worker(const char *name, const char *origin);

// Appends the entry of a mirror: the status of an unfinished one without conditions, the whole status of
// a finished one. False: the
// mirror has nothing to report, or its end may be the guard's doing.
bool guard_report_print(const struct kind *kind, const struct json *mirror, struct moment now, struct buffer *out);
bool guard_report_read(const struct json *value, struct guard_report *out);
