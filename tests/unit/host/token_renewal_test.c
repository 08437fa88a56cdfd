// SPDX-License-Identifier: Apache-2.0
#include "core/host/io/cluster_connection.h"
#include "core/host/tokens/tokens.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/kube/transport/curl_transport.h"
#include "tests/unit/kube/tls_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEY "wharf-system/w1"
#define STEP_NS (10 * CLOCK_MS)

// One server for both clusters.
struct stage {
    struct server *server;
    atomic_uint requests, patches; // TokenRequests, and patches of the Secret
    unsigned seen;                 // patches that the watch has shown
    char *url;
    struct cluster_connection management;
    struct client *client;
    struct renewals *renewals;
    int64_t now_ns;
};

static bool serve(void *ctx, struct peer *peer, const char *request) {
    static const char token[] =
        "{\"kind\":\"TokenRequest\",\"apiVersion\":\"authentication.k8s.io/v1\",\"status\":{\"token\":\"new\"}}";
    static const char secret[] =
        "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"w1\",\"uid\":\"u\","
        "\"resourceVersion\":\"2\"}}";
    struct stage *stage = ctx;
    bool asks = text_has_prefix(request, "POST /api/v1/namespaces/wharf-system/serviceaccounts/wharf/token");
    bool patches = text_has_prefix(request, "PATCH /api/v1/namespaces/wharf-system/secrets/w1");
    const char *body = asks ? token : patches ? secret : "{}";
    peer_send(peer, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
              asks || patches ? 200 : 404, strlen(body), body);
    atomic_fetch_add(&stage->requests, asks);
    atomic_fetch_add(&stage->patches, patches);
    return true;
}

static void wake(void *ctx) {
    (void)ctx;
}

static void trouble(void *ctx, const char *key, const char *problem) {
    (void)ctx, (void)key;
    fail_msg("%s", problem);
}

// What the watch shows: a token that was due for renewal long ago.
static void see(struct stage *stage, const char *version) {
    static const char format[] =
        "current-context: a\nclusters: [{name: a, cluster: {server: '%s'}}]\n"
        "users: [{name: a, user: {token: t}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n";
    AUTO_TEXT text =
        text_format("{\"metadata\":{\"namespace\":\"wharf-system\",\"name\":\"w1\",\"resourceVersion\":\"%s\","
                    "\"annotations\":{\"wharf.dev/token-service-account\":\"wharf-system/wharf\"}}}",
                    version);
    AUTO_JSON secret = NULL;
    assert_null(json_parse(text, strlen(text), &secret));
    struct worker_spec spec = {.kubeconfig_text = text_format(format, stage->url)};
    struct token_life life = {.issued_wall_ns = CLOCK_SECOND, .expires_wall_ns = CLOCK_SECOND + (60 * CLOCK_MINUTE)};
    assert_null(renewals_see(stage->renewals, KEY, secret, &spec, &life, NULL));
    worker_spec_clear(&spec);
}

static void begin(struct stage *stage) {
    log_setup(LOG_TEXT, LOG_ERROR);
    *stage = (struct stage){.now_ns = (60 * CLOCK_MINUTE)};
    assert_null(curl_transport_setup());
    stage->server = server_start(&(struct server_options){.serve = serve, .ctx = stage});
    stage->url = text_format("http://127.0.0.1:%u", server_port(stage->server));
    stage->management.endpoint = calloc(1, sizeof *stage->management.endpoint);
    stage->management.endpoint->server = strdup(stage->url);
    assert_null(connection_open(&stage->management, NULL));
    assert_null(connection_client(&stage->management, "management", &stage->client));
    assert_null(renewals_new(&(struct renewals_options){.wake = wake, .trouble = trouble}, &stage->renewals));
}

static void end(struct stage *stage) {
    renewals_free(stage->renewals);
    client_free(stage->client);
    connection_close(&stage->management);
    server_stop(stage->server);
    free(stage->url);
}

// Lets this much time pass, of which the network takes some too. Each patch is seen at once.
static void run(struct stage *stage, int64_t duration_ns) {
    int64_t wall_ns = INT64_C(1767323045) * CLOCK_SECOND;
    for (int64_t until_ns = stage->now_ns + duration_ns; stage->now_ns < until_ns; stage->now_ns += STEP_NS) {
        (void)renewals_tick(stage->renewals, stage->client, (struct moment){stage->now_ns, wall_ns});
        (void)client_tick(stage->client, (struct moment){stage->now_ns, wall_ns});
        curl_transport_poll(stage->management.transport, CLOCK_MS);
        if (stage->seen < atomic_load(&stage->patches)) {
            stage->seen++;
            see(stage, "2");
        }
    }
}

// Lets the thread of a TokenRequest and the patch come to their ends.
static void settle(struct stage *stage, unsigned patches) {
    int64_t until_ns = clock_now().mono_ns + 20 * CLOCK_SECOND;
    while (stage->seen < patches && clock_now().mono_ns < until_ns)
        run(stage, STEP_NS);
    assert_int_equal(stage->seen, patches);
}

static void a_worker_whose_tokens_have_always_expired_is_not_asked_all_the_time(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    see(&stage, "1");
    settle(&stage, 1);
    run(&stage, 10 * CLOCK_SECOND);
    assert_int_equal(atomic_load(&stage.requests), 1);
    stage.now_ns += 2 * CLOCK_MINUTE;
    settle(&stage, 2);
    run(&stage, 10 * CLOCK_SECOND);
    assert_int_equal(atomic_load(&stage.requests), 2);
    end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_whose_tokens_have_always_expired_is_not_asked_all_the_time),
    };
    return cmocka_run_group_tests_name("renewal of workers' tokens", tests, NULL, NULL);
}
