// SPDX-License-Identifier: Apache-2.0
// Workers that exceed their memory budget, in turn: memory stays within the budget, and another worker is not affected.
// And a host that runs out of file descriptors.
#include "tests/integration/raw_server.h"
#include "tests/integration/stage.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define LIST                                                                                                           \
    "{\"kind\":\"JobList\",\"apiVersion\":\"batch/v1\",\"metadata\":{\"resourceVersion\":\"1\",\"continue\":\"%s\"},"  \
    "\"items\":["
#define MIB ((size_t)1 << 20)

// perCluster is 32 MiB in these tests; the host alone takes some 15.
#define MEMORY_MAX_MIB 64

static void send_trailers(struct peer *peer, const struct raw_case *raw) {
    (void)raw;
    static char value[8001];
    memset(value, 't', sizeof value - 1);
    peer_send(peer, HEAD "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n");
    for (int i = 0; i < 20000; i++)
        peer_send(peer, "X-Trailer-%d: %s\r\n", i, value);
    peer_send(peer, "\r\n");
}

static void send_interim(struct peer *peer, const struct raw_case *raw) {
    (void)raw;
    static char value[8001];
    memset(value, 'i', sizeof value - 1);
    for (int i = 0; i < 20000; i++)
        peer_send(peer, "HTTP/1.1 103 Early Hints\r\nX-Hint-%d: %s\r\n\r\n", i, value);
}

// 160 MB of chunk extensions around a chunk of nothing.
static void send_extensions(struct peer *peer, const struct raw_case *raw) {
    (void)raw;
    static char block[1 << 16];
    memset(block, 'e', sizeof block);
    peer_send(peer, HEAD "Transfer-Encoding: chunked\r\n\r\n2;x=");
    for (int i = 0; i < 2500; i++)
        peer_send_bytes(peer, block, sizeof block);
}

// Deflate with fixed Huffman codes (RFC 1951 section 3.2.6): "[],", and then copies of it, 258 bytes in 13 bits.
struct bits {
    unsigned char bytes[4096];
    size_t len;
    unsigned count; // of bits in the last byte
};

static void put_bits(struct bits *bits, unsigned value, unsigned count, bool reversed) {
    for (unsigned i = 0; i < count; i++) {
        unsigned bit = (value >> (reversed ? count - 1 - i : i)) & 1U;
        if (bits->count == 0)
            bits->bytes[bits->len++] = 0;
        bits->bytes[bits->len - 1] |= (unsigned char)(bit << bits->count);
        bits->count = (bits->count + 1) % 8;
    }
}

static void put_literal(struct bits *bits, unsigned char c) {
    put_bits(bits, 0x30U + c, 8, true); // 0 to 143
}

static void put_text(struct bits *bits, const char *text) {
    for (; *text; text++)
        put_literal(bits, (unsigned char)*text);
}

