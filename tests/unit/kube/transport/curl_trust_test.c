// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kube/net_world.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

// What the server shows and what the client trusts, and whether they go together.
static void only_the_given_authority_is_trusted(void **state) {
    struct world *world = *state;
    struct pki_pair other = pki_make(&(struct pki_request){.name = "other", .ca = true});
    char *public_file = write_temporary(world->ca.cert); // in the role of the system's CAs
    const struct {
        const char *ca, *system;
        bool insecure, trusted;
    } cases[] = {
        {world->ca.cert, NULL, false, true}, {other.cert, NULL, false, false}, {other.cert, public_file, false, false},
        {NULL, public_file, false, true},    {NULL, NULL, false, false},       {NULL, NULL, true, true},
    };
    free(world->endpoint.ca_pem);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world->endpoint.ca_pem = cases[i].ca ? strdup(cases[i].ca) : NULL;
        world->endpoint.insecure = cases[i].insecure;
        if (cases[i].system)
            setenv("SSL_CERT_FILE", cases[i].system, 1);
        struct answer answer;
        world_connect(world);
        ask(&answer, world, &(struct http_request){.path = "/ok"});
        unsetenv("SSL_CERT_FILE");
        if (answer.outcome != (cases[i].trusted ? HTTP_ANSWERED : HTTP_REFUSED))
            fail_msg("case %zu: outcome %d: %s", i, answer.outcome, answer.problem);
        answer_free(&answer);
        world->transport->ops->free(world->transport);
        free(world->endpoint.ca_pem);
    }
    world->transport = NULL;
    world->endpoint.ca_pem = NULL;
    remove_temporary(public_file);
    pki_free(&other);
}

