// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of the API: answers from a snapshot, functions of paths, and lists of workloads.
#pragma once

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/engine/history/inspect.h"
#include "core/json/writer.h"
#include "core/serve/api/api.h"

// Appends members to the open object, from a template of words NAME=FORMAT: %s a text, %u, %zu and %ju a number, %d
// true or false, %jd a time in nanoseconds. NULL and the time 0 become null.
void api_put(struct writer *out, const char *template, ...) __attribute__((format(printf, 2, 3)));
// An object of such members.
void api_put_object(struct writer *out, const char *key, const char *template, ...)
    __attribute__((format(printf, 3, 4)));
// An array of the items in the buffer.
void api_put_items(struct writer *out, const char *key, const struct buffer *items);

// An empty text becomes null.
static inline const char *api_filled(const char *text) {
    return *text ? text : NULL;
}

// Members of an open object that come from a snapshot.
typedef void api_show(const struct api_source *source, const struct host_snapshot *snapshot, struct writer *out);
api_show api_show_status, api_show_workers, api_show_adapters;
struct error *api_put_snapshot(const struct api_source *source, api_show *show, struct writer *out);

// One request, for the function of the path.
struct api_call {
    const struct api_source *source;
    const struct api_request *request;
    const char *rest;  // of the path, below the function's own: "jobs/a/b"
    struct writer out; // into the body
    bool expired;      // the error is that changes since then are unknown: 410
};
const char *api_parameter(const struct api_call *call, const char *name); // NULL: not given

// Each writes the members of the answer's object, or returns the error for the answer.
struct error *api_workloads(struct api_call *call);
struct error *api_explain(struct api_call *call);
struct error *api_rights(struct api_call *call);
struct error *api_accounts(struct api_call *call);
struct error *api_words(struct api_call *call);

// Splits KIND/NAMESPACE/NAME; both buffers have 254 bytes.
struct error *api_split(const struct api_call *call, const char *path, const struct kind **kind, char *namespace_,
                        char *name);

const char *api_phase_name(size_t phase);
// "kind", "group" and "resource" of the open object.
void api_put_kind(const wharf_kind *kind, struct writer *out);
// The members of one workload.
void api_put_workload(const struct api_source *source, const struct workload_view *view, struct writer *out);
