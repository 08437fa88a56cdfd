// SPDX-License-Identifier: Apache-2.0
// Credentials that change while a transport uses them: from credential plugins and from kubeconfigs.
#include "core/base/text.h"
#include "core/kube/credentials/credentials.h"
#include "tests/unit/kube/net_world.h"
#include "tests/unit/kube/plugin_kit.h"

#define TOKEN(token) "printf '%s\\n' '" PLUGIN_OUTPUT("{\"token\":\"" token "\"}") "'"

static struct plugin_kit *kit;

static int setup(void **state) {
    plugin_kit_setup((void **)&kit);
    return world_setup(state);
}

static int teardown(void **state) {
    int code = world_teardown(state);
    plugin_kit_teardown((void **)&kit);
    return code;
}

static void use_plugin(struct world *world, const char *script) {
    world->endpoint.exec = plugin_kit_make(kit, script);
    world_connect(world);
}

static void expect_header(struct world *world, const char *header) {
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/echo"});
    AUTO_TEXT line = text_format("\r\n%s\r\n", header);
    if (!strstr(text_of(&answer.body), line))
        fail_msg("expected %s, the server saw\n%s%s", header, text_of(&answer.body), answer.problem);
    answer_free(&answer);
}

static void requests_wait_for_the_plugin_and_nothing_else_does(void **state) {
    struct world *world = *state;
    use_plugin(world, "while [ ! -e go ]; do sleep 0.01; done; " TOKEN("one"));
    struct answer answer;
    answer_init(&answer, world);
    submit(&answer, &(struct http_request){.path = "/echo", .timeout_ns = CLOCK_MS});
    for (int i = 0; i < 20; i++) {
        int64_t begin_ns = clock_now().mono_ns;
        curl_transport_poll(world->transport, 10 * CLOCK_MS);
        assert_true(clock_now().mono_ns - begin_ns < 5 * CLOCK_SECOND);
        assert_false(answer.done);
    }
    assert_int_equal(server_connections(world->server), 0);
    // The request's own time begins when it is sent.
    answer_free(&answer);
    world->transport->ops->cancel(world->transport, answer.id);
    plugin_kit_write(kit, "go", "", 0600);
    expect_header(world, "Authorization: Bearer one");
    expect_header(world, "Authorization: Bearer one");
}

static void without_the_plugins_credential_nothing_is_sent(void **state) {
    struct world *world = *state;
    use_plugin(world, "echo 'no session, log in first' >&2; exit 2");
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/echo"});
    assert_int_equal(answer.outcome, HTTP_REFUSED);
    AUTO_TEXT problem = text_format("w1.kubeconfig:7: users[0].user.exec: the credential plugin %s/plugin: it exited "
                                    "with 2: no session, log in first",
                                    kit->folder);
    assert_string_equal(answer.problem, problem);
    answer_free(&answer);
    assert_int_equal(atomic_load(&world->asked), 0);
}

