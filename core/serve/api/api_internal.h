// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of the API: one function a path, which fills a body.
#ifndef WHARF_SERVE_API_INTERNAL_H
#define WHARF_SERVE_API_INTERNAL_H

#include "core/json/writer.h"
#include "core/serve/api/api.h"

// One request as its function sees it. What fails is answered with api_failed or api_answer_failure.
struct api_call {
    const struct api_source *source;
    const struct api_request *request;
    const char *rest; // of the path, below the function's own: "jobs/a/b"
    struct buffer *body;
    struct writer out; // into the body
    unsigned code;
};

const char *api_parameter(const struct api_call *call, const char *name); // NULL: not given
// Replaces the body by a metav1.Status.
void api_answer_failure(struct api_call *call, unsigned code, const char *reason, const char *message);
void api_failed(struct api_call *call, struct error *error); // takes the error

// Members of an open object, also for the stream. NULL: written.
struct error *api_put_status(const struct api_source *source, struct writer *out);
struct error *api_put_workers(const struct api_source *source, struct writer *out);

void api_status(struct api_call *call);
void api_adapters(struct api_call *call);
void api_workers(struct api_call *call);
void api_workloads(struct api_call *call);
void api_explain(struct api_call *call);
void api_rights(struct api_call *call);

const char *api_phase_name(size_t phase);

#endif
