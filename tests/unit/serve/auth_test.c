// SPDX-License-Identifier: Apache-2.0
#include "core/serve/access/access.h"

#include "core/base/clock.h"
#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// An API server that knows two tokens and what their users may do.
struct server {
    int tokens, accesses;
    bool down, withdrawn, everybody;
    char last[4096];
};

static struct json *parse(const char *text) {
    struct json *value = NULL;
    assert_null(json_parse(text, strlen(text), &value));
    return value;
}

static const char *identify(const char *token, const char *audience) {
    if (strcmp(token, "jane") == 0 && !audience)
        return "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"jane\",\"uid\":\"7\",\"groups\":[\"dev\","
               "\"all \\\"q\\\"\"],\"extra\":{\"a/b\":[\"c\"]}}}}";
    if (strcmp(token, "viewer") == 0 && audience && strcmp(audience, AUTH_AUDIENCE) == 0)
        return "{\"status\":{\"authenticated\":true,\"audiences\":[\"wharf.dev\"],\"user\":{\"username\":"
               "\"system:serviceaccount:wharf-system:wharf-viewer\"}}}";
    if (strcmp(token, "unaware") == 0 && audience) // of a server that ignores audiences
        return "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"unaware\"}}}";
    return "{\"status\":{\"authenticated\":false,\"error\":\"unknown\"}}";
}

static struct error *review(void *ctx, const struct request *request, struct response *response) {
    struct server *server = ctx;
    assert_int_equal(request->verb, VERB_CREATE);
    text_copy(server->last, sizeof server->last, request->body);
    if (server->down)
        return error_new(ERROR_LIMIT, "no answer");
    *response = (struct response){.reason = REASON_OK, .code = 201, .retry_after_ns = -1};
    AUTO_JSON body = parse(request->body);
    const struct json *spec = json_get(body, "spec");
    if (strcmp(request->resource.plural, "tokenreviews") == 0) {
        server->tokens++;
        assert_string_equal(request->resource.group, "authentication.k8s.io");
        const char *token = json_string_or(json_get(spec, "token"), "");
        response->value = parse(identify(server->everybody   ? "jane"
                                         : server->withdrawn ? ""
                                                             : token,
                                         json_string(json_at(json_get(spec, "audiences"), 0))));
        return NULL;
    }
    server->accesses++;
    assert_string_equal(request->resource.plural, "subjectaccessreviews");
    bool allowed = strcmp(json_string_or(json_get(spec, "user"), ""), "jane") == 0 &&
                   strcmp(json_string_or(json_path(spec, "resourceAttributes", "namespace", NULL), ""), "a") == 0;
    response->value = parse(allowed ? "{\"status\":{\"allowed\":true}}" : "{\"status\":{\"allowed\":false}}");
    return NULL;
}

struct stage {
    struct server server;
    struct auth *auth;
};

static int start(void **state) {
    struct stage *stage = calloc(1, sizeof *stage);
    assert_non_null(stage);
    assert_null(auth_new(&(struct auth_reviewer){.review = review, .ctx = &stage->server}, &stage->auth));
    *state = stage;
    return 0;
}

static int stop(void **state) {
    struct stage *stage = *state;
    auth_free(stage->auth);
    free(stage);
    return 0;
}

static void a_user_is_passed_on_with_all_that_is_known_of_them(void **state) {
    struct stage *stage = *state;
    struct auth_user user;
    assert_null(auth_identify(stage->auth, "jane", 0, &user));
    assert_string_equal(user.name, "jane");
    const struct auth_attributes what = {
        .verb = "get", .group = "", .resource = "pods", .subresource = "log", .namespace_ = "a"};
    assert_null(auth_allow(stage->auth, &user, &what, 0));
    AUTO_JSON sent = parse(stage->server.last);
    AUTO_JSON expected = parse(
        "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\",\"spec\":{\"user\":\"jane\","
        "\"uid\":\"7\",\"groups\":[\"dev\",\"all \\\"q\\\"\"],\"extra\":{\"a/b\":[\"c\"]},\"resourceAttributes\":{"
        "\"verb\":\"get\",\"resource\":\"pods\",\"subresource\":\"log\",\"namespace\":\"a\"}}}");
    assert_true(json_equal(sent, expected));
    auth_user_clear(&user);
}

