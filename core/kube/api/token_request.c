// SPDX-License-Identifier: Apache-2.0
#include "core/kube/api/token_request.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/json/json.h"

#include <stdlib.h>
#include <string.h>

static bool fill(struct json *body, int64_t seconds, const char *audience) {
    struct json *spec = json_new_object();
    bool good = spec && json_set(spec, "expirationSeconds", json_new_int64(seconds));
    struct json *audiences = good && audience ? json_new_array() : NULL;
    if (good && audience) {
        good = audiences && json_append(audiences, json_new_string(audience));
        good = json_set(spec, "audiences", audiences) && good; // takes it in any case
    }
    good = json_set(body, "spec", spec) && good;
    return good && json_set(body, "apiVersion", json_new_string("authentication.k8s.io/v1")) &&
           json_set(body, "kind", json_new_string("TokenRequest"));
}

struct error *token_request_make(const char *namespace_, const char *service_account, int64_t seconds,
                                 const char *audience, struct token_request *out) {
    size_t len = 0;
    AUTO_JSON body = json_new_object();
    *out = (struct token_request){.body = body && fill(body, seconds, audience) ? json_text(body, &len) : NULL};
    if (!out->body)
        return error_no_memory();
    out->request = (struct request){.verb = VERB_CREATE,
                                    .resource = {.group = "", .version = "v1", .plural = "serviceaccounts"},
                                    .namespace_ = namespace_,
                                    .name = service_account,
                                    .subresource = "token",
                                    .body = out->body,
                                    .body_len = len};
    return NULL;
}

void token_request_clear(struct token_request *request) {
    free(request->body);
    *request = (struct token_request){.body = NULL};
}

struct error *token_request_read(const struct response *response, char **token, int64_t *expires_wall_ns) {
    *token = NULL;
    *expires_wall_ns = 0;
    if (response->reason != REASON_OK)
        return error_new(ERROR_IO, "TokenRequest: %s", response->message);
    const char *text = json_string(json_path(response->value, "status", "token", NULL));
    const char *expires = json_string(json_path(response->value, "status", "expirationTimestamp", NULL));
    if (!text || !*text)
        return error_new(ERROR_INVALID, "TokenRequest: found no status.token in the answer, expected a token");
    if (expires && !clock_parse_rfc3339(expires, expires_wall_ns))
        return error_new(ERROR_INVALID, "TokenRequest: status.expirationTimestamp: found \"%s\", expected a time",
                         expires);
    *token = strdup(text);
    return *token ? NULL : error_no_memory();
}
