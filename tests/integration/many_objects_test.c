// SPDX-License-Identifier: Apache-2.0
// An API server (another process) with 100,000 ConfigMaps, of which workloads refer to ten: the host's memory is that
// of the ten.
#include "core/base/log.h"
#include "core/host/io/cluster_io.h"
#include "core/host/turn/turn.h"
#include "core/kube/transport/curl_transport.h"
#include "tests/integration/stage.h"
#include "tests/unit/kube/tls_server.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define OBJECTS 100000
#define WISHED 10
#define MARKED 5 // copies of the host
#define ANNOTATION 2000
#define GROWTH_KIB (24 << 10)
#define PATIENCE_NS (300 * CLOCK_SECOND)

// The server ---------------------------------------------------------------------------------------------------------

static void put_object(struct buffer *out, int number) {
    static char filler[ANNOTATION + 1];
    memset(filler, 'x', ANNOTATION);
    buffer_printf(
        out,
        "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{\"name\":\"c%06d\","
        "\"namespace\":\"n\",\"uid\":\"u-%d\",\"resourceVersion\":\"%d\",\"annotations\":{\"a\":\"%s\"}%s}}",
        number, number, number + 1, filler,
        number < OBJECTS - MARKED ? "" : ",\"labels\":{\"wharf.dev/origin\":\"here\"}");
}

// The number after a part of the request; 0 without.
static int number_after(const char *request, const char *part) {
    const char *found = strstr(request, part);
    return found ? (int)strtol(found + strlen(part), NULL, 10) : 0;
}

