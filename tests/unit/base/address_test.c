// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void assert_bytes(const struct address *address, const char *expected) {
    unsigned char bytes[16] = {0};
    assert_int_equal(inet_pton(address->family, expected, bytes), 1);
    assert_memory_equal(address->bytes, bytes, sizeof bytes);
}

static void an_address_is_ipv4_or_ipv6(void **state) {
    (void)state;
    struct address address;
    assert_true(address_parse("10.1.2.3", &address));
    assert_int_equal(address.family, AF_INET);
    assert_int_equal(address.port, 0);
    assert_bytes(&address, "10.1.2.3");
    assert_true(address_parse("fe80::1", &address));
    assert_int_equal(address.family, AF_INET6);
    assert_bytes(&address, "fe80::1");
    static const char *const none[] = {"", "localhost", "10.1.2", "10.1.2.3 ", "[::1]", "10.1.2.3:80", "010.1.2.3"};
    for (size_t i = 0; i < COUNT(none); i++) {
        assert_false(address_parse(none[i], &address));
        assert_int_equal(address.family, 0);
    }
}

static void a_port_stands_behind_an_address(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int family;
        uint16_t port;
        const char *address;
    } cases[] = {
        {"127.0.0.1:9440", AF_INET, 9440, "127.0.0.1"},
        {"0.0.0.0:0", AF_INET, 0, "0.0.0.0"},
        {"1.2.3.4:65535", AF_INET, 65535, "1.2.3.4"},
        {"[::1]:80", AF_INET6, 80, "::1"},
        {"[::]:9440", AF_INET6, 9440, "::"},
        {"[::ffff:1.2.3.4]:1", AF_INET6, 1, "::ffff:1.2.3.4"},
        {"1.2.3.4:0080", AF_INET, 80, "1.2.3.4"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct address address;
        if (!address_parse_port(cases[i].text, &address))
            fail_msg("%s", cases[i].text);
        assert_int_equal(address.family, cases[i].family);
        assert_int_equal(address.port, cases[i].port);
        assert_bytes(&address, cases[i].address);
    }
}

static void what_is_no_address_with_a_port_is_refused(void **state) {
    (void)state;
    static const char *const cases[] = {
        "",
        ":",
        ":80",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "::1:80",
        "[::1]",
        "[::1]:",
        "[127.0.0.1]:80",
        "localhost:80",
        "[]:80",
        "[:80",
        "]:80",
        "[::1:80",
        "::1]:80",
        "127.0.0.1: 80",
        "127.0.0.1:80x",
        "[::1]x:80",
        "[1111:2222:3333:4444:5555:6666:7777:8888:9999:0000:1111]:1",
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct address address;
        if (address_parse_port(cases[i], &address))
            fail_msg("%s", cases[i]);
        assert_int_equal(address.family, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_ipv4_or_ipv6),
        cmocka_unit_test(a_port_stands_behind_an_address),
        cmocka_unit_test(what_is_no_address_with_a_port_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
