// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of the API: one function a path, which fills a body.
#pragma once

#include "core/json/writer.h"
#include "core/serve/api/api.h"

// One request, for the function of the path.
struct api_call {
    const struct api_source *source;
    const struct api_request *request;
    const char *rest;  // of the path, below the function's own: "jobs/a/b"
    struct writer out; // into the body
    bool expired;      // the error is that changes since then are unknown: 410
};

const char *api_parameter(const struct api_call *call, const char *name); // NULL: not given

// Members of an open object, also for the stream. NULL: written.
struct error *api_put_status(const struct api_source *source, struct writer *out);
struct error *api_put_workers(const struct api_source *source, struct writer *out);

// Each writes the members of the answer's object, or returns the error for the answer.
struct error *api_adapters(struct api_call *call);
struct error *api_workloads(struct api_call *call);
struct error *api_explain(struct api_call *call);
struct error *api_rights(struct api_call *call);

const char *api_phase_name(size_t phase);
// "kind", "group" and "resource" of the open object.
void api_put_kind(const wharf_kind *kind, struct writer *out);
void api_put_versions(const struct kind *kind, struct writer *out);