static void a_path_is_asked_for_as_such(void **state) {
    struct stage *stage = *state;
    struct auth_user user;
    assert_null(auth_identify(stage->auth, "viewer", 0, &user));
    struct error *error = auth_allow(stage->auth, &user, &(struct auth_attributes){.verb = "get", .path = "/wharf"}, 0);
    assert_non_null(strstr(stage->server.last, "\"nonResourceAttributes\":{\"verb\":\"get\",\"path\":\"/wharf\"}"));
    assert_int_equal(error->code, ERROR_REFUSED);
    assert_string_equal(error->message, "user system:serviceaccount:wharf-system:wharf-viewer may not get the path "
                                        "/wharf of the management cluster");
    error_free(error);
    auth_user_clear(&user);
}

static void tokens_that_are_not_for_this_host_are_refused(void **state) {
    struct stage *stage = *state;
    static const char *const tokens[] = {"nobody", "unaware", "jane\",\"audiences\":[\"x"};
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        struct auth_user user;
        struct error *error = auth_identify(stage->auth, tokens[i], 0, &user);
        assert_non_null(error);
        assert_int_equal(error->code, ERROR_REFUSED);
        assert_null(user.name);
        error_free(error);
    }
}

static void answers_are_kept_for_ten_seconds_and_refused_tokens_are_not(void **state) {
    struct stage *stage = *state;
    struct auth_user user;
    const struct auth_attributes a = {.verb = "get", .group = "", .resource = "pods", .namespace_ = "a"};
    const struct auth_attributes b = {.verb = "get", .group = "", .resource = "pods", .namespace_ = "b"};
    static const struct {
        int64_t at_ns;
        int tokens, accesses;
    } times[] = {{0, 1, 2}, {AUTH_KEPT_NS - 1, 1, 2}, {AUTH_KEPT_NS, 2, 4}, {AUTH_KEPT_NS + 1, 2, 4}};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        assert_null(auth_identify(stage->auth, "jane", times[i].at_ns, &user));
        assert_null(auth_allow(stage->auth, &user, &a, times[i].at_ns));
        struct error *error = auth_allow(stage->auth, &user, &b, times[i].at_ns);
        assert_int_equal(error->code, ERROR_REFUSED);
        assert_string_equal(error->message, "user jane may not get pods in namespace b of the management cluster");
        error_free(error);
        auth_user_clear(&user);
        assert_int_equal(stage->server.tokens, times[i].tokens);
        assert_int_equal(stage->server.accesses, times[i].accesses);
    }
    for (int i = 0; i < 2; i++)
        error_free(auth_identify(stage->auth, "nobody", 0, &user));
    assert_int_equal(stage->server.tokens, 2 + 2 * 2); // each is tried for both audiences
}

static void a_server_that_does_not_answer_allows_nothing_and_is_asked_again(void **state) {
    struct stage *stage = *state;
    struct auth_user user;
    stage->server.down = true;
    struct error *error = auth_identify(stage->auth, "jane", 0, &user);
    assert_int_equal(error->code, ERROR_LIMIT);
    error_free(error);
    stage->server.down = false;
    assert_null(auth_identify(stage->auth, "jane", 0, &user));
    const struct auth_attributes what = {.verb = "get", .group = "", .resource = "pods", .namespace_ = "a"};
    stage->server.down = true;
    error = auth_allow(stage->auth, &user, &what, 0);
    assert_int_equal(error->code, ERROR_LIMIT);
    error_free(error);
    stage->server.down = false;
    assert_null(auth_allow(stage->auth, &user, &what, 0));
    auth_user_clear(&user);
}

static void more_answers_than_are_kept_replace_the_oldest(void **state) {
    struct stage *stage = *state;
    struct auth_user user;
    assert_null(auth_identify(stage->auth, "jane", 0, &user));
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "pod-%d", i);
        assert_null(auth_allow(
            stage->auth, &user,
            &(struct auth_attributes){.verb = "get", .group = "", .resource = "pods", .namespace_ = "a", .name = name},
            0));
    }
    auth_user_clear(&user);
    assert_null(auth_identify(stage->auth, "jane", 0, &user));
    assert_int_equal(stage->server.tokens, 2);
    auth_user_clear(&user);
}

// Longer than its answer is kept: it is reviewed at once, whatever others bring.
static void a_token_is_known_for_an_hour_after_it_was_valid(void **state) {
    struct stage *stage = *state;
    struct auth_user user;
    assert_false(auth_knows(stage->auth, "jane", 0));
    assert_null(auth_identify(stage->auth, "jane", 0, &user));
    auth_user_clear(&user);
    error_free(auth_identify(stage->auth, "nobody", 0, &user));
    assert_false(auth_knows(stage->auth, "nobody", 0));
    assert_true(auth_knows(stage->auth, "jane", AUTH_KEPT_NS + 1));
    assert_true(auth_knows(stage->auth, "jane", AUTH_KNOWN_NS - 1));
    assert_false(auth_knows(stage->auth, "jane", AUTH_KNOWN_NS));
}

