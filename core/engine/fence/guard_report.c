// SPDX-License-Identifier: Apache-2.0
#include "core/engine/fence/guard_report.h"

#include "core/adapter/phase.h"
#include "core/adapter/services.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/engine/fence/guard.h"
#include "core/engine/mirror/mirror.h"
#include "core/json/writer.h"

#include <stdio.h>

void guard_report_name(const char *origin, const char *worker, char out[GUARD_REPORT_NAME_MAX]) {
    snprintf(out, GUARD_REPORT_NAME_MAX, GUARD_REPORT_PREFIX "%s.%s", origin, worker);
}

const char *guard_report_worker(const char *name, const char *origin) {
    size_t len = strlen(origin);
    if (!text_has_prefix(name, GUARD_REPORT_PREFIX))
        return NULL;
    name += sizeof GUARD_REPORT_PREFIX - 1;
    return strncmp(name, origin, len) == 0 && name[len] == '.' && name[len + 1] ? name + len + 1 : NULL;
}

// The part of the status to report; NULL: none. A failure after the guard's stop, or while the mirror is deleted, may
// be its doing.
static struct json *make_status(const struct kind *kind, const struct json *mirror, struct moment now, bool *whole) {
    struct adapter_call call;
    struct call_clock clock = {0};
    wharf_phase phase;
    struct json *status = NULL;
    guard_call_begin(kind, mirror, now, &clock, &call);
    bool stopped = object_annotation(mirror, MARK_FENCED) || object_is_being_deleted(mirror);
    bool known = adapter_phase(&call, mirror, &phase) == WHARF_OK;
    *whole = known && phase_is_final(phase.phase) && (phase.phase == WHARF_SUCCEEDED || !stopped);
    if (*whole) {
        status = json_copy(json_get(mirror, "status"));
    } else if (known && !phase_is_final(phase.phase) && kind->abi.progress && !object_is_being_deleted(mirror)) {
        status = json_copy(json_get(mirror, "status"));
        json_remove(status, "conditions"); // that the guard suspended it, for example
    }
    adapter_call_end(&call);
    return status;
}

bool guard_report_print(const struct kind *kind, const struct json *mirror, struct moment now, struct buffer *out) {
    bool whole = false;
    AUTO_JSON status = make_status(kind, mirror, now, &whole);
    AUTO_JSON entry = json_size(status) > 0 ? json_new_object() : NULL;
    const char *there = object_annotation(mirror, MARK_NAMESPACE);
    return entry && json_set(entry, "kind", json_new_string(kind->plural_group)) &&
           json_set(entry, "namespace", json_new_string(there ? there : object_namespace(mirror))) &&
           json_set(entry, "name", json_new_string(object_name(mirror))) &&
           json_set(entry, "uid", json_new_string(object_uid(mirror))) &&
           json_set(entry, "attempt", json_new_int64(mirror_attempt(mirror))) &&
           json_set(entry, "resourceVersion", json_new_string(object_version(mirror))) &&
           json_set(entry, "whole", json_new_bool(whole)) && json_set(entry, "status", TAKE(status)) &&
           json_print(entry, out);
}

bool guard_report_read(const struct json *value, struct guard_report *out) {
    int64_t attempt = json_int64(json_get(value, "attempt"), 0);
    *out = (struct guard_report){.kind = json_string_or(json_get(value, "kind"), ""),
                                 .namespace_ = json_string_or(json_get(value, "namespace"), ""),
                                 .name = json_string_or(json_get(value, "name"), ""),
                                 .uid = json_string_or(json_get(value, "uid"), ""),
                                 .version = json_string_or(json_get(value, "resourceVersion"), ""),
                                 .attempt = (uint32_t)attempt,
                                 .whole = json_bool(json_get(value, "whole"), false),
                                 .status = json_get(value, "status")};
    return *out->kind && *out->name && *out->uid && *out->version && attempt > 0 && attempt <= MIRROR_ATTEMPT_MAX &&
           json_is(out->status, JSON_OBJECT);
}
