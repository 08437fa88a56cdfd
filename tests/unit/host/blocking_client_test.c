// SPDX-License-Identifier: Apache-2.0
#include "core/host/io/cluster_connection.h"

#include "core/base/text.h"
#include "core/kube/transport/curl_transport.h"
#include "tests/unit/kube/pki.h"
#include "tests/unit/kube/tls_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct stage {
    struct pki_pair ca, cert;
    struct server *server;
    char *url;
    atomic_bool stop;
    struct blocking_client worker;
};

static void send_json(struct peer *peer, int code, const char *body) {
    peer_send(peer, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", code,
              strlen(body), body);
}

static bool serve(void *ctx, struct peer *peer, const char *request) {
    (void)ctx;
    if (text_has_prefix(request, "GET /who"))
        send_json(peer, 200, strstr(request, "Bearer new\r\n") ? "{\"token\":\"new\"}" : "{\"token\":\"old\"}");
    else if (text_has_prefix(request, "GET /accept"))
        send_json(peer, 200, strstr(request, "as=PartialObjectMetadataList") ? "{\"metadata\":true}" : "{}");
    else if (text_has_prefix(request, "GET /forbidden"))
        send_json(peer, 403, "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"pods is forbidden\"}");
    else if (text_has_prefix(request, "GET /silent"))
        peer_wait_closed(peer);
    else
        send_json(peer, 404, "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"not there\"}");
    return true;
}

static struct endpoint *make_endpoint(const struct stage *stage, const char *url, const char *token) {
    struct endpoint *endpoint = calloc(1, sizeof *endpoint);
    assert_non_null(endpoint);
    endpoint->server = strdup(url);
    endpoint->ca_pem = strdup(stage->ca.cert);
    endpoint->token = strdup(token);
    return endpoint;
}

static int start(void **state) {
    struct stage *stage = calloc(1, sizeof *stage);
    assert_non_null(stage);
    assert_null(curl_transport_setup());
    stage->ca = pki_make(&(struct pki_request){.name = "ca", .ca = true});
    stage->cert = pki_make(&(struct pki_request){.name = "server", .names = "IP:127.0.0.1", .issuer = &stage->ca});
    stage->server =
        server_start(&(struct server_options){.cert = stage->cert.cert, .key = stage->cert.key, .serve = serve});
    stage->url = text_format("https://127.0.0.1:%u", server_port(stage->server));
    assert_null(blocking_client_open(make_endpoint(stage, stage->url, "old"), "w1", &stage->stop, &stage->worker));
    *state = stage;
    return 0;
}

static int stop(void **state) {
    struct stage *stage = *state;
    blocking_client_close(&stage->worker);
    server_stop(stage->server);
    pki_free(&stage->ca);
    pki_free(&stage->cert);
    free(stage->url);
    free(stage);
    return 0;
}

static void assert_token(struct stage *stage, const char *token) {
    AUTO_JSON answer = NULL;
    assert_null(blocking_client_get(&stage->worker, "/who", false, &answer));
    assert_string_equal(json_string_or(json_get(answer, "token"), ""), token);
}

static void renewed_credentials_are_used_over_the_same_connection(void **state) {
    struct stage *stage = *state;
    assert_token(stage, "old");
    assert_true(connection_use(&stage->worker.connection, endpoint_hold(stage->worker.connection.endpoint)));
    assert_token(stage, "old");
    assert_true(connection_use(&stage->worker.connection, make_endpoint(stage, stage->url, "new")));
    assert_token(stage, "new");
    assert_int_equal(server_connections(stage->server), 1);
    assert_false(connection_use(&stage->worker.connection, make_endpoint(stage, "https://127.0.0.1:1", "new")));
    assert_token(stage, "new");
}

static void what_went_wrong_is_told_by_its_code(void **state) {
    struct stage *stage = *state;
    static const struct {
        const char *path;
        enum error_code code;
        const char *message;
    } cases[] = {{"/absent", ERROR_NOT_FOUND, "not there"}, {"/forbidden", ERROR_REFUSED, "pods is forbidden"}};
    for (size_t i = 0; i < 2; i++) {
        AUTO_JSON answer = NULL;
        struct error *error = blocking_client_get(&stage->worker, cases[i].path, false, &answer);
        assert_non_null(error);
        assert_int_equal(error->code, cases[i].code);
        assert_string_equal(error->message, cases[i].message);
        assert_null(answer);
        error_free(error);
    }
}

static void metadata_alone_is_asked_for_where_it_is_enough(void **state) {
    struct stage *stage = *state;
    for (int metadata = 0; metadata < 2; metadata++) {
        AUTO_JSON answer = NULL;
        assert_null(blocking_client_get(&stage->worker, "/accept", metadata, &answer));
        assert_int_equal(json_bool(json_get(answer, "metadata"), false), metadata);
    }
}

static void a_stop_ends_a_request(void **state) {
    struct stage *stage = *state;
    AUTO_JSON answer = NULL;
    atomic_store(&stage->stop, true);
    struct error *error = blocking_client_get(&stage->worker, "/silent", false, &answer);
    assert_non_null(error);
    assert_int_equal(error->code, ERROR_STOPPED);
    error_free(error);
}

int main(void) {
#define WITH(test) cmocka_unit_test_setup_teardown(test, start, stop)
    const struct CMUnitTest tests[] = {
        WITH(renewed_credentials_are_used_over_the_same_connection),
        WITH(what_went_wrong_is_told_by_its_code),
        WITH(metadata_alone_is_asked_for_where_it_is_enough),
        WITH(a_stop_ends_a_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