static void a_token_that_was_withdrawn_is_known_no_more(void **state) {
    struct stage *stage = *state;
    struct auth_user user;
    assert_null(auth_identify(stage->auth, "jane", 0, &user));
    auth_user_clear(&user);
    stage->server.withdrawn = true;
    struct error *error = auth_identify(stage->auth, "jane", AUTH_KEPT_NS, &user);
    assert_int_equal(error->code, ERROR_REFUSED);
    error_free(error);
    assert_false(auth_knows(stage->auth, "jane", AUTH_KEPT_NS));
}

static void a_server_that_does_not_answer_makes_no_token_unknown(void **state) {
    struct stage *stage = *state;
    struct auth_user user;
    assert_null(auth_identify(stage->auth, "jane", 0, &user));
    auth_user_clear(&user);
    stage->server.down = true;
    error_free(auth_identify(stage->auth, "jane", AUTH_KEPT_NS, &user));
    assert_true(auth_knows(stage->auth, "jane", AUTH_KEPT_NS));
}

static void tokens_in_use_stay_known_when_many_others_come(void **state) {
    struct stage *stage = *state;
    struct auth_user user;
    stage->server.everybody = true;
    for (int i = 0; i < 2000; i++) {
        AUTO_TEXT token = text_format("other-%d", i);
        assert_null(auth_identify(stage->auth, token, i, &user));
        auth_user_clear(&user);
        if (i % 100 == 0) {
            assert_null(auth_identify(stage->auth, "jane", i, &user));
            auth_user_clear(&user);
        }
    }
    assert_true(auth_knows(stage->auth, "jane", 2000));
    assert_true(auth_knows(stage->auth, "other-1999", 2000));
    assert_false(auth_knows(stage->auth, "other-0", 2000));
}

static void a_bearer_token_is_found_in_its_header(void **state) {
    (void)state;
    assert_string_equal(auth_bearer("Bearer abc"), "abc");
    assert_string_equal(auth_bearer("bearer  abc"), "abc");
    assert_null(auth_bearer(NULL));
    assert_null(auth_bearer(""));
    assert_null(auth_bearer("Bearer "));
    assert_null(auth_bearer("Basic abc"));
    assert_null(auth_bearer("Bearerabc"));
}

static void only_names_of_this_machine_are_local(void **state) {
    (void)state;
    static const char *const yes[] = {"localhost",   "localhost:9440", "LocalHost", "127.0.0.1",
                                      "127.9.9.9:1", "[::1]",          "[::1]:9440"};
    static const char *const no[] = {"",
                                     "evil.example",
                                     "localhost.evil.example",
                                     "127.0.0.1.evil.example",
                                     "10.0.0.1",
                                     "127.0.0.1:80@evil",
                                     "[::1",
                                     "[::2]:80",
                                     "::1",
                                     "localhost:x",
                                     "0.0.0.0",
                                     "[::1]evil",
                                     "2130706433",
                                     "127.1"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        if (!auth_host_is_local(yes[i]))
            fail_msg("not local: %s", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        if (auth_host_is_local(no[i]))
            fail_msg("local: %s", no[i]);
    assert_false(auth_host_is_local(NULL));
}

int main(void) {
#define STAGED(test) cmocka_unit_test_setup_teardown(test, start, stop)
    const struct CMUnitTest tests[] = {
        STAGED(a_user_is_passed_on_with_all_that_is_known_of_them),
        STAGED(a_path_is_asked_for_as_such),
        STAGED(tokens_that_are_not_for_this_host_are_refused),
        STAGED(answers_are_kept_for_ten_seconds_and_refused_tokens_are_not),
        STAGED(a_server_that_does_not_answer_allows_nothing_and_is_asked_again),
        STAGED(more_answers_than_are_kept_replace_the_oldest),
        STAGED(a_token_is_known_for_an_hour_after_it_was_valid),
        STAGED(a_token_that_was_withdrawn_is_known_no_more),
        STAGED(a_server_that_does_not_answer_makes_no_token_unknown),
        STAGED(tokens_in_use_stay_known_when_many_others_come),
        cmocka_unit_test(a_bearer_token_is_found_in_its_header),
        cmocka_unit_test(only_names_of_this_machine_are_local),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