// 200 KB that are 40 MB.
static void send_gzip_bomb(struct peer *peer, const struct raw_case *raw) {
    static const unsigned char magic[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    char head[256];
    snprintf(head, sizeof head, LIST, raw->detail);
    peer_send(peer, HEAD "Content-Encoding: gzip\r\nConnection: close\r\n\r\n");
    peer_send_bytes(peer, (const char *)magic, sizeof magic);
    struct bits bits = {.len = 0};
    put_bits(&bits, 3, 3, false); // the last block; fixed codes
    put_text(&bits, head);
    put_text(&bits, "[],");
    for (int i = 0; i < 160000; i++) {
        put_bits(&bits, 0xC5, 8, true); // 285: a length of 258
        put_bits(&bits, 2, 5, true);    // a distance of 3
        if (bits.len > 4000) {
            peer_send_bytes(peer, (const char *)bits.bytes, bits.len - 1);
            bits.bytes[0] = bits.bytes[bits.len - 1];
            bits.len = 1;
        }
    }
    peer_send_bytes(peer, (const char *)bits.bytes, bits.len);
}

// A page that fits: 7 MB of unused values in one item.
static void send_many_values(struct peer *peer, const struct raw_case *raw) {
    static char block[3 << 16];
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = "[],"[i % 3];
    peer_send(peer, HEAD "Connection: close\r\n\r\n" LIST, "");
    peer_send(peer, "{\"metadata\":{\"name\":\"%s\",\"uid\":\"u\",\"resourceVersion\":\"1\"},\"x\":[", raw->detail);
    for (int i = 0; i < 36; i++)
        peer_send_bytes(peer, block, sizeof block);
    peer_send(peer, "[]]}]}");
}

static void send_endless_pages(struct peer *peer, const struct raw_case *raw) {
    static unsigned page;
    (void)raw;
    AUTO_TEXT token = text_format("%u", __atomic_add_fetch(&page, 1, __ATOMIC_RELAXED));
    AUTO_TEXT body = text_format(LIST "]}", token);
    raw_send_json(peer, body);
}

// An event that never ends, and every event of which has managedFields of 1 MB.
static void send_long_event(struct peer *peer, const struct raw_case *raw) {
    static char block[1 << 16];
    memset(block, 'x', sizeof block);
    peer_send(peer, HEAD "Connection: close\r\n\r\n%s", raw->detail);
    for (int i = 0; i < 2000; i++)
        peer_send_bytes(peer, block, sizeof block);
}

static const struct raw_case cases[] = {
    {"trailers", RAW_LIST, NULL, send_trailers, NULL},
    {"interim", RAW_DISCOVERY, NULL, send_interim, NULL},
    {"extensions", RAW_LIST, NULL, send_extensions, NULL},
    {"gzip-bomb", RAW_LIST, NULL, send_gzip_bomb, ""},
    {"many-values", RAW_LIST, NULL, send_many_values, "many"},
    {"endless-pages", RAW_LIST, NULL, send_endless_pages, NULL},
    {"long-event", RAW_WATCH, NULL, send_long_event, "{\"type\":\"ADDED\",\"object\":{\"x\":\""},
};
#define CASES (sizeof cases / sizeof *cases)

// VmHWM of /proc/<pid>/status (proc(5)), in MiB.
static long peak_memory(const struct scene *scene) {
    AUTO_TEXT path = text_format("/proc/%d/status", (int)scene->child);
    AUTO_BUFFER(text, 1 << 16);
    struct error *error = text_read_file(path, 1 << 16, &text);
    error_free(error);
    const char *line = text.data ? strstr(text.data, "VmHWM:") : NULL;
    return line ? strtol(line + strlen("VmHWM:"), NULL, 10) / 1024 : -1;
}

// All are complete. A worker whose list is accepted, and its watch then refused, is connected for moments: it may have
// been given some, but not all, and has to complete them once it is well.
static bool is_done_without(struct scene *scene, const struct raw_case *bad, size_t count) {
    size_t complete = 0, in_bad = 0;
    for (size_t i = 0; i < count; i++) {
        AUTO_TEXT name = text_format("job%zu", i);
        assert_non_null(name);
        if (stage_is_complete(scene, name))
            complete++;
        else if ((bad->spoil == send_many_values || bad->stage == RAW_WATCH) && stage_worker_of(scene, name) == -1)
            in_bad++;
    }
    return complete > 0 && complete + in_bad == count;
}

static void check_case(const struct raw_case *raw) {
    struct raw_server *server = raw_start(raw);
    struct scene *scene = stage_open(1, true, "mirrorRetention: 0s\n");
    AUTO_TEXT url = text_format("http://127.0.0.1:%u", raw_port(server));
    AUTO_TEXT kubeconfig = certs_kubeconfig(NULL, raw->name, url);
    assert_null(scene_write(scene, "bad.kubeconfig", kubeconfig));
    assert_null(scene_configure(scene, "- {name: bad, kubeconfig: bad.kubeconfig}\n",
                                "mirrorRetention: 0s\nmemory: {perCluster: 32MiB}\n"));
    assert_null(wharf_start(scene));
    UNTIL(scene, 10, stage_is_connected(scene, "management") && stage_takes_work(scene, "w1"));
    UNTIL(scene, 10, raw_hits(server) >= 2 || (raw_hits(server) >= 1 && stage_is_connected(scene, "bad")));
    stage_submit_many(scene, "job", 5);
    UNTIL(scene, 10, is_done_without(scene, raw, 5));
    long peak = peak_memory(scene);
    print_message("           %s: peak memory %ld MiB, %zu answers\n", raw->name, peak, raw_hits(server));
    assert_in_range(peak, 1, MEMORY_MAX_MIB * STAGE_SLOW);
    raw_heal(server);
    UNTIL(scene, 60, stage_is_connected(scene, "bad"));
    UNTIL(scene, 10, stage_complete(scene, "job") == 5);
    stage_close(scene);
    raw_stop(server);
}

static void a_worker_that_sends_too_much_costs_its_budget_and_nobody_else_anything(void **state) {
    (void)state;
    for (size_t i = 0; i < CASES; i++)
        check_case(&cases[i]);
}

static struct error *start_with_few(struct scene *scene, rlim_t files) {
    AUTO_TEXT path = text_format("%s/wharf.log", scene->directory);
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(log >= 0);
    struct rlimit before, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){files, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0); // the child inherits it
    struct error *error = wharf_start_with_log(scene, log);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    close(log);
    return error;
}

// Seconds of CPU time that the child has used (proc_pid_stat(5)).
static double cpu_seconds(const struct scene *scene) {
    AUTO_TEXT path = text_format("/proc/%d/stat", (int)scene->child);
    AUTO_BUFFER(text, 1 << 16);
    struct error *error = text_read_file(path, 1 << 16, &text);
    error_free(error);
    const char *at = text.data ? strrchr(text.data, ')') : NULL;
    for (int field = 2; at && field < 14; field++)
        at = strchr(at + 1, ' ');
    char *rest = NULL;
    double user = at ? strtod(at, &rest) : 0;
    return (user + (rest ? strtod(rest, NULL) : 0)) / (double)sysconf(_SC_CLK_TCK);
}

static int connect_to(uint16_t port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    (void)connect(fd, (struct sockaddr *)&address, sizeof address);
    return fd;
}

static void without_file_descriptors_it_says_so_and_waits(void **state) {
    (void)state;
    struct scene *scene = stage_open(6, false, "");
    assert_null(start_with_few(scene, 24));
    UNTIL(scene, 20, wharf_logged(scene, "Too many open files") > 0);
    int clients[20]; // more than there is room for
    for (size_t i = 0; i < 20; i++)
        clients[i] = connect_to(scene->serve_port);
    UNTIL(scene, 20, wharf_logged(scene, "connections to the served address wait") > 0);
    double before = cpu_seconds(scene);
    int64_t until_ns = stage_deadline_ns(3);
    while (clock_now().mono_ns < until_ns)
        usleep(10000);
    double used = cpu_seconds(scene) - before;
    print_message("           %.2f s of processor time in 3 s\n", used);
    assert_true(used < 0.3 * (double)STAGE_SLOW);
    for (size_t i = 0; i < 20; i++)
        close(clients[i]);
    stage_close(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_that_sends_too_much_costs_its_budget_and_nobody_else_anything),
        cmocka_unit_test(without_file_descriptors_it_says_so_and_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
