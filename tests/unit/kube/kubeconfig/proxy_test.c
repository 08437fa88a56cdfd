// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/kube/kubeconfig/kubeconfig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const *variables; // name, value, ..., NULL

static char *environment(const char *name) {
    for (const char *const *at = variables; *at; at += 2)
        if (strcmp(at[0], name) == 0)
            return (char *)at[1];
    return NULL;
}

struct proxy_case {
    const char *server, *given, *expected;
    const char *variables[7];
};

static void check(const struct proxy_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct server_url server;
        variables = cases[i].variables;
        assert_null(server_url_parse(cases[i].server, &server));
        AUTO_TEXT found = NULL;
        struct error *error = proxy_choose(&server, cases[i].given, environment, &found);
        const char *shown = error ? error_text(error) : found;
        if (strcmp(shown, cases[i].expected) != 0)
            fail_msg("case %zu: found \"%s\", expected \"%s\"", i, shown, cases[i].expected);
        error_free(error);
        server_url_free(&server);
    }
}

static void the_given_proxy_or_the_environments_is_taken(void **state) {
    (void)state;
    static const struct proxy_case cases[] = {
        {"https://h", NULL, "", {0}},
        {"https://h", "http://p:1", "http://p:1", {"HTTPS_PROXY", "http://no", "NO_PROXY", "h"}},
        {"https://h", "socks5://p:1", "socks5h://p:1", {0}},
        {"https://h", "SOCKS5://u:w@p:1", "socks5h://u:w@p:1", {0}},
        {"https://h", NULL, "http://p:1", {"HTTPS_PROXY", "http://p:1"}},
        {"https://h", NULL, "http://p:1", {"https_proxy", "p:1"}},
        {"https://h", NULL, "http://P", {"https_proxy", "http://p", "HTTPS_PROXY", "http://P"}},
        {"https://h", NULL, "", {"HTTP_PROXY", "http://p", "ALL_PROXY", "http://p"}},
        {"http://h", NULL, "http://p", {"HTTP_PROXY", "http://p"}},
        {"http://h", NULL, "", {"HTTP_PROXY", "http://p", "REQUEST_METHOD", "GET"}},
        {"https://h", NULL, "socks5h://p", {"HTTPS_PROXY", "socks5://p"}},
        {"https://localhost:6443", NULL, "", {"HTTPS_PROXY", "http://p"}},
        {"https://127.1.2.3:6443", NULL, "", {"HTTPS_PROXY", "http://p"}},
        {"https://[::1]:6443", NULL, "", {"HTTPS_PROXY", "http://p"}},
        {"https://h",
         NULL,
         "HTTPS_PROXY in the environment: found an unsupported URL, expected one that begins with http://, https:// "
         "or socks5://",
         {"HTTPS_PROXY", "ftp://p"}},
    };
    check(cases, sizeof cases / sizeof cases[0]);
}

static void no_proxy_exempts_as_go_has_it(void **state) {
    (void)state;
    static const struct {
        const char *server, *list;
        bool exempt;
    } cases[] = {
        {"https://a.example", "*", true},
        {"https://a.example", "a.example", true},
        {"https://A.Example", "a.example", true},
        {"https://b.a.example", "a.example", true},
        {"https://ba.example", "a.example", false},
        {"https://a.example", ".a.example", false},
        {"https://b.a.example", ".a.example", true},
        {"https://b.a.example", "*.a.example", true},
        {"https://a.example", "*.a.example", false},
        {"https://a.example", " x , a.example ,", true},
        {"https://a.example", "", false},
        {"https://a.example", ",", false},
        {"https://a.example:6443", "a.example:6443", true},
        {"https://a.example:6443", "a.example:443", false},
        {"https://a.example", "a.example:443", true},
        {"https://10.1.2.3", "10.0.0.0/8", true},
        {"https://11.1.2.3", "10.0.0.0/8", false},
        {"https://10.1.2.3", "10.1.2.3", true},
        {"https://10.1.2.3", "10.1.2.3:6443", false},
        {"https://10.1.2.3", "0.0.0.0/0", true},
        {"https://10.1.2.3", "10.1.2.0/25", true},
        {"https://10.1.2.129", "10.1.2.0/25", false},
        {"https://10.1.2.3", "10.0.0.0/99", false},
        {"https://10.1.2.3", "::/0", false},
        {"https://[fd00::1]", "fd00::/8", true},
        {"https://[fd00::1]", "fd00::1", true},
        {"https://[fd00::1]:6443", "[fd00::1]:6443", true},
        {"https://[fd00::1]:6443", "[fd00::1]:443", false},
        {"https://[fd00::1]", "[fd00::1", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct proxy_case one = {.server = cases[i].server,
                                       .expected = cases[i].exempt ? "" : "http://p",
                                       .variables = {"HTTPS_PROXY", "http://p", "NO_PROXY", cases[i].list}};
        check(&one, 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_given_proxy_or_the_environments_is_taken),
        cmocka_unit_test(no_proxy_exempts_as_go_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
