// SPDX-License-Identifier: Apache-2.0
// How a guard's report reaches its ConfigMap, against a server that answers as an API server in each of its states.
#include "core/cmd/guard/reporter.h"

#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/config/config.h"
#include "core/kube/transport/curl_transport.h"
#include "tests/unit/kube/pki.h"
#include "tests/unit/kube/tls_server.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define PATH "/api/v1/namespaces/wharf-system/configmaps/wharf-guard.here.w1"
#define BODY "{\"data\":{\"u\":\"x\"}}"
#define EMPTY "{\"data\":null}"
#define PATIENCE_NS (60 * CLOCK_SECOND)

struct stage {
    struct pki_pair ca, cert;
    struct server *server;
    char kubeconfig[64];
    struct reporter *reporter;
    pthread_mutex_t mutex;
    struct buffer asked; // "patch BODY;" and "apply;"
    const int *codes;    // of the next answers, 0 ends them: then 200
    bool made;           // the ConfigMap exists
};

static int code_of(struct stage *stage, bool apply) {
    int code = *stage->codes ? *stage->codes++ : 200;
    stage->made |= apply && code == 200;
    return code == 200 && !stage->made ? 404 : code;
}

static bool serve(void *ctx, struct peer *peer, const char *request) {
    struct stage *stage = ctx;
    const char *body = strstr(request, "\r\n\r\n");
    bool apply = strstr(request, "apply-patch");
    pthread_mutex_lock(&stage->mutex);
    if (text_has_prefix(request, "PATCH " PATH) && body)
        buffer_printf(&stage->asked, "%s %s;", apply ? "apply" : "patch",
                      !apply                                                ? body + 4
                      : strstr(body, "\"wharf.dev/guard-report\":\"here\"") ? "labelled"
                                                                            : "bare");
    else
        buffer_printf(&stage->asked, "%.40s;", request);
    int code = code_of(stage, apply);
    pthread_mutex_unlock(&stage->mutex);
    const char *reason = code == 404 ? "NotFound" : code == 422 ? "Invalid" : "InternalError";
    AUTO_TEXT answer =
        code == 200
            ? strdup("{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\",\"namespace\":"
                     "\"wharf-system\",\"uid\":\"u\",\"resourceVersion\":\"1\"}}")
            : text_format("{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":%d,\"reason\":\"%s\",\"details\":{"
                          "\"name\":\"wharf-guard.here.w1\",\"kind\":\"configmaps\"},\"message\":\"m\"}",
                          code, reason);
    peer_send(peer, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", code,
              strlen(answer), answer);
    return true;
}

static void begin(struct stage *stage, const int *codes, bool made) {
    static const struct exec_policy policy = {0};
    *stage = (struct stage){.kubeconfig = "/tmp/wharf-reporter-XXXXXX", .codes = codes, .made = made};
    buffer_init(&stage->asked, 65536);
    pthread_mutex_init(&stage->mutex, NULL);
    stage->ca = pki_make(&(struct pki_request){.name = "ca", .ca = true});
    stage->cert = pki_make(&(struct pki_request){.name = "server", .names = "IP:127.0.0.1", .issuer = &stage->ca});
    stage->server = server_start(
        &(struct server_options){.cert = stage->cert.cert, .key = stage->cert.key, .serve = serve, .ctx = stage});
    AUTO_BUFFER(text, 65536);
    buffer_printf(
        &text,
        "{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"current-context\":\"c\",\"clusters\":[{\"name\":\"c\","
        "\"cluster\":{\"server\":\"https://127.0.0.1:%u\",\"insecure-skip-tls-verify\":true}}],\"users\":[{\"name\":"
        "\"u\",\"user\":{\"token\":\"t\"}}],\"contexts\":[{\"name\":\"c\",\"context\":{\"cluster\":\"c\",\"user\":"
        "\"u\"}}]}",
        server_port(stage->server));
    int fd = mkstemp(stage->kubeconfig);
    assert_int_equal(write(fd, text.data, text.len), (ssize_t)text.len);
    close(fd);
    struct reporter_options options = {.kubeconfig = stage->kubeconfig,
                                       .namespace_ = "wharf-system",
                                       .origin = "here",
                                       .worker = "w1",
                                       .policy = &policy};
    assert_null(reporter_start(&options, &stage->reporter));
}

static void end(struct stage *stage) {
    reporter_stop(stage->reporter);
    server_stop(stage->server);
    pki_free(&stage->ca);
    pki_free(&stage->cert);
    unlink(stage->kubeconfig);
    buffer_free(&stage->asked);
    pthread_mutex_destroy(&stage->mutex);
}

static bool has_asked(struct stage *stage, const char *text) {
    AUTO_LOCK(&stage->mutex);
    return stage->asked.data && strcmp(stage->asked.data, text) == 0;
}

static void expect(struct stage *stage, const char *text) {
    int64_t until_ns = clock_now().mono_ns + PATIENCE_NS;
    while (!has_asked(stage, text) && clock_now().mono_ns < until_ns)
        (void)poll(NULL, 0, 10);
    AUTO_LOCK(&stage->mutex);
    assert_string_equal(stage->asked.data ? stage->asked.data : "", text);
    buffer_reset(&stage->asked);
}

static void put(struct stage *stage, const char *body) {
    reporter_put(stage->reporter, body, strlen(body));
}

static const int fine[] = {0};

static void a_missing_config_map_is_made(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, fine, false);
    put(&stage, EMPTY); // nothing to empty
    expect(&stage, "patch " EMPTY ";");
    put(&stage, BODY);
    expect(&stage, "patch " BODY ";apply labelled;patch " BODY ";");
    put(&stage, EMPTY);
    expect(&stage, "patch " EMPTY ";");
    end(&stage);
}

static void entries_of_former_guards_give_way(void **state) {
    (void)state;
    static const int codes[] = {422, 200, 200, 0};
    struct stage stage;
    begin(&stage, codes, true);
    put(&stage, BODY);
    expect(&stage, "patch " BODY ";patch " EMPTY ";patch " BODY ";");
    end(&stage);
}

static void a_failure_is_tried_again(void **state) {
    (void)state;
    static const int codes[] = {403, 403, 0};
    struct stage stage;
    begin(&stage, codes, true);
    put(&stage, BODY);
    expect(&stage, "patch " BODY ";patch " BODY ";patch " BODY ";");
    end(&stage);
}

static int setup(void **state) {
    (void)state;
    assert_null(curl_transport_setup());
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_config_map_is_made),
        cmocka_unit_test(entries_of_former_guards_give_way),
        cmocka_unit_test(a_failure_is_tried_again),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
