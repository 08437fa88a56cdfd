// SPDX-License-Identifier: Apache-2.0
// The Job adapter as it is shipped (build/adapters/job.so), called as the host calls it.
#pragma once

#include "core/adapter/owed_status.h"
#include "core/adapter/services.h"
#include "core/base/text.h"
#include "core/json/pointer.h"
#include "tests/unit/quoted.h"

#include <dlfcn.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HARNESS_NOW "2026-03-01T12:00:00Z"

static const wharf_module *job_module;
static const wharf_kind *job_kind;

// The shared object lies beside the folder of this program: <build>/unit/plugins/<name>, <build>/adapters/job.so.
static inline int harness_load(void **state) {
    (void)state;
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(len > 0);
    path[len] = '\0';
    for (int up = 0; up < 3; up++)
        *strrchr(path, '/') = '\0';
    AUTO_TEXT file = text_format("%s/adapters/job.so", path);
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail_msg("%s", dlerror());
    job_module = dlsym(handle, "wharf_module_v1");
    assert_non_null(job_module);
    *job_module->host = services_table();
    job_kind = job_module->kinds[0];
    return 0;
}

static inline struct json *harness_json(const char *text) {
    return parsed(text);
}

static inline struct json *harness_file(const char *path) {
    AUTO_BUFFER(text, 1 << 20);
    struct error *error = text_read_file(path, 1 << 20, &text);
    if (error)
        fail_msg("%s", error->message);
    struct json *value = NULL;
    error = json_parse(text.data, text.len, &value);
    if (error)
        fail_msg("%s: %s", path, error->message);
    return value;
}

static inline const char *harness_text(const struct json *value, char **keep) {
    free(*keep);
    *keep = value ? json_text(value, NULL) : strdup("nothing");
    return *keep;
}

static inline void harness_begin(struct adapter_call *call, const char *now, uint32_t attempt) {
    struct call_context context = {
        .kind = job_kind, .cluster = "w1", .attempt = attempt, .version = "v1", .object = "default/job"};
    assert_true(clock_parse_rfc3339(now, &context.now.wall_ns));
    adapter_call_begin(call, &context);
}

// The status by the adapter, called as by the host: NULL unless it returns WHARF_OK.
static inline struct json *harness_status(const struct json *workload, const struct json *mirror, uint32_t attempt,
                                          const char *now) {
    const struct json *from = json_get(mirror ? mirror : workload, "status");
    struct json *object = json_new_object();
    assert_true(json_set(object, "status", json_is(from, JSON_OBJECT) ? json_copy(from) : json_new_object()));
    for (const char *const *p = job_kind->status_removed; mirror && *p; p++)
        pointer_remove_all(object, *p);
    struct adapter_call call;
    harness_begin(&call, now, attempt);
    wharf_result result = mirror ? WHARF_OK : owed_status(&call, workload, object);
    if (result == WHARF_OK)
        result = adapter_status(&call, workload, mirror, object);
    adapter_call_end(&call);
    struct json *status = json_detach(object, "status");
    json_free(object);
    if (result == WHARF_OK)
        return status;
    json_free(status);
    return NULL;
}

// What the adapter gives a mirror, or before the create if `mirror` is NULL. NULL: nothing is lacking, or *result says
// why not.
static inline struct json *harness_progress(const struct json *workload, const struct json *mirror,
                                            wharf_result *result) {
    AUTO_JSON object = json_new_object();
    struct adapter_call call;
    harness_begin(&call, HARNESS_NOW, 2);
    *result = adapter_progress(&call, workload, mirror, object);
    adapter_call_end(&call);
    struct json *status = json_detach(object, "status");
    if (*result == WHARF_OK)
        return status;
    json_free(status);
    return NULL;
}

static inline void harness_mark(struct json *mirror, const char *mark) {
    if (mark)
        assert_true(pointer_set(mirror, "/metadata/annotations/wharf.dev~1progress", json_new_string(mark)));
}

// A mirror as the host would create it, without what its server adds. `mark`: of its progress, or NULL.
static inline struct json *harness_marked_mirror(const struct json *workload, uint32_t attempt, const char *mark) {
    struct json *mirror = json_copy(workload);
    json_remove(mirror, "status");
    for (const char *const *p = job_kind->removed; *p; p++)
        pointer_remove_all(mirror, *p);
    pointer_remove(mirror, job_kind->managed_by);
    harness_mark(mirror, mark);
    struct adapter_call call;
    harness_begin(&call, HARNESS_NOW, attempt);
    wharf_result result = adapter_mirror(&call, workload, mirror);
    adapter_call_end(&call);
    assert_int_equal(result, WHARF_OK);
    return mirror;
}

static inline struct json *harness_mirror(const struct json *workload, uint32_t attempt) {
    return harness_marked_mirror(workload, attempt, NULL);
}

static inline bool harness_carry(void *to, const char *pointer, struct json *value) {
    return pointer_set(to, pointer, json_copy(value));
}

// The desired mirror: the carried fields as in the workload (except for removed ones), after the adapter's update.
// `mark`: the new one of its progress, or NULL.
static inline struct json *harness_marked_update(const struct json *workload, const struct json *mirror,
                                                 const char *mark) {
    struct json *desired = json_copy(mirror);
    bool suspended = json_bool(pointer_find(mirror, job_kind->suspend), false);
    for (const wharf_carried *c = job_kind->carried; c->pointer; c++)
        if (c->when == WHARF_CARRY_ALWAYS || suspended)
            pointer_each(workload, c->pointer, harness_carry, desired);
    harness_mark(desired, mark);
    struct adapter_call call;
    harness_begin(&call, HARNESS_NOW, 1);
    wharf_result result = adapter_update(&call, workload, mirror, desired);
    adapter_call_end(&call);
    if (result == WHARF_OK)
        return desired;
    json_free(desired);
    return NULL;
}

static inline struct json *harness_update(const struct json *workload, const struct json *mirror) {
    return harness_marked_update(workload, mirror, NULL);
}
