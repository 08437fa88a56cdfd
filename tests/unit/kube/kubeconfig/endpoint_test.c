// SPDX-License-Identifier: Apache-2.0
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/kube/kubeconfig/kubeconfig.h"
#include "tests/unit/kube/pki.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HOUR (60 * CLOCK_MINUTE)

struct world {
    struct pki_pair ca, old_ca, client, other, old, locked;
    char *both_ca; // the old one and the valid one
    int64_t now_ns;
};

static int setup(void **state) {
    struct world *world = calloc(1, sizeof *world);
    world->now_ns = clock_now().wall_ns;
    world->ca = pki_make(&(struct pki_request){.name = "ca", .ca = true});
    world->old_ca = pki_make(&(struct pki_request){.name = "old ca", .ca = true, .begin_s = -7200, .end_s = -3600});
    world->client = pki_make(&(struct pki_request){.name = "me", .issuer = &world->ca});
    world->other = pki_make(&(struct pki_request){.name = "other", .issuer = &world->ca});
    world->old = pki_make(&(struct pki_request){.name = "old", .issuer = &world->ca, .begin_s = -7200, .end_s = -3600});
    world->locked = pki_make(&(struct pki_request){.name = "locked", .issuer = &world->ca, .password = "secret"});
    world->both_ca = text_format("%s%s", world->old_ca.cert, world->ca.cert);
    *state = world;
    return 0;
}

static int teardown(void **state) {
    struct world *world = *state;
    struct pki_pair *pairs[] = {&world->ca, &world->old_ca, &world->client, &world->other, &world->old, &world->locked};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        pki_free(pairs[i]);
    free(world->both_ca);
    free(world);
    return 0;
}

static void certificates_are_checked(void **state) {
    struct world *world = *state;
    char *half = text_format("%.120s\n-----END CERTIFICATE-----\n", world->ca.cert);
    struct {
        char *ca, *cert, *key;
        int64_t later_ns;
        const char *message; // its beginning
        enum error_code code;
    } cases[] = {
        {NULL, NULL, NULL, 0, "no error", ERROR_INTERNAL},
        {world->ca.cert, world->client.cert, world->client.key, 0, "no error", ERROR_INTERNAL},
        {world->both_ca, NULL, NULL, 0, "no error", ERROR_INTERNAL},
        {world->old_ca.cert, NULL, NULL, 0,
         "here: certificate authority: the certificate of \"CN=old ca\" expired at 20", ERROR_INVALID},
        {world->ca.cert, NULL, NULL, 48 * HOUR,
         "here: certificate authority: the certificate of \"CN=ca\" expired at 20", ERROR_INVALID},
        {world->ca.cert, NULL, NULL, -48 * HOUR,
         "here: certificate authority: the certificate of \"CN=ca\" is not valid before 20", ERROR_INVALID},
        {"nonsense", NULL, NULL, 0, "here: certificate authority: found no PEM certificate, expected", ERROR_INVALID},
        {half, NULL, NULL, 0, "here: certificate authority: found a damaged PEM certificate (", ERROR_INVALID},
        {NULL, world->client.cert, NULL, 0, "here: found only a client certificate, expected", ERROR_INVALID},
        {NULL, NULL, world->client.key, 0, "here: found only a client key, expected", ERROR_INVALID},
        {NULL, world->client.cert, world->other.key, 0,
         "here: client certificate: the client key does not match the client certificate", ERROR_INVALID},
        {NULL, world->client.cert, world->client.cert, 0, "here: client certificate: found no valid PEM private key",
         ERROR_INVALID},
        {NULL, world->client.key, world->client.key, 0, "here: client certificate: found no PEM certificate",
         ERROR_INVALID},
        {NULL, world->locked.cert, world->locked.key, 0, "here: client certificate: found an encrypted private key",
         ERROR_UNSUPPORTED},
        {NULL, world->old.cert, world->old.key, 0,
         "here: client certificate: the certificate of \"CN=old\" expired at 20", ERROR_INVALID},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct endpoint endpoint = {.server = (char *)"https://h",
                                    .description = (char *)"here",
                                    .ca_pem = cases[i].ca,
                                    .client_cert_pem = cases[i].cert,
                                    .client_key_pem = cases[i].key};
        struct error *error = endpoint_check(&endpoint, world->now_ns + cases[i].later_ns);
        if (!text_has_prefix(error_text(error), cases[i].message) || (error && error->code != cases[i].code))
            fail_msg("case %zu: found\n  %s\nexpected\n  %s", i, error_text(error), cases[i].message);
        error_free(error);
    }
    free(half);
}

static void addresses_are_checked(void **state) {
    (void)state;
    static const struct {
        const char *server, *proxy, *message;
    } cases[] = {
        {"https://h:1", "socks5://p:1", "no error"},
        {"h:1", NULL, "server: \"h:1\" is not a URL, expected a URL like https://host:6443"},
        {"https://h", "p",
         "proxy-url: found an unsupported URL, expected one that begins with http://, https:// or "
         "socks5://"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct endpoint endpoint = {.server = (char *)cases[i].server, .proxy_url = (char *)cases[i].proxy};
        struct error *error = endpoint_check(&endpoint, 0);
        assert_string_equal(error_text(error), cases[i].message);
        error_free(error);
    }
}

static void a_token_is_read_trimmed_and_checked(void **state) {
    (void)state;
    static const struct {
        const char *content; // NULL: no file
        size_t len;
        const char *fixed, *token, *message; // message: what it contains
    } cases[] = {
        {"  tok\r\n", 7, NULL, "tok", NULL},
        {"tok", 3, "fixed", "tok", NULL},
        {NULL, 0, "fixed", "fixed", NULL},
        {" \n", 2, "fixed", "fixed", NULL},
        {NULL, 0, NULL, NULL, "No such file or directory"},
        {"", 0, NULL, NULL, "found nothing, expected a bearer token"},
        {"a\nb", 3, NULL, NULL, "found an invalid byte at offset 1, expected a bearer token"},
        {"a\0b", 3, NULL, NULL, "found a NUL byte, expected a bearer token"},
        {"t\xC3\xBC", 3, NULL, NULL, "found an invalid byte at offset 1, expected a bearer token"},
    };
    char path[] = "/tmp/wharf-test-XXXXXX";
    int fd = mkstemp(path);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, cases[i].content ? cases[i].content : "", cases[i].len, 0), (ssize_t)cases[i].len);
        struct endpoint endpoint = {.token = (char *)cases[i].fixed,
                                    .token_file = cases[i].content ? path : (char *)"/nonexistent/token"};
        char *token = NULL;
        struct error *error = endpoint_token(&endpoint, &token);
        if (!text_equal(token, cases[i].token) || !strstr(error_text(error), cases[i].message ? cases[i].message : ""))
            fail_msg("case %zu: found %s, %s", i, token ? token : "(none)", error_text(error));
        assert_int_equal(!error, !cases[i].message);
        error_free(error);
        free(token);
    }
    close(fd);
    unlink(path);
    char *token = NULL;
    assert_null(endpoint_token(&(struct endpoint){0}, &token));
    assert_null(token);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(certificates_are_checked),
        cmocka_unit_test(addresses_are_checked),
        cmocka_unit_test(a_token_is_read_trimmed_and_checked),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