static void send_text(struct peer *peer, const char *text) {
    peer_send(peer, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", strlen(text));
    peer_send_bytes(peer, text, strlen(text));
}

static void send_page(struct peer *peer, int first, int limit) {
    AUTO_BUFFER(page, 64 << 20);
    int end = first + limit < OBJECTS ? first + limit : OBJECTS;
    buffer_text(&page, "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{"
                       "\"resourceVersion\":\"200000\"");
    if (end < OBJECTS)
        buffer_printf(&page, ",\"continue\":\"%d\"", end);
    buffer_text(&page, "},\"items\":[");
    for (int i = first; i < end; i++) {
        buffer_text(&page, i > first ? "," : "");
        put_object(&page, i);
    }
    buffer_text(&page, "]}");
    send_text(peer, page.data);
}

static void send_watch(struct peer *peer, bool initial) {
    peer_send(peer, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n");
    for (int i = 0; initial && i < OBJECTS && !peer_is_gone(peer); i++) {
        AUTO_BUFFER(event, 64 << 10);
        buffer_text(&event, "{\"type\":\"ADDED\",\"object\":");
        put_object(&event, i);
        buffer_text(&event, "}\n");
        peer_send_bytes(peer, event.data, event.len);
    }
    if (initial)
        peer_send(peer, "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"PartialObjectMetadata\",\"metadata\":{"
                        "\"resourceVersion\":\"200000\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n");
    peer_wait_closed(peer);
}

static bool serve(void *ctx, struct peer *peer, const char *request) {
    (void)ctx;
    if (text_has_prefix(request, "GET /api/v1 ")) {
        send_text(peer, "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"configmaps\",\"kind\":\"ConfigMap\","
                        "\"verbs\":[\"list\",\"watch\"]}]}");
    } else if (text_has_prefix(request, "GET /api/v1/configmaps?") && strstr(request, "watch=true")) {
        send_watch(peer, strstr(request, "sendInitialEvents"));
        return false;
    } else if (text_has_prefix(request, "GET /api/v1/configmaps?")) {
        send_page(peer, number_after(request, "continue="), number_after(request, "limit="));
    } else {
        peer_send(peer, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    }
    return true;
}

static pid_t start_server(unsigned *port) {
    int told[2];
    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct server *server = server_start(&(const struct server_options){.serve = serve});
        unsigned own = server_port(server);
        if (write(told[1], &own, sizeof own) != sizeof own)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(told[0], port, sizeof *port), sizeof *port);
    close(told[0]);
    close(told[1]);
    return child;
}

// The host -----------------------------------------------------------------------------------------------------------

struct stand {
    struct endpoint endpoint;
    struct transport *transport;
    struct cluster_io *io;
    struct budget budget;
    size_t seen, gone, bytes;
    bool listed;
};

static void post(void *ctx, struct engine_event *event) {
    struct stand *stand = ctx;
    struct event_item *item = event_item_new(event);
    assert_non_null(item);
    if (item->event.type == EVENT_DEPENDENCY) {
        enum dependency_news news = item->event.dependency.news;
        assert_int_not_equal(news, DEPENDENCIES_LOST);
        stand->seen += news == DEPENDENCY_SEEN;
        stand->gone += news == DEPENDENCY_GONE;
        stand->listed |= news == DEPENDENCIES_LISTED;
        stand->bytes += news == DEPENDENCY_SEEN ? item->bytes : 0;
    }
    event_item_free(item);
}

static void wish_for(struct stand *stand, const char *name) {
    cluster_io_wish(stand->io, &(const struct dependency_wish){.resource = "configmaps",
                                                               .version = "v1",
                                                               .namespace_ = *name ? "n" : "",
                                                               .name = name,
                                                               .cluster = 1,
                                                               .wanted = true});
}

// VmRSS or VmHWM of this process (proc(5)), in KiB.
static long memory_kib(const char *name) {
    AUTO_BUFFER(text, 1 << 16);
    assert_null(text_read_file("/proc/self/status", 1 << 16, &text));
    const char *line = strstr(text.data, name);
    assert_non_null(line);
    return strtol(line + strlen(name), NULL, 10);
}

static void memory_is_that_of_what_is_referred_to(bool streams) {
    struct stand stand = {.seen = 0};
    unsigned port = 0;
    pid_t server = start_server(&port);
    AUTO_TEXT url = text_format("http://127.0.0.1:%u", port);
    stand.endpoint = (struct endpoint){.server = url};
    budget_init(&stand.budget, 0, 0, 0, NULL);
    assert_null(curl_transport_new(&stand.endpoint, "test", &stand.transport));
    curl_transport_limit(stand.transport, &stand.budget);
    const struct cluster_scope scope = {.cluster = 1,
                                        .name = "w1",
                                        .transport = stand.transport,
                                        .budget = &stand.budget,
                                        .settings = {.dependencies = true},
                                        .origin = "here",
                                        .controller_name = "wharf.dev/host",
                                        .instance = "test",
                                        .watch_list = streams,
                                        .post = post,
                                        .ctx = &stand};
    assert_null(cluster_io_new(&scope, &stand.io));
    wish_for(&stand, "");
    for (int i = 0; i < WISHED; i++) {
        AUTO_TEXT name = text_format("c%06d", i * 7919);
        wish_for(&stand, i > 0 ? name : "missing");
    }
    long before = memory_kib("VmRSS:");
    for (int64_t until_ns = clock_ticks() + PATIENCE_NS; !stand.listed;) {
        assert_true(clock_ticks() < until_ns);
        (void)cluster_io_tick(stand.io, clock_now());
        curl_transport_poll(stand.transport, 50 * CLOCK_MS);
    }
    long grown = memory_kib("VmHWM:") - before;
    print_message("           %s: memory grew by %ld KiB\n", streams ? "stream" : "pages", grown);
    assert_int_equal(stand.seen, WISHED - 1 + MARKED);
    assert_int_equal(stand.gone, 1);
    assert_true(stand.bytes / stand.seen < 3000); // the annotation is cut off
    if (STAGE_SLOW == 1)                          // sanitizers keep freed memory
        assert_in_range(grown, 0, GROWTH_KIB);
    cluster_io_free(stand.io);
    stand.transport->ops->free(stand.transport);
    kill(server, SIGKILL);
    assert_int_equal(waitpid(server, NULL, 0), server);
}

static void of_a_list_in_pages_only_what_is_referred_to_is_kept(void **state) {
    (void)state;
    memory_is_that_of_what_is_referred_to(false);
}

static void of_a_streaming_list_only_what_is_referred_to_is_kept(void **state) {
    (void)state;
    memory_is_that_of_what_is_referred_to(true);
}

int main(void) {
    log_setup(LOG_TEXT, LOG_WARN);
    if (curl_transport_setup())
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_list_in_pages_only_what_is_referred_to_is_kept),
        cmocka_unit_test(of_a_streaming_list_only_what_is_referred_to_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
