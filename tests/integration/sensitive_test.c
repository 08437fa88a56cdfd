// SPDX-License-Identifier: Apache-2.0
// Contents of Secrets leave no trace in the memory and the log of the process that passes them on: the Secret goes
// through a cluster's I/O, the engine's queue and the real transport to an API server (another process) and back, and
// then all writable memory of the process is searched.
#include "core/base/log.h"
#include "core/host/io/cluster_connection.h"
#include "core/host/io/cluster_io.h"
#include "core/host/turn/turn.h"
#include "core/kube/transport/curl_transport.h"
#include "tests/integration/stage.h"
#include "tests/support/built.h"
#include "tests/support/traces.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_NS (30 * CLOCK_SECOND)

struct stand {
    char directory[64], log[96];
    pid_t world;
    int commands, answers; // of the world
    struct trace trace;
    struct cluster_connection connection;
    struct cluster_io *io;
    struct event_item *items, *last; // posted
    size_t seen;                     // of metadata
};

static void must(struct error *error) {
    if (error)
        fail_msg("%s", error_text(error));
}

// The world: another process, whose memory does not count ------------------------------------------------------------

static void start_world(struct stand *stand, bool plain) {
    int in[2], out[2];
    AUTO_TEXT program = built_path("tests/world/world");
    assert_int_equal(pipe2(in, O_CLOEXEC) + pipe2(out, O_CLOEXEC), 0);
    stand->world = fork();
    if (stand->world == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        execl(program, program, "--clusters", "1", "--dir", stand->directory, plain ? "--plain" : NULL, (char *)NULL);
        _exit(1);
    }
    close(in[0]);
    close(out[1]);
    stand->commands = in[1];
    stand->answers = out[0];
    char told[256] = "";
    for (size_t len = 0; !strstr(told, "ready\n");) {
        ssize_t count = read(stand->answers, told + len, sizeof told - 1 - len);
        assert_true(count > 0);
        len += (size_t)count;
    }
}

// Sanitizers keep freed memory, and terabytes of their own: there the test is of the flow only.
static void expect_no_trace(struct stand *stand) {
    if (STAGE_SLOW == 1)
        assert_int_equal(trace_count_in_process(&stand->trace, getpid(), true), 0);
}

static void expect_silent_log(struct stand *stand, const char *mentioned) {
    AUTO_BUFFER(text, 16 << 20);
    log_flush(CLOCK_SECOND);
    must(text_read_file(stand->log, 16 << 20, &text));
    assert_int_equal(trace_count(&stand->trace, text.data, text.len), 0);
    assert_non_null(strstr(text.data, mentioned));
}

// The host's side --------------------------------------------------------------------------------------------------

static void post(void *ctx, struct engine_event *event) {
    struct stand *stand = ctx;
    event->received_ns = clock_now().mono_ns;
    struct event_item *item = event_item_new(event);
    assert_non_null(item);
    if (item->event.type == EVENT_DEPENDENCY && item->event.dependency.news == DEPENDENCY_SEEN)
        stand->seen++;
    if (item->event.type != EVENT_ANSWER) {
        event_item_free(item);
        return;
    }
    *(stand->last ? &stand->last->next : &stand->items) = item;
    stand->last = item;
}

static void turn(struct stand *stand) {
    (void)cluster_io_tick(stand->io, clock_now());
    curl_transport_poll(stand->connection.transport, 20 * CLOCK_MS);
}

static void connect_to(struct stand *stand, const struct cluster_scope *options) {
    AUTO_TEXT path = text_format("%s/mgmt.kubeconfig", stand->directory);
    const struct worker_spec spec = {.kubeconfig_path = path};
    const struct exec_policy policy = {.own_entry = false};
    must(connection_load(&stand->connection, &spec, &policy, clock_now().wall_ns));
    must(connection_open(&stand->connection, NULL));
    struct cluster_scope scope = *options;
    scope.name = "mgmt";
    scope.cluster = 1;
    scope.transport = stand->connection.transport;
    scope.connection = &stand->connection;
    scope.origin = "here";
    scope.controller_name = "wharf.dev/host";
    scope.instance = "test";
    scope.post = post;
    scope.ctx = stand;
    must(cluster_io_new(&scope, &stand->io));
}