static bool serve_only_two(void *ctx, struct peer *peer, const char *request) {
    if (strstr(request, "\r\nAuthorization: Bearer two\r\n"))
        return world_serve(ctx, peer, request);
    peer_send(peer, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno");
    return true;
}

static struct server *serve_instead(struct world *world, bool (*serve)(void *, struct peer *, const char *),
                                    const char *client_ca) {
    struct server *server = server_start(&(struct server_options){
        .cert = world->cert.cert, .key = world->cert.key, .client_ca = client_ca, .serve = serve, .ctx = world});
    free(world->endpoint.server);
    world->endpoint.server = text_format("https://127.0.0.1:%u", server_port(server));
    return server;
}

static void close_all(struct world *world, struct server *server) {
    world->transport->ops->free(world->transport);
    world->transport = NULL;
    server_stop(server);
}

static void a_rejected_token_is_fetched_again_on_the_same_connection(void **state) {
    struct world *world = *state;
    struct server *server = serve_instead(world, serve_only_two, NULL);
    plugin_kit_write(kit, "token", "two", 0600);
    use_plugin(world, "echo run >> runs; printf '" PLUGIN_OUTPUT("{\"token\":\"%s\"}") "' $(cat token)");
    expect_header(world, "Authorization: Bearer two");
    struct answer stream, one, two;
    answer_init(&stream, world);
    submit(&stream, &(struct http_request){.path = "/silent", .stream = true});
    poll_until(world, stream.data.len > 0);
    // Another token is needed than the plugin gives first.
    world->transport->ops->refresh(world->transport); // nothing was rejected
    AUTO_TEXT runs = plugin_kit_read(kit, "runs");
    assert_string_equal(runs, "run\n");
    close_all(world, server);
    assert_true(stream.done == false);
    answer_free(&stream);

    server = serve_instead(world, serve_only_two, NULL);
    plugin_kit_write(kit, "token", "one", 0600);
    world_connect(world);
    ask(&one, world, &(struct http_request){.path = "/echo"});
    assert_int_equal(one.status, 401);
    assert_false(world->transport->ops->refresh(world->transport)); // it was never accepted: only after 10 s
    answer_free(&one);
    ask(&two, world, &(struct http_request){.path = "/echo"});
    assert_int_equal(two.status, 401);
    answer_free(&two);
    assert_int_equal(server_connections(server), 1);
    AUTO_TEXT again = plugin_kit_read(kit, "runs");
    assert_string_equal(again, "run\nrun\n");
    close_all(world, server);
}

static bool serve_until_revoked(void *ctx, struct peer *peer, const char *request) {
    AUTO_TEXT revoked = plugin_kit_read(kit, "revoked");
    AUTO_TEXT header = text_format("\r\nAuthorization: Bearer %s\r\n", revoked);
    if (!*revoked || !strstr(request, header))
        return world_serve(ctx, peer, request);
    peer_send(peer, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno");
    return true;
}

static void a_token_that_is_no_longer_accepted_is_replaced_and_streams_go_on(void **state) {
    struct world *world = *state;
    struct server *server = serve_instead(world, serve_until_revoked, NULL);
    plugin_kit_write(kit, "token", "one", 0600);
    use_plugin(world, "echo run >> runs; printf '" PLUGIN_OUTPUT("{\"token\":\"%s\"}") "' $(cat token)");
    expect_header(world, "Authorization: Bearer one");
    struct answer stream;
    answer_init(&stream, world);
    submit(&stream, &(struct http_request){.path = "/silent", .stream = true});
    poll_until(world, stream.data.len > 0);
    plugin_kit_write(kit, "token", "two", 0600);
    plugin_kit_write(kit, "revoked", "one", 0600);
    sleep(1); // the least time between two runs
    struct answer first, second;
    answer_init(&first, world);
    answer_init(&second, world);
    submit(&first, &(struct http_request){.path = "/echo"});
    submit(&second, &(struct http_request){.path = "/echo"});
    poll_until(world, first.done && second.done);
    assert_int_equal(first.status, 401);
    assert_int_equal(second.status, 401);
    assert_true(world->transport->ops->refresh(world->transport));
    expect_header(world, "Authorization: Bearer two");
    assert_true(world->transport->ops->refresh(world->transport)); // for the second: already rotated
    expect_header(world, "Authorization: Bearer two");
    AUTO_TEXT runs = plugin_kit_read(kit, "runs");
    assert_string_equal(runs, "run\nrun\n");
    assert_false(stream.done);
    assert_true(server_connections(server) <= 3);
    answer_free(&first);
    answer_free(&second);
    answer_free(&stream);
    close_all(world, server);
}

static void write_certificate(const struct pki_pair *pair) {
    AUTO_BUFFER(text, 65536);
    buffer_text(&text,
                "{\"apiVersion\":\"" PLUGIN_V1 "\",\"kind\":\"ExecCredential\",\"status\":{\"clientCertificateData\":");
    buffer_json_string(&text, pair->cert, strlen(pair->cert));
    buffer_text(&text, ",\"clientKeyData\":");
    buffer_json_string(&text, pair->key, strlen(pair->key));
    buffer_text(&text, ",\"expirationTimestamp\":\"");
    char expiry[CLOCK_RFC3339_MAX];
    clock_rfc3339(clock_now().wall_ns + 6 * CLOCK_SECOND, expiry);
    buffer_printf(&text, "%s\"}}", expiry);
    plugin_kit_write(kit, "answer", text.data, 0600);
}

static bool serve_name(void *ctx, struct peer *peer, const char *request) {
    if (!text_has_prefix(request, "GET /client"))
        return world_serve(ctx, peer, request);
    peer_send(peer, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(peer_name(peer)), peer_name(peer));
    return true;
}

static bool is_named(struct world *world, const char *name) {
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/client"});
    assert_string_equal(answer.problem, "");
    bool same = strcmp(text_of(&answer.body), name) == 0;
    answer_free(&answer);
    return same;
}

static void another_client_certificate_replaces_the_connections(void **state) {
    struct world *world = *state;
    struct pki_pair one = pki_make(&(struct pki_request){.name = "one", .issuer = &world->ca});
    struct pki_pair two = pki_make(&(struct pki_request){.name = "two", .issuer = &world->ca});
    struct server *server = serve_instead(world, serve_name, world->ca.cert);
    write_certificate(&one);
    use_plugin(world, "cat answer");
    assert_true(is_named(world, "one"));
    struct answer stream;
    answer_init(&stream, world);
    submit(&stream, &(struct http_request){.path = "/silent", .stream = true});
    poll_until(world, stream.data.len > 0);
    write_certificate(&two);
    poll_until(world, stream.done); // nobody asks: it is renewed because it expires
    assert_int_equal(stream.outcome, HTTP_BROKEN);
    assert_true(is_named(world, "two"));
    answer_free(&stream);
    close_all(world, server);
    pki_free(&one);
    pki_free(&two);
}

static void a_transport_is_closed_while_its_plugin_runs(void **state) {
    struct world *world = *state;
    use_plugin(world, "echo $$ > pid; sleep 1000");
    struct answer answer;
    answer_init(&answer, world);
    submit(&answer, &(struct http_request){.path = "/echo"});
    for (bool started = false; !started;) {
        curl_transport_poll(world->transport, CLOCK_MS);
        AUTO_TEXT pid = plugin_kit_read(kit, "pid");
        started = strchr(pid, '\n');
    }
    int64_t begin_ns = clock_now().mono_ns;
    world->transport->ops->free(world->transport);
    world->transport = NULL;
    assert_true(clock_now().mono_ns - begin_ns < 10 * CLOCK_SECOND);
    assert_false(answer.done);
    answer_free(&answer);
}

static void all_requests_impersonate(void **state) {
    struct world *world = *state;
    world->endpoint.token = strdup("t");
    world->endpoint.impersonation = calloc(4, sizeof(char *));
    world->endpoint.impersonation[2] = strdup("Impersonate-Group: ops:");
    world->endpoint.impersonation[0] = strdup("Impersonate-User: jane");
    world->endpoint.impersonation[1] = strdup("Impersonate-Extra-scopes:");
    world_connect(world);
    expect_header(world, "Impersonate-User: jane");
    expect_header(world, "Impersonate-Extra-scopes:");
    expect_header(world, "Impersonate-Group: ops:");
    struct answer stream;
    ask(&stream, world, &(struct http_request){.path = "/echo?watch=true", .stream = true});
    assert_non_null(strstr(text_of(&stream.data), "\r\nImpersonate-User: jane\r\n"));
    answer_free(&stream);
}

// Also where the kubeconfig impersonates: a request has one user.
static void a_request_of_a_tenant_has_the_tenants_user_and_group(void **state) {
    struct world *world = *state;
    world->endpoint.token = strdup("t");
    world->endpoint.impersonation = calloc(2, sizeof(char *));
    world->endpoint.impersonation[0] = strdup("Impersonate-User: jane");
    world_connect(world);
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/echo", .tenant = "team-a"});
    const char *user = strstr(text_of(&answer.body), "\r\nImpersonate-User: wharf:team-a\r\n");
    assert_non_null(user);
    assert_null(strstr(text_of(&answer.body), "jane"));
    assert_non_null(strstr(text_of(&answer.body), "\r\nImpersonate-Group: wharf:tenants\r\n"));
    answer_free(&answer);
    expect_header(world, "Impersonate-User: jane"); // the next request on the same handle
}

// A kubeconfig in the kit, of the world's server.
static void write_kubeconfig(const struct world *world, const char *server, const char *user) {
    AUTO_BUFFER(ca, 65536);
    text_base64_encode(world->ca.cert, strlen(world->ca.cert), &ca);
    AUTO_TEXT text = text_format("current-context: c\n"
                                 "clusters:\n- {name: k, cluster: {server: '%s', certificate-authority-data: %s}}\n"
                                 "users:\n- {name: u, user: %s}\n"
                                 "contexts:\n- {name: c, context: {cluster: k, user: u}}\n",
                                 server, ca.data, user);
    plugin_kit_write(kit, "next", text, 0600);
    AUTO_TEXT next = plugin_kit_path(kit, "next");
    AUTO_TEXT path = plugin_kit_path(kit, "config");
    assert_int_equal(rename(next, path), 0);
}

static struct endpoint *load_kubeconfig(struct world *world) {
    AUTO_TEXT path = plugin_kit_path(kit, "config");
    struct endpoint *endpoint = NULL;
    assert_string_equal(error_text(kubeconfig_load(path, NULL, NULL, &endpoint)), "no error");
    struct error *error = curl_transport_new(endpoint, "wharf-test/1", &world->transport);
    assert_string_equal(error_text(error), "no error");
    return endpoint;
}

static void a_rotated_kubeconfig_is_used_live(void **state) {
    struct world *world = *state;
    const char *server = world->endpoint.server;
    write_kubeconfig(world, server, "{token: one}");
    struct endpoint *endpoint = load_kubeconfig(world);
    expect_header(world, "Authorization: Bearer one");
    assert_false(world->transport->ops->refresh(world->transport)); // it did not change
    expect_header(world, "Authorization: Bearer one");
    write_kubeconfig(world, server, "{token: two, as: jane}");
    expect_header(world, "Authorization: Bearer one"); // until it is looked at
    assert_true(world->transport->ops->refresh(world->transport));
    expect_header(world, "Authorization: Bearer two");
    expect_header(world, "Impersonate-User: jane");
    write_kubeconfig(world, server, "{token: three}");
    curl_transport_recheck(world->transport);
    expect_header(world, "Authorization: Bearer three");
    plugin_kit_write(kit, "config", "[", 0600);
    curl_transport_recheck(world->transport);
    expect_header(world, "Authorization: Bearer three");
    assert_int_equal(server_connections(world->server), 1);

    // Its token is for another server, which it must not leave for.
    write_kubeconfig(world, "https://localhost:1", "{token: four}");
    curl_transport_recheck(world->transport);
    assert_false(curl_transport_moved(world->transport));
    expect_header(world, "Authorization: Bearer three");
    assert_true(curl_transport_moved(world->transport));
    write_kubeconfig(world, server, "{token: five}");
    curl_transport_recheck(world->transport);
    expect_header(world, "Authorization: Bearer five");
    assert_false(curl_transport_moved(world->transport));
    assert_int_equal(server_connections(world->server), 1);
    world->transport->ops->free(world->transport);
    world->transport = NULL;
    endpoint_free(endpoint);
}

static void a_ca_that_a_kubeconfig_replaces_counts_for_new_connections(void **state) {
    struct world *world = *state;
    struct pki_pair other = pki_make(&(struct pki_request){.name = "other", .ca = true});
    struct pki_pair real = world->ca;
    world->ca = other;
    write_kubeconfig(world, world->endpoint.server, "{token: one}");
    world->ca = real;
    struct endpoint *endpoint = load_kubeconfig(world);
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/echo"});
    assert_int_equal(answer.outcome, HTTP_REFUSED);
    answer_free(&answer);
    write_kubeconfig(world, world->endpoint.server, "{token: one}");
    curl_transport_recheck(world->transport);
    expect_header(world, "Authorization: Bearer one");
    world->transport->ops->free(world->transport);
    world->transport = NULL;
    endpoint_free(endpoint);
    pki_free(&other);
}

static void credentials_can_be_renewed_from_outside(void **state) {
    struct world *world = *state;
    world->endpoint.token = strdup("one");
    world_connect(world);
    expect_header(world, "Authorization: Bearer one");
    static const char *const tokens[] = {"two", "three"};
    for (size_t i = 0; i < 2; i++) {
        struct endpoint *fresh = calloc(1, sizeof *fresh);
        fresh->server = strdup(world->endpoint.server);
        fresh->ca_pem = strdup(world->endpoint.ca_pem);
        fresh->token = strdup(tokens[i]);
        assert_true(endpoint_same_address(&world->endpoint, fresh));
        curl_transport_renew(world->transport, fresh);
        AUTO_TEXT header = text_format("Authorization: Bearer %s", tokens[i]);
        expect_header(world, header);
    }
    assert_int_equal(server_connections(world->server), 1);
}

static void a_plugin_that_a_kubeconfig_replaces_is_run(void **state) {
    struct world *world = *state;
    use_plugin(world, TOKEN("one"));
    expect_header(world, "Authorization: Bearer one");
    struct endpoint *fresh = calloc(1, sizeof *fresh);
    fresh->server = strdup(world->endpoint.server);
    fresh->ca_pem = strdup(world->endpoint.ca_pem);
    fresh->exec = plugin_kit_make(kit, TOKEN("two"));
    free(fresh->exec->info);
    fresh->exec->info = strdup("{\"another\":true}");
    curl_transport_renew(world->transport, fresh);
    expect_header(world, "Authorization: Bearer two");
}

#define with_plugins(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        with_plugins(requests_wait_for_the_plugin_and_nothing_else_does),
        with_plugins(without_the_plugins_credential_nothing_is_sent),
        with_plugins(a_rejected_token_is_fetched_again_on_the_same_connection),
        with_plugins(a_token_that_is_no_longer_accepted_is_replaced_and_streams_go_on),
        with_plugins(another_client_certificate_replaces_the_connections),
        with_plugins(a_transport_is_closed_while_its_plugin_runs),
        with_plugins(all_requests_impersonate),
        with_plugins(a_request_of_a_tenant_has_the_tenants_user_and_group),
        with_plugins(a_rotated_kubeconfig_is_used_live),
        with_plugins(a_ca_that_a_kubeconfig_replaces_counts_for_new_connections),
        with_plugins(credentials_can_be_renewed_from_outside),
        with_plugins(a_plugin_that_a_kubeconfig_replaces_is_run),
    };
    return world_ready() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
