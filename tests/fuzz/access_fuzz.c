// SPDX-License-Identifier: Apache-2.0
// Who asks and what they may, from whatever reviews answer: a caller has a name and is allowed only where the API
// server says so, and what goes into the next review is JSON. Four parts: a TokenReview, a SubjectAccessReview, a
// header, and what a credential plugin printed.
#include "tests/fuzz/fuzz.h"

#include "core/base/text.h"
#include "core/host/tokens/tokens.h"
#include "core/kube/credentials/credentials.h"
#include "core/kube/kubeconfig/kubeconfig.h"
#include "core/serve/access/access.h"
#include "core/serve/http/server.h"

#include <stdlib.h>
#include <string.h>

#define TOKEN "one-token"

struct answers {
    struct fuzz_part user, access;
};

static struct json *parse(const char *text, size_t len) {
    struct json *value = NULL;
    error_free(json_parse(text, len, &value));
    return value;
}

static struct error *review(void *ctx, const struct request *request, struct response *response) {
    const struct answers *answers = ctx;
    bool tokens = strcmp(request->resource.plural, "tokenreviews") == 0;
    const struct fuzz_part *part = tokens ? &answers->user : &answers->access;
    AUTO_JSON body = parse(request->body, request->body_len);
    if (!body)
        fuzz_fail("a review that is not JSON: %.*s", (int)request->body_len, request->body);
    if (!tokens && !json_string(json_path(body, "spec", "resourceAttributes", "verb", NULL)))
        fuzz_fail("a review without a verb: %.*s", (int)request->body_len, request->body);
    *response = (struct response){.reason = REASON_OK, .retry_after_ns = -1, .value = parse(part->text, part->len)};
    return NULL;
}

static bool is_true(const struct json *value) {
    return value && json_is(value, JSON_BOOL) && json_bool(value, false);
}

static void check_access(struct auth *auth, const struct answers *answers, const struct auth_user *user) {
    AUTO_JSON told = parse(answers->access.text, answers->access.len);
    const struct json *status = json_get(told, "status");
    const struct auth_attributes what = {
        .verb = "get", .group = "", .resource = "pods", .subresource = "log", .namespace_ = "a"};
    struct error *error = auth_allow(auth, user, &what, 0);
    if (!error && (!is_true(json_get(status, "allowed")) || is_true(json_get(status, "denied"))))
        fuzz_fail("allowed by %.*s", (int)answers->access.len, answers->access.text);
    error_free(error);
}

static void check_user(const struct answers *answers) {
    struct auth *auth = NULL;
    struct auth_user user;
    if (auth_new(&(struct auth_reviewer){.review = review, .ctx = (void *)(uintptr_t)answers}, &auth))
        fuzz_fail("out of memory");
    struct error *error = auth_identify(auth, TOKEN, 0, &user);
    if (!error) {
        AUTO_JSON told = parse(answers->user.text, answers->user.len);
        if (!user.name || !*user.name || !is_true(json_path(told, "status", "authenticated", NULL)))
            fuzz_fail("a user by %.*s", (int)answers->user.len, answers->user.text);
        check_access(auth, answers, &user);
    }
    error_free(error);
    auth_user_clear(&user);
    auth_free(auth);
}

static void check_header(const struct fuzz_part *part) {
    AUTO_TEXT header = strndup(part->text, part->len);
    AUTO_TEXT path = strndup(part->text, part->len);
    const char *segments[ROUTE_SEGMENTS];
    const char *token = auth_bearer(header);
    if (token && (!*token || *token == ' '))
        fuzz_fail("no token in %s", header);
    bool brackets = header[0] == '[';
    if (auth_host_is_local(header) && !brackets && strncasecmp(header, "localhost", 9) != 0 &&
        !text_has_prefix(header, "127."))
        fuzz_fail("%s is not local", header);
    if (!route_split(path, ROUTE_SEGMENTS, segments))
        return;
    for (size_t i = 0; i < ROUTE_SEGMENTS; i++)
        if (!*segments[i] || strchr(segments[i], '/'))
            fuzz_fail("segment %zu of %s", i, header);
}

static void check_credential(const char *text, size_t len) {
    static char where[] = "exec", version[] = "client.authentication.k8s.io/v1";
    const struct exec_plugin plugin = {.where = where, .api_version = version};
    struct exec_credential found;
    struct token_life life;
    struct error *error = exec_credential_read(&plugin, text, len, &found);
    if (!error) {
        struct error *wrong = found.token ? endpoint_check_token(found.token) : NULL;
        if (wrong || (!found.token && !found.cert) || !found.cert != !found.key)
            fuzz_fail("a credential that cannot be sent");
        if (token_life_read(found.token, &life) && life.issued_wall_ns >= life.expires_wall_ns)
            fuzz_fail("a token that expires before it is issued");
    }
    error_free(error);
    exec_credential_clear(&found);
}

void fuzz_one(const uint8_t *data, size_t size) {
    struct answers answers = {.user = fuzz_next_part(&data, &size)};
    answers.access = fuzz_next_part(&data, &size);
    struct fuzz_part header = fuzz_next_part(&data, &size);
    check_user(&answers);
    check_header(&header);
    check_credential((const char *)data, size);
}