static void open_stand(struct stand *stand, bool plain, bool streams) {
    *stand = (struct stand){.world = 0};
    text_copy(stand->directory, sizeof stand->directory, "/tmp/wharf-test-XXXXXX");
    assert_non_null(mkdtemp(stand->directory));
    snprintf(stand->log, sizeof stand->log, "%s/log", stand->directory);
    int log = open(stand->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(log >= 0);
    log_to(log);
    log_setup(LOG_TEXT, LOG_DEBUG);
    start_world(stand, plain);
    trace_make(&stand->trace);
    connect_to(stand, &(struct cluster_scope){.settings = {.dependencies = true}, .watch_list = streams});
}

static void close_stand(struct stand *stand) {
    cluster_io_free(stand->io);
    connection_close(&stand->connection);
    close(stand->commands);
    close(stand->answers);
    int status = 0;
    assert_int_equal(waitpid(stand->world, &status, 0), stand->world);
    AUTO_TEXT kubeconfig = text_format("%s/mgmt.kubeconfig", stand->directory);
    assert_int_equal(unlink(stand->log) + unlink(kubeconfig) + rmdir(stand->directory), 0);
}

// The body, as the engine would make it. `filler`: bytes of another key.
static void put_secret(struct buffer *out, const struct trace *trace, const char *name, size_t filler) {
    buffer_printf(out,
                  "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
                  "\"default\",\"labels\":{\"wharf.dev/origin\":\"here\"},\"annotations\":{"
                  "\"kubectl.kubernetes.io/last-applied-configuration\":\"{\\\"stringData\\\":{\\\"k\\\":\\\"",
                  name);
    trace_put_plain(out, trace);
    buffer_text(out, "\\\"}}\"}},\"data\":{\"k\":\"");
    trace_put_encoded(out, trace);
    buffer_text(out, "\",\"filler\":\"");
    for (size_t i = 0; i < filler; i += 4)
        buffer_text(out, "Zm9v");
    buffer_text(out, "\"}}");
}

// A command about an object, with the strings in its own memory; takes the answer.
static struct event_item *command_about(struct stand *stand, const char *plural, enum verb verb, const char *name,
                                        const struct buffer *body) {
    static uint64_t last;
    struct command sent = {.id = ++last,
                           .cluster = 1,
                           .request = {.verb = verb,
                                       .resource = {"", "v1", plural, false},
                                       .namespace_ = "default",
                                       .name = name,
                                       .sensitive = strcmp(plural, "secrets") == 0}};
    if (body) {
        sent.memory = malloc(body->len + 1);
        assert_non_null(sent.memory);
        memcpy(sent.memory, body->data, body->len + 1);
        sent.request.body = sent.memory;
        sent.request.body_len = body->len;
    }
    cluster_io_command(stand->io, clock_now(), &sent);
    int64_t until_ns = clock_ticks() + PATIENCE_NS;
    while (!stand->items) {
        assert_true(clock_ticks() < until_ns);
        turn(stand);
    }
    struct event_item *item = TAKE(stand->items);
    stand->last = NULL;
    assert_int_equal(item->event.answer.command, last);
    return item;
}

static void end_command(struct event_item *item, enum reason reason) {
    const struct response *response = item->event.answer.response;
    assert_non_null(response->message);
    if (response->reason != reason)
        fail_msg("found %s (%s), expected %s", reason_text(response->reason), response->message, reason_text(reason));
    event_item_free(item);
}

static struct event_item *command(struct stand *stand, enum verb verb, const char *name, const struct buffer *body) {
    return command_about(stand, "secrets", verb, name, body);
}

static void create(struct stand *stand, const char *name, size_t filler, enum reason reason) {
    SENSITIVE_WHILE(true);
    AUTO_BUFFER(body, 1 << 20);
    put_secret(&body, &stand->trace, name, filler);
    end_command(command(stand, VERB_CREATE, name, &body), reason);
}

// Buffers have room from an answer that is no secret.
static void read_ordinary(struct stand *stand) {
    AUTO_BUFFER(body, 1 << 16);
    buffer_text(&body,
                "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"o\"},\"data\":{\"k\":\"");
    while (body.len < 12000)
        buffer_text(&body, "ordinary ");
    buffer_text(&body, "\"}}");
    event_item_free(command_about(stand, "configmaps", VERB_CREATE, "o", &body));
    end_command(command_about(stand, "configmaps", VERB_GET, "o", NULL), REASON_OK);
}

// As the engine does with a source: reads it, and creates a copy with another name.
static void copy(struct stand *stand, const char *from, const char *to) {
    struct event_item *item = command(stand, VERB_GET, from, NULL);
    const struct object *object = item->event.answer.response->object;
    assert_non_null(object);
    assert_true(object->sensitive);
    SENSITIVE_WHILE(true);
    AUTO_JSON made = json_copy(object->value);
    AUTO_BUFFER(body, 1 << 20);
    struct json *metadata = json_new_object();
    assert_true(json_set(metadata, "name", json_new_string(to)) && json_set(made, "metadata", metadata));
    assert_true(json_print(made, &body));
    assert_int_equal(trace_count(&stand->trace, body.data, body.len), 1);
    end_command(item, REASON_OK);
    end_command(command(stand, VERB_CREATE, to, &body), REASON_OK);
}

// The metadata has the content too, in kubectl's annotation.
static void watch(struct stand *stand, size_t expected) {
    const struct dependency_wish wish = {
        .resource = "secrets", .version = "v1", .namespace_ = "", .name = "", .cluster = 1, .wanted = true};
    cluster_io_wish(stand->io, &wish);
    int64_t until_ns = clock_ticks() + PATIENCE_NS;
    while (stand->seen < expected) {
        assert_true(clock_ticks() < until_ns);
        turn(stand);
    }
}

static void no_trace_is_left_of(bool plain, bool streams) {
    struct stand stand;
    open_stand(&stand, plain, streams);
    // The search finds what is there.
    if (STAGE_SLOW == 1) {
        AUTO_BUFFER(text, 1 << 16);
        trace_put_encoded(&text, &stand.trace);
        assert_true(trace_count_in_process(&stand.trace, getpid(), false) > 0);
        sensitive_erase(text.data);
    }
    expect_no_trace(&stand);
    static const size_t fillers[] = {0, 100000};
    for (size_t i = 0; i < 2; i++) {
        const char *name = i == 0 ? "small" : "large", *copied = i == 0 ? "small-copy" : "large-copy";
        read_ordinary(&stand);
        create(&stand, name, fillers[i], REASON_OK);
        expect_no_trace(&stand);
        read_ordinary(&stand);
        end_command(command(&stand, VERB_GET, name, NULL), REASON_OK);
        expect_no_trace(&stand);
        copy(&stand, name, copied);
        expect_no_trace(&stand);
    }
    create(&stand, "small", 0, REASON_ALREADY_EXISTS);
    create(&stand, "Not A Name", 0, REASON_INVALID);
    expect_no_trace(&stand);
    watch(&stand, 2);
    create(&stand, "later", 60000, REASON_OK); // comes as an event of the watch
    watch(&stand, 3);
    expect_no_trace(&stand);
    expect_silent_log(&stand, "secrets");
    close_stand(&stand);
}

static void over_tls_nothing_stays_in_memory(void **state) {
    (void)state;
    no_trace_is_left_of(false, true);
}

static void over_http_nothing_stays_in_memory(void **state) {
    (void)state;
    no_trace_is_left_of(true, false);
}

int main(void) {
    if (curl_transport_setup())
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_tls_nothing_stays_in_memory),
        cmocka_unit_test(over_http_nothing_stays_in_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
