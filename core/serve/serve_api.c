// SPDX-License-Identifier: Apache-2.0
// The answers of api.h.
#include "core/serve/server.h"

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
