// SPDX-License-Identifier: Apache-2.0
// The answers of api.h.
#include "core/base/text.h"
#include "core/serve/http/server.h"

void serve_api(struct web_call *call) {
    AUTO_BUFFER(body, WEB_BODY_MAX);
    struct api_request request = {.path = web_path(call)};
    request.parameters = web_parameters(call, &request.n_parameters);
    unsigned code = 0;
    if (!api_get(call->server->source.api, &request, &body, &code))
        web_fail(call, MHD_HTTP_NOT_FOUND, "not found: %s", request.path);
    else
        web_answer(call, code, WEB_JSON, &body);
}

// The sequence after which a reader who was here before continues.
static uint64_t resume_from(const struct web_call *call) {
    const char *given = web_header(call, "Last-Event-ID");
    int64_t sequence = 0;
    if (!given)
        given = web_parameter(call, "since");
    return given && text_to_int64(given, &sequence) && sequence > 0 ? (uint64_t)sequence : 0;
}

void serve_watch(struct web_call *call) {
    struct stream *stream = stream_new();
    if (stream && watchers_add(call->server->watchers, stream, call->grant, resume_from(call))) {
        call->grant = NULL;
        web_stream(call, WEB_EVENTS, NULL, stream);
        return;
    }
    if (stream) {
        stream_end(stream);
        stream_detach(stream);
    }
    web_fail(call, MHD_HTTP_SERVICE_UNAVAILABLE, "no more readers can be served");
}
