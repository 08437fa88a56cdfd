// SPDX-License-Identifier: Apache-2.0
// Answers of an API server to every verb. The input: a byte for the status, one for the verb, one for how it ended, and
// the body.
#include "tests/fuzz/fuzz.h"

#include "core/kube/client/client.h"

#include <stdlib.h>
#include <string.h>

static void check(const struct response *response, enum verb verb) {
    if (!response->message)
        fuzz_fail("an answer without a message");
    if (response->object && response->reason != REASON_OK)
        fuzz_fail("an object in an answer that is %s", reason_text(response->reason));
    if (response->object && *object_uid(response->object->value) == '\0')
        fuzz_fail("an object without a uid");
    if (response->value && response->object && verb == VERB_RAW_GET)
        fuzz_fail("a document and an object");
    if (response->retry_after_ns < -1)
        fuzz_fail("a negative time to wait");
}

void fuzz_one(const uint8_t *data, size_t size) {
    static const int statuses[] = {200, 201, 202, 301, 400, 401, 403, 404, 409, 410, 413, 422, 429, 500, 503, 504};
    static const enum verb verbs[] = {VERB_GET,          VERB_CREATE, VERB_MERGE_PATCH,
                                      VERB_STATUS_PATCH, VERB_DELETE, VERB_RAW_GET};
    if (size < 3)
        return;
    enum verb verb = verbs[data[1] % (sizeof verbs / sizeof *verbs)];
    char *body = strndup("", 0);
    if (size > 3) {
        free(body);
        body = calloc(1, size - 2);
        if (!body)
            return;
        memcpy(body, data + 3, size - 3);
    }
    struct http_result result = {.outcome = data[2] % 8 == 0   ? HTTP_REFUSED
                                            : data[2] % 8 == 1 ? HTTP_BROKEN
                                                               : HTTP_ANSWERED,
                                 .status = statuses[data[0] % (sizeof statuses / sizeof *statuses)],
                                 .body = body,
                                 .body_len = size - 3,
                                 .content_type = data[2] % 2 ? "application/json" : "text/plain",
                                 .retry_after_ns = data[2] % 4 ? -1 : CLOCK_SECOND,
                                 .warning = data[2] % 16 ? NULL : "unknown field"};
    result.problem = result.outcome == HTTP_ANSWERED ? NULL : "trouble";
    struct response response;
    response_read(&response, &result, verb);
    check(&response, verb);
    response_clear(&response);
    free(body);
}
