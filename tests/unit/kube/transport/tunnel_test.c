// SPDX-License-Identifier: Apache-2.0
#include "core/kube/transport/curl_transport.h"

#include "tests/unit/kube/net_world.h"

#include <poll.h>

static atomic_bool never, now = true;

// What the server saw of the last request.
static char seen[8192];

#define ACCEPTED "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\nX-Name:  value \r\n\r\n"

static bool serve(void *ctx, struct peer *peer, const char *request) {
    (void)ctx;
    text_copy(seen, sizeof seen, request);
    if (text_has_prefix(request, "GET /refused"))
        peer_send(peer, "HTTP/1.1 403 Forbidden\r\ncontent-length: 9\r\n\r\nforbidden");
    else if (text_has_prefix(request, "GET /garbage"))
        peer_send(peer, "220 smtp.example\r\n\r\n");
    else if (text_has_prefix(request, "GET /cut"))
        peer_send(peer, "HTTP/1.1 101 Swi");
    else if (text_has_prefix(request, "GET /up")) {
        peer_send(peer, ACCEPTED "early");
        peer_send(peer, " and late");
        peer_wait_closed(peer);
    } else
        return true; // no answer
    return false;
}

static int start(void **state) {
    if (!world_ready())
        return -1;
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world_open(world);
    world->cert = pki_make(
        &(struct pki_request){.name = "server", .names = "DNS:api.example,IP:127.0.0.1", .issuer = &world->ca});
    world->server = server_start(
        &(struct server_options){.cert = world->cert.cert, .key = world->cert.key, .serve = serve, .ctx = world});
    world->endpoint.server = text_format("https://127.0.0.1:%u", server_port(world->server));
    world->endpoint.token = strdup("secret");
    world_connect(world);
    *state = world;
    return 0;
}

static struct error *open_tunnel(struct world *world, const char *path, struct tunnel **out,
                                 struct tunnel_answer *answer) {
    return tunnel_open(world->transport, path, NULL, "Upgrade: x\r\nConnection: Upgrade\r\n", &never, out, answer);
}

static void bytes_pass_after_an_upgrade_also_those_that_came_with_it(void **state) {
    struct world *world = *state;
    struct tunnel *tunnel = NULL;
    struct tunnel_answer answer;
    AUTO_BUFFER(got, 4096);
    char bytes[3];
    assert_null(open_tunnel(world, "/up?a=b", &tunnel, &answer));
    assert_non_null(tunnel);
    assert_int_equal(answer.status, 101);
    while (got.len < strlen("early and late")) {
        ptrdiff_t count = tunnel_read(tunnel, bytes, sizeof bytes);
        assert_true(count >= 0);
        if (count == 0)
            (void)poll(&(struct pollfd){.fd = tunnel_socket(tunnel), .events = POLLIN}, 1, 1000);
        else
            assert_true(buffer_append(&got, bytes, (size_t)count));
    }
    assert_string_equal(got.data, "early and late");
    assert_int_equal(tunnel_read(tunnel, bytes, sizeof bytes), 0);
    AUTO_TEXT name = tunnel_header(&answer, "x-name");
    assert_string_equal(name, "value ");
    assert_null(tunnel_header(&answer, "absent"));
    tunnel_answer_clear(&answer);
    tunnel_close(tunnel);
}

static void a_refusal_is_an_answer_with_its_body_and_credentials_are_sent(void **state) {
    struct world *world = *state;
    struct tunnel *tunnel = NULL;
    struct tunnel_answer answer;
    assert_null(open_tunnel(world, "/refused", &tunnel, &answer));
    assert_null(tunnel);
    assert_int_equal(answer.status, 403);
    assert_string_equal(answer.body.data, "forbidden");
    assert_non_null(strstr(seen, "\r\nAuthorization: Bearer secret\r\n"));
    assert_non_null(strstr(seen, "\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"));
    tunnel_answer_clear(&answer);
}

static void a_session_of_a_tenant_has_the_tenants_user_and_group(void **state) {
    struct world *world = *state;
    struct tunnel *tunnel = NULL;
    struct tunnel_answer answer;
    assert_null(tunnel_open(world->transport, "/refused", "team-a", "", &never, &tunnel, &answer));
    assert_non_null(strstr(seen, "\r\nImpersonate-User: wharf:team-a\r\nImpersonate-Group: wharf:tenants\r\n"));
    tunnel_answer_clear(&answer);
}

static void what_is_no_answer_is_an_error(void **state) {
    struct world *world = *state;
    static const char *const paths[] = {"/garbage", "/cut"};
    for (size_t i = 0; i < 2; i++) {
        struct tunnel *tunnel = NULL;
        struct tunnel_answer answer;
        struct error *error = open_tunnel(world, paths[i], &tunnel, &answer);
        assert_non_null(error);
        assert_int_equal(error->code, ERROR_IO);
        assert_null(tunnel);
        error_free(error);
    }
}

static void a_server_of_another_authority_is_not_trusted(void **state) {
    struct world *world = *state;
    struct pki_pair other = pki_make(&(struct pki_request){.name = "other", .ca = true});
    struct endpoint endpoint = {.server = world->endpoint.server, .ca_pem = other.cert, .token = world->endpoint.token};
    struct transport *transport = NULL;
    struct tunnel *tunnel = NULL;
    struct tunnel_answer answer;
    seen[0] = '\0';
    assert_null(curl_transport_new(&endpoint, "test", &transport));
    struct error *error = tunnel_open(transport, "/up", NULL, "", &never, &tunnel, &answer);
    assert_non_null(error);
    assert_non_null(strstr(error->message, "cannot connect to https://127.0.0.1"));
    assert_string_equal(seen, "");
    error_free(error);
    transport->ops->free(transport);
    pki_free(&other);
}

static void a_stop_ends_the_wait_for_an_answer(void **state) {
    struct world *world = *state;
    struct tunnel *tunnel = NULL;
    struct tunnel_answer answer;
    struct error *error = tunnel_open(world->transport, "/silent", NULL, "", &now, &tunnel, &answer);
    assert_non_null(error);
    assert_null(tunnel);
    error_free(error);
}

int main(void) {
#define WITH(test) cmocka_unit_test_setup_teardown(test, start, world_teardown)
    const struct CMUnitTest tests[] = {
        WITH(bytes_pass_after_an_upgrade_also_those_that_came_with_it),
        WITH(a_refusal_is_an_answer_with_its_body_and_credentials_are_sent),
        WITH(a_session_of_a_tenant_has_the_tenants_user_and_group),
        WITH(what_is_no_answer_is_an_error),
        WITH(a_server_of_another_authority_is_not_trusted),
        WITH(a_stop_ends_the_wait_for_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