static void a_certificate_for_another_name_or_time_is_refused(void **state) {
    struct world *world = *state;
    const struct {
        struct pki_request request;
        const char *tls_server_name;
        bool trusted;
    } cases[] = {
        {{.name = "a", .names = "IP:127.0.0.1"}, NULL, true},
        {{.name = "a", .names = "IP:127.0.0.2"}, NULL, false},
        {{.name = "127.0.0.1", .names = "DNS:localhost"}, NULL, false},
        {{.name = "127.0.0.1"}, NULL, false},
        {{.name = "api.example"}, "api.example", false},
        {{.name = "api.example", .names = "email:a@b.example"}, "api.example", false},
        {{.name = "a", .names = "DNS:api.example"}, "api.example", true},
        {{.name = "a", .names = "IP:127.0.0.1"}, "api.example", false},
        {{.name = "a", .names = "IP:127.0.0.1", .begin_s = -7200, .end_s = -3600}, NULL, false},
        {{.name = "a", .names = "IP:127.0.0.1", .begin_s = 3600, .end_s = 7200}, NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pki_request request = cases[i].request;
        request.issuer = &world->ca;
        struct pki_pair pair = pki_make(&request);
        struct server *server = server_start(
            &(struct server_options){.cert = pair.cert, .key = pair.key, .serve = world_serve, .ctx = world});
        struct endpoint endpoint = {.ca_pem = world->ca.cert, .tls_server_name = (char *)cases[i].tls_server_name};
        endpoint.server = text_format("https://127.0.0.1:%u/prefix", server_port(server));
        assert_null(curl_transport_new(&endpoint, "wharf-test/1", &world->transport));
        struct answer answer;
        ask(&answer, world, &(struct http_request){.path = "/echo"});
        if (answer.outcome != (cases[i].trusted ? HTTP_ANSWERED : HTTP_REFUSED))
            fail_msg("case %zu: outcome %d: %s", i, answer.outcome, answer.problem);
        bool nameless = !request.names || text_has_prefix(request.names, "email:");
        assert_true(nameless == !!strstr(answer.problem, "has no subjectAltName"));
        AUTO_TEXT host = text_format("\r\nHost: 127.0.0.1:%u\r\n", server_port(server));
        if (cases[i].trusted && !strstr(text_of(&answer.body), host))
            fail_msg("case %zu: the server saw\n%s", i, text_of(&answer.body));
        assert_true(!cases[i].trusted || text_has_prefix(text_of(&answer.body), "GET /prefix/echo "));
        answer_free(&answer);
        world->transport->ops->free(world->transport);
        world->transport = NULL;
        server_stop(server);
        free(endpoint.server);
        pki_free(&pair);
    }
}

static void expect_token(struct world *world, const char *token) {
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/echo"});
    AUTO_TEXT header = text_format("\r\nAuthorization: Bearer %s\r\n", token);
    if (!strstr(text_of(&answer.body), header))
        fail_msg("expected %s, the server saw\n%s%s", token, text_of(&answer.body), answer.problem);
    answer_free(&answer);
}

static void a_changed_token_file_counts_after_refresh_and_the_old_token_until_it_can_be_read(void **state) {
    struct world *world = *state;
    world->endpoint.token_file = write_temporary(" one\n");
    world_connect(world);
    expect_token(world, "one");
    rewrite(world->endpoint.token_file, "two\n");
    expect_token(world, "one");
    assert_true(world->transport->ops->refresh(world->transport));
    expect_token(world, "two");
    rewrite(world->endpoint.token_file, "bad\r\nX-Injected: yes\n");
    assert_true(world->transport->ops->refresh(world->transport));
    expect_token(world, "two");
    unlink(world->endpoint.token_file);
    assert_true(world->transport->ops->refresh(world->transport));
    expect_token(world, "two");
}

static void without_the_token_that_is_needed_nothing_is_sent(void **state) {
    struct world *world = *state;
    world->endpoint.token_file = text_format("/nonexistent/token");
    world_connect(world);
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/echo"});
    assert_int_equal(answer.outcome, HTTP_REFUSED);
    assert_non_null(strstr(answer.problem, "/nonexistent/token"));
    assert_int_equal(atomic_load(&world->asked), 0);
    answer_free(&answer);
}

static void there_is_nothing_to_refresh_without_files(void **state) {
    struct world *world = *state;
    world->endpoint.token = strdup("open-sesame");
    world_connect(world);
    assert_false(world->transport->ops->refresh(world->transport));
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/echo"});
    assert_non_null(strstr(text_of(&answer.body), "\r\nAuthorization: Bearer open-sesame\r\n"));
    answer_free(&answer);
}

static void no_credentials_go_over_http(void **state) {
    struct world world;
    (void)state;
    world_open(&world);
    world.server = server_start(&(struct server_options){.serve = world_serve, .ctx = &world});
    world.endpoint.server = text_format("http://127.0.0.1:%u", server_port(world.server));
    world.endpoint.token = strdup("s3cret");
    world.endpoint.token_file = strdup("/nonexistent/token");
    world_connect(&world);
    struct answer answer;
    ask(&answer, &world, &(struct http_request){.path = "/echo"});
    assert_int_equal(answer.outcome, HTTP_ANSWERED);
    assert_null(strstr(text_of(&answer.body), "Authorization"));
    answer_free(&answer);
    struct world *copy = malloc(sizeof *copy);
    *copy = world;
    world_teardown((void **)&copy);
}

static void name_of_client(struct world *world, char *out, size_t size) {
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/client"});
    assert_string_equal(answer.problem, "");
    text_copy(out, size, text_of(&answer.body));
    answer_free(&answer);
}

static bool serve_name(void *ctx, struct peer *peer, const char *request) {
    if (!text_has_prefix(request, "GET /client"))
        return world_serve(ctx, peer, request);
    peer_send(peer, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(peer_name(peer)), peer_name(peer));
    return true;
}

static void a_changed_client_certificate_replaces_the_connections(void **state) {
    struct world *world = *state;
    struct pki_pair one = pki_make(&(struct pki_request){.name = "one", .issuer = &world->ca});
    struct pki_pair two =
        pki_make(&(struct pki_request){.name = "two", .issuer = &world->ca, .begin_s = -3600, .end_s = 30L * 86400});
    int64_t now_ns = clock_now().wall_ns, day_ns = 86400 * CLOCK_SECOND;
    struct server *server = server_start(&(struct server_options){.cert = world->cert.cert,
                                                                  .key = world->cert.key,
                                                                  .client_ca = world->ca.cert,
                                                                  .serve = serve_name,
                                                                  .ctx = world});
    free(world->endpoint.server);
    world->endpoint.server = text_format("https://127.0.0.1:%u", server_port(server));
    world->endpoint.client_cert_pem = strdup(one.cert);
    world->endpoint.client_key_pem = strdup(one.key);
    world->endpoint.client_cert_file = write_temporary(one.cert);
    world->endpoint.client_key_file = write_temporary(one.key);
    world_connect(world);
    char name[64];
    name_of_client(world, name, sizeof name);
    assert_string_equal(name, "one");
    assert_in_range(curl_transport_expiry(world->transport) - now_ns, day_ns / 2, 2 * day_ns);
    struct answer stream;
    answer_init(&stream, world);
    submit(&stream, &(struct http_request){.path = "/silent", .stream = true});
    poll_until(world, stream.data.len > 0);
    size_t before = server_connections(server);

    rewrite(world->endpoint.client_cert_file, two.cert); // the key is still the other's
    assert_true(world->transport->ops->refresh(world->transport));
    name_of_client(world, name, sizeof name);
    assert_string_equal(name, "one");
    assert_false(stream.done);
    rewrite(world->endpoint.client_key_file, two.key);
    assert_true(world->transport->ops->refresh(world->transport));
    name_of_client(world, name, sizeof name);
    assert_string_equal(name, "two");
    assert_in_range(curl_transport_expiry(world->transport) - now_ns, 29 * day_ns, 31 * day_ns);
    assert_true(stream.done);
    assert_int_equal(stream.outcome, HTTP_BROKEN);
    assert_true(server_connections(server) > before);
    poll_until(world, atomic_load(&world->released) == 1);
    answer_free(&stream);
    world->transport->ops->free(world->transport);
    world->transport = NULL;
    unlink(world->endpoint.client_cert_file);
    unlink(world->endpoint.client_key_file);
    server_stop(server);
    pki_free(&one);
    pki_free(&two);
}

static void requests_go_through_the_proxy_that_is_given(void **state) {
    struct world *world = *state;
    struct server *proxy = server_start(&(struct server_options){.serve = world_serve, .ctx = world});
    free(world->endpoint.server);
    world->endpoint.server = strdup("http://api.invalid:8080");
    world->endpoint.proxy_url = text_format("http://user:word@127.0.0.1:%u", server_port(proxy));
    world_connect(world);
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/echo"});
    assert_string_equal(answer.problem, "");
    assert_true(text_has_prefix(text_of(&answer.body), "GET http://api.invalid:8080/echo HTTP/1.1\r\n"));
    assert_non_null(strstr(text_of(&answer.body), "\r\nProxy-Authorization: Basic "));
    answer_free(&answer);
    world->transport->ops->free(world->transport);
    world->transport = NULL;
    server_stop(proxy);
}

static void requests_go_through_a_proxy_that_speaks_tls(void **state) {
    struct world *world = *state;
    struct server *proxy = server_start(
        &(struct server_options){.cert = world->cert.cert, .key = world->cert.key, .serve = world_serve, .ctx = world});
    char *public_file = write_temporary(world->ca.cert); // in the role of the system's CAs
    free(world->endpoint.server);
    world->endpoint.server = strdup("http://api.invalid:8080");
    world->endpoint.proxy_url = text_format("https://127.0.0.1:%u", server_port(proxy));
    struct answer answer;
    world_connect(world);
    ask(&answer, world, &(struct http_request){.path = "/echo"});
    assert_int_equal(answer.outcome, HTTP_REFUSED); // nobody vouches for the proxy
    answer_free(&answer);
    world->transport->ops->free(world->transport);
    setenv("SSL_CERT_FILE", public_file, 1);
    world_connect(world);
    ask(&answer, world, &(struct http_request){.path = "/echo"});
    unsetenv("SSL_CERT_FILE");
    assert_string_equal(answer.problem, "");
    assert_true(text_has_prefix(text_of(&answer.body), "GET http://api.invalid:8080/echo HTTP/1.1\r\n"));
    answer_free(&answer);
    world->transport->ops->free(world->transport);
    world->transport = NULL;
    server_stop(proxy);
    remove_temporary(public_file);
}

static bool serve_nothing(void *ctx, struct peer *peer, const char *request) {
    (void)ctx, (void)request;
    peer_send(peer, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
    return false;
}

// A SOCKS5 server (RFC 1928) for one connection, which must ask for a name; it leads to `port`, whatever the name.
struct socks {
    int fd;
    unsigned port;
    char asked[64]; // the name
    pthread_t thread;
};

static bool receive(int fd, void *out, size_t len) {
    return recv(fd, out, len, MSG_WAITALL) == (ssize_t)len;
}

static void *serve_socks(void *ctx) {
    static const unsigned char no_login[] = {5, 0}, granted[] = {5, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    struct socks *socks = ctx;
    unsigned char head[4], methods[255], len, port[2];
    int client = accept(socks->fd, NULL, NULL);
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)socks->port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bool ok = receive(client, head, 2) && receive(client, methods, head[1]) &&
              send(client, no_login, sizeof no_login, MSG_NOSIGNAL) == sizeof no_login && receive(client, head, 4) &&
              head[3] == 3 && receive(client, &len, 1) && len < sizeof socks->asked &&
              receive(client, socks->asked, len) && receive(client, port, 2) &&
              connect(server, (struct sockaddr *)&address, sizeof address) == 0 &&
              send(client, granted, sizeof granted, MSG_NOSIGNAL) == sizeof granted;
    struct pollfd ends[2] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
    char bytes[4096];
    while (ok && poll(ends, 2, -1) > 0)
        for (int i = 0; ok && i < 2; i++) {
            ssize_t got = ends[i].revents ? recv(ends[i].fd, bytes, sizeof bytes, 0) : 1;
            ok = got > 0 && (!ends[i].revents || send(ends[1 - i].fd, bytes, (size_t)got, MSG_NOSIGNAL) == got);
        }
    close(client);
    close(server);
    return NULL;
}

static void names_are_resolved_by_a_socks_proxy(void **state) {
    struct world *world = *state;
    struct socks socks = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .port = server_port(world->server)};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    assert_int_equal(bind(socks.fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(socks.fd, 1), 0);
    assert_int_equal(getsockname(socks.fd, (struct sockaddr *)&address, &len), 0);
    assert_int_equal(pthread_create(&socks.thread, NULL, serve_socks, &socks), 0);
    free(world->endpoint.server);
    world->endpoint.server = strdup("https://api.example:6443"); // a name that only the proxy knows
    world->endpoint.proxy_url = text_format("socks5://127.0.0.1:%u", ntohs(address.sin_port));
    world->endpoint.token = strdup("s3cret");
    world_connect(world);
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/echo"});
    assert_string_equal(answer.problem, "");
    assert_non_null(strstr(text_of(&answer.body), "\r\nAuthorization: Bearer s3cret\r\n"));
    assert_string_equal(socks.asked, "api.example");
    answer_free(&answer);
    world->transport->ops->free(world->transport);
    world->transport = NULL;
    pthread_join(socks.thread, NULL);
    close(socks.fd);
}

static void proxies_of_the_environment_are_used_but_for_exempt_hosts(void **state) {
    struct world *world = *state;
    struct server *proxy = server_start(&(struct server_options){.serve = serve_nothing, .ctx = world});
    AUTO_TEXT url = text_format("127.0.0.1:%u", server_port(proxy));
    setenv("HTTPS_PROXY", url, 1);
    free(world->endpoint.server);
    world->endpoint.server = strdup("https://api.example.invalid:6443");
    static const struct {
        const char *exempt;
        bool proxied;
    } cases[] = {{"", true}, {"other.invalid,10.0.0.0/8", true}, {"example.invalid", false}, {"*", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t before = server_connections(proxy);
        setenv("NO_PROXY", cases[i].exempt, 1);
        world_connect(world);
        struct answer answer;
        ask(&answer, world, &(struct http_request){.path = "/echo"});
        assert_int_equal(answer.outcome, HTTP_REFUSED);
        answer_free(&answer);
        world->transport->ops->free(world->transport);
        world->transport = NULL;
        assert_int_equal(server_connections(proxy) > before, cases[i].proxied);
    }
    unsetenv("HTTPS_PROXY");
    unsetenv("NO_PROXY");
    server_stop(proxy);
}

static bool serve_proxy(void *ctx, struct peer *peer, const char *request) {
    struct world *world = ctx;
    AUTO_TEXT tunnel = text_format("CONNECT 127.0.0.1:%u HTTP/1.1\r\n", server_port(world->server));
    if (!text_has_prefix(request, tunnel) || strstr(request, "Authorization: Bearer")) {
        peer_send(peer, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
        return false;
    }
    peer_send(peer, "HTTP/1.1 200 Connected\r\n\r\n");
    peer_relay(peer, server_port(world->server));
    return false;
}

static void tls_goes_through_a_tunnel_of_the_proxy(void **state) {
    struct world *world = *state;
    struct server *proxy = server_start(&(struct server_options){.serve = serve_proxy, .ctx = world});
    world->endpoint.proxy_url = text_format("http://127.0.0.1:%u", server_port(proxy));
    world->endpoint.tls_server_name = strdup("api.example");
    world->endpoint.token = strdup("s3cret");
    world_connect(world);
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/silent", .stream = true, .stall_ns = 3 * CLOCK_SECOND});
    assert_int_equal(answer.outcome, HTTP_BROKEN);
    assert_true(answer.opened_before_data);
    assert_string_equal(text_of(&answer.data), "hi");
    answer_free(&answer);
    ask(&answer, world, &(struct http_request){.path = "/echo"});
    assert_string_equal(answer.problem, "");
    assert_non_null(strstr(text_of(&answer.body), "\r\nAuthorization: Bearer s3cret\r\n"));
    answer_free(&answer);
    world->transport->ops->free(world->transport);
    world->transport = NULL;
    server_stop(proxy);
}

static void what_the_proxy_refuses_was_not_sent(void **state) {
    struct world *world = *state;
    struct server *proxy = server_start(&(struct server_options){.serve = serve_proxy, .ctx = world});
    world->endpoint.proxy_url = text_format("http://127.0.0.1:%u", server_port(proxy));
    world->endpoint.server[strlen(world->endpoint.server) - 1] ^= 1; // another port
    world_connect(world);
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/ok", .stream = true});
    assert_int_equal(answer.outcome, HTTP_REFUSED);
    assert_int_equal(answer.status, 0);
    assert_false(answer.opened);
    answer_free(&answer);
    world->transport->ops->free(world->transport);
    world->transport = NULL;
    server_stop(proxy);
}

static void names_are_resolved(void **state) {
    struct world *world = *state;
    struct server *server = server_start(&(struct server_options){.serve = world_serve, .ctx = world});
    free(world->endpoint.server);
    world->endpoint.server = text_format("http://localhost:%u", server_port(server));
    world_connect(world);
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/ok"});
    assert_string_equal(answer.problem, "");
    answer_free(&answer);
    world->transport->ops->free(world->transport);
    world->transport = NULL;
    server_stop(server);
}

static void an_endpoint_that_makes_no_sense_is_refused(void **state) {
    (void)state;
    static const struct {
        struct endpoint endpoint;
        const char *message;
    } cases[] = {
        {{.server = "ftp://host"}, "\"ftp://host\" is neither http nor https, expected a URL like https://host:6443"},
        {{.server = "https://"}, "\"https://\" is not a URL, expected a URL like https://host:6443"},
        {{.server = "https://h?a=b"},
         "\"https://h?a=b\" has a query or a fragment, expected a URL like "
         "https://host:6443"},
        {{.server = "https://h", .tls_server_name = "a b"}, "tls-server-name: found \"a b\", expected a host name"},
        {{.server = "https://h", .proxy_url = "ftp://p", .description = "x.yaml"},
         "x.yaml: proxy-url: found an unsupported URL, expected one that begins with http://, https:// or "
         "socks5://"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct transport *transport = NULL;
        struct error *error = curl_transport_new(&cases[i].endpoint, "wharf-test/1", &transport);
        assert_string_equal(error_text(error), cases[i].message);
        assert_int_equal(error->code, ERROR_INVALID);
        error_free(error);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        with_world(only_the_given_authority_is_trusted),
        with_world(a_certificate_for_another_name_or_time_is_refused),
        with_world(a_changed_token_file_counts_after_refresh_and_the_old_token_until_it_can_be_read),
        with_world(without_the_token_that_is_needed_nothing_is_sent),
        with_world(there_is_nothing_to_refresh_without_files),
        cmocka_unit_test(no_credentials_go_over_http),
        with_world(a_changed_client_certificate_replaces_the_connections),
        with_world(requests_go_through_the_proxy_that_is_given),
        with_world(requests_go_through_a_proxy_that_speaks_tls),
        with_world(names_are_resolved_by_a_socks_proxy),
        with_world(proxies_of_the_environment_are_used_but_for_exempt_hosts),
        with_world(tls_goes_through_a_tunnel_of_the_proxy),
        with_world(what_the_proxy_refuses_was_not_sent),
        with_world(names_are_resolved),
        cmocka_unit_test(an_endpoint_that_makes_no_sense_is_refused),
    };
    return world_ready() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
