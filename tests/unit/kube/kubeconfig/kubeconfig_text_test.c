// SPDX-License-Identifier: Apache-2.0
// Kubeconfigs from a text, which is not trusted.
#include "core/base/text.h"
#include "core/kube/kubeconfig/kubeconfig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *config_of(const char *cluster, const char *user) {
    return text_format("current-context: c\n"
                       "clusters:\n"
                       "- {name: k, cluster: %s}\n"
                       "users:\n"
                       "- {name: u, user: %s}\n"
                       "contexts:\n"
                       "- {name: c, context: {cluster: k, user: u, namespace: ns}}\n"
                       "- {name: d, context: {cluster: k}}\n",
                       cluster, user);
}

static struct error *parse(const char *text, const char *context, struct endpoint **out) {
    return kubeconfig_parse(text, strlen(text), "Secret ns/w1", context, NULL, out);
}

static void a_text_gives_an_endpoint(void **state) {
    (void)state;
    AUTO_TEXT text = config_of("{server: 'https://h:6443'}", "{token: tok}");
    struct endpoint *endpoint = NULL;
    assert_string_equal(error_text(parse(text, NULL, &endpoint)), "no error");
    assert_string_equal(endpoint->server, "https://h:6443");
    assert_string_equal(endpoint->token, "tok");
    assert_string_equal(endpoint->description, "Secret ns/w1, context c");
    endpoint_free(endpoint);
    assert_string_equal(error_text(parse(text, "d", &endpoint)), "no error");
    assert_null(endpoint->token);
    assert_string_equal(endpoint->description, "Secret ns/w1, context d");
    endpoint_free(endpoint);
}

#define NO_FILES                                                                                                       \
    ": found the path of a file, expected the data itself: a kubeconfig that is not a file may not name files of "     \
    "this machine"

static void a_text_may_not_name_files(void **state) {
    (void)state;
    static const struct {
        const char *cluster, *user, *message;
    } cases[] = {
        {"{server: 'https://h', certificate-authority: ca.crt}", "{}",
         "Secret ns/w1:3: clusters[0].cluster.certificate-authority" NO_FILES},
        {"{server: 'https://h', certificate-authority: /etc/ssl/certs/ca-certificates.crt}", "{}",
         "Secret ns/w1:3: clusters[0].cluster.certificate-authority" NO_FILES},
        {"{server: 'https://h'}", "{client-certificate: /etc/hostname, client-key: /etc/hostname}",
         "Secret ns/w1:5: users[0].user.client-certificate" NO_FILES},
        {"{server: 'https://h'}", "{client-key: ../key}", "Secret ns/w1:5: users[0].user.client-key" NO_FILES},
        {"{server: 'https://h'}", "{tokenFile: /etc/hostname}", "Secret ns/w1:5: users[0].user.tokenFile" NO_FILES},
        {"{server: 'https://h'}", "{token: t, tokenFile: token}", "Secret ns/w1:5: users[0].user.tokenFile" NO_FILES},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_TEXT text = config_of(cases[i].cluster, cases[i].user);
        struct endpoint *endpoint = NULL;
        struct error *error = parse(text, NULL, &endpoint);
        assert_null(endpoint);
        assert_string_equal(error_text(error), cases[i].message);
        assert_int_equal(error->code, ERROR_REFUSED);
        error_free(error);
    }
}

static void a_text_that_is_no_kubeconfig_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"kind: Secret\n", "Secret ns/w1:1: kind: found \"Secret\", expected \"Config\""},
        {"", "Secret ns/w1: found no current-context, expected one of contexts: (none)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct endpoint *endpoint = NULL;
        struct error *error = parse(cases[i].text, NULL, &endpoint);
        assert_string_equal(error_text(error), cases[i].message);
        error_free(error);
    }
    size_t len = ((size_t)4 << 20) + 1;
    AUTO_TEXT large = malloc(len + 1);
    memset(large, ' ', len);
    large[len] = '\0';
    struct endpoint *endpoint = NULL;
    struct error *error = parse(large, NULL, &endpoint);
    assert_string_equal(error_text(error), "Secret ns/w1: found 4194305 bytes, expected at most 4194304");
    error_free(error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_gives_an_endpoint),
        cmocka_unit_test(a_text_may_not_name_files),
        cmocka_unit_test(a_text_that_is_no_kubeconfig_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
