// SPDX-License-Identifier: Apache-2.0
// Where the HTTP server listens.
#include "tests/unit/config/config_load.h"

static void an_address_a_socket_or_both_are_served(void **state) {
    (void)state;
    static const struct {
        const char *text, *address, *socket, *group, *cert;
    } cases[] = {
        {"", NULL, NULL, NULL, NULL},
        {"serve: {address: \"[::1]:9440\"}\n", "[::1]:9440", NULL, NULL, NULL},
        {"serve: {socket: /run/w.sock, socketGroup: ops}\n", NULL, "/run/w.sock", "ops", NULL},
        {"serve: {address: 127.0.0.1:1, socket: /w.sock}\n", "127.0.0.1:1", "/w.sock", NULL, NULL},
        {"serve: {address: 127.0.0.1:1, tls: {certFile: /a.crt, keyFile: /a.key}}\n", "127.0.0.1:1", NULL, NULL,
         "/a.crt"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_TEXT text = text_format("%s%s", GOOD, cases[i].text);
        struct config *config = load_good(text);
        assert_true(text_equal(config->serve.address, cases[i].address));
        assert_true(text_equal(config->serve.socket, cases[i].socket));
        assert_true(text_equal(config->serve.group, cases[i].group));
        assert_true(text_equal(config->serve.cert_file, cases[i].cert));
        assert_int_equal(config_serves(&config->serve), cases[i].address || cases[i].socket);
        config_free(config);
    }
}

#define TEN "0123456789"

static void what_cannot_be_served_is_reported(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *says[4];
    } cases[] = {
        {"serve: {}\n", {"serve", "neither address nor socket", "required"}},
        {"serve: {socketGroup: ops}\n", {"serve", "neither address nor socket"}},
        {"serve: {socket: /" TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "1234567}\n", {"serve.socket", "at most 107"}},
        {"serve: {socket: /w.sock, tls: {certFile: a, keyFile: b}}\n", {"tls without address"}},
        {"serve: {address: 127.0.0.1:1, tls: {certFile: a}}\n", {"serve.tls", "keyFile", "required"}},
        {"serve: {address: 127.0.0.1:1, tls: true}\n", {"serve.tls", "a mapping"}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_TEXT text = text_format("%s%s", GOOD, cases[i].text);
        expect_problem(text, cases[i].says);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_a_socket_or_both_are_served),
        cmocka_unit_test(what_cannot_be_served_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
