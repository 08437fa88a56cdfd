// SPDX-License-Identifier: Apache-2.0
// GET /api/v1/logs/KIND/NAMESPACE/NAME. Each reader of the logs of a mirror's pods is a thread with a connection of its
// own to the worker, so that a slow client holds back nothing but this connection.
#include "core/serve/pods/logs.h"
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/kube/transport/curl_transport.h"
#include "core/serve/http/server.h"
#include "core/serve/pods/targets.h"

#include <poll.h>

#define STACK ((size_t)256 * 1024)
#define REFRESH_LEAST_NS (2 * CLOCK_SECOND)
#define REFRESH_MOST_NS (30 * CLOCK_SECOND)
#define REFRESH_SHARE 20 // listing the pods takes at most this part of the time
#define POLL_NS (200 * CLOCK_MS)
#define GRANT_NS CLOCK_SECOND // until a lost grant is noticed
#define ERROR_MAX ((size_t)64 * 1024)

struct log_options {
    bool follow, all_pods, timestamps;
    const char *pod, *container; // NULL: not given
    int64_t tail, since_seconds; // -1: not given
};

enum log_state {
    LOG_OPENING,
    LOG_OPEN,
    LOG_ENDED,  // as the container did, or the connection
    LOG_FAILED, // never opened: the container has not started, or is gone
};

struct log_session;

struct log_source {                       // one container
    const char *pod, *container, *prefix; // first members, see struct_copy_with_texts; prefix "": none
    struct log_session *session;
    struct log_lines lines;
    uint64_t exchange;
    int64_t opens_by_ns; // while opening
    enum log_state state;
    bool late;    // the worker did not open the log in time
    bool broken;  // the connection did, not the log
    bool new_pod; // a later pod: the log is read from the beginning
    int64_t restarts;
    char *problem; // why the log could not be opened
};

struct log_session {
    struct web_call *call;
    struct log_options options;
    struct target target;
    struct stream *stream;
    pthread_t thread; // the producer
    bool answered;
    struct error *failure; // before the answer began; NULL: none
    struct log_source *sources[LOGS_SOURCES];
    size_t n_sources;
    bool full; // there are more containers
};

static bool is_over(const struct log_session *session) {
    return atomic_load(session->target.stop) || !stream_is_read(session->stream) || grant_is_lost(session->call->grant);
}

static void describe_session(const struct log_session *session, struct buffer *note) {
    const struct target *target = &session->target;
    if (target->pods.count == 0) {
        buffer_text(note, "waiting for a pod");
        return;
    }
    if (session->options.all_pods) {
        buffer_printf(note, "%zu pods in ", target->pods.count);
        target_describe(target, note);
    } else if (session->n_sources > 0) {
        const struct log_source *source = session->sources[0];
        buffer_printf(note, "pod %s, container %s, in ", source->pod, source->container);
        target_describe(target, note);
        if (target->pods.count > 1)
            buffer_printf(note, "; it has %zu pods, --all-pods shows all", target->pods.count);
    }
    if (session->full || target->pods.truncated)
        buffer_printf(note, "; there are more than are shown");
}

static ssize_t read_log(void *ctx, char *out, size_t max) {
    const struct log_session *session = ctx;
    return stream_read(session->stream, session->call->fd, out, max);
}

static void session_free(struct log_session *session) {
    stream_free(session->stream);
    target_close(&session->target);
    free(session);
}

static void end_session(void *ctx) {
    struct log_session *session = ctx;
    stream_abandon(session->stream);
    pthread_join(session->thread, NULL);
    session_free(session);
}

// Unless the answer has begun: from then on the client gets the bytes.
static void begin_answer(struct log_session *session) {
    if (session->answered)
        return;
    AUTO_BUFFER(note, 1024);
    describe_session(session, &note);
    session->answered = true;
    web_stream(session->call, WEB_TEXT, note.data, &(struct web_reader){read_log, end_session, session});
    stream_begin(session->stream);
}

// Sources ----------------------------------------------------------------------------------------------------------

static bool write_stream(void *stream, const void *bytes, size_t len) {
    return stream_write(stream, bytes, len);
}

static bool on_open(void *ctx) {
    struct log_source *source = ctx;
    source->state = LOG_OPEN;
    begin_answer(source->session);
    return true;
}

static bool on_data(void *ctx, const char *bytes, size_t len) {
    struct log_source *source = ctx;
    return log_lines_put(&source->lines, bytes, len, write_stream, source->session->stream);
}

static void on_done(void *ctx, const struct http_result *result) {
    struct log_source *source = ctx;
    source->exchange = 0;
    source->broken = result->outcome != HTTP_ANSWERED;
    if (source->state == LOG_OPEN) {
        source->state = LOG_ENDED;
        (void)log_lines_end(&source->lines, write_stream, source->session->stream);
        return;
    }
    struct response response;
    response_read(&response, result, VERB_RAW_GET);
    free(source->problem);
    source->problem = TAKE(response.message);
    source->state = LOG_FAILED;
    response_clear(&response);
}

static bool put_query(const struct log_source *source, bool again, struct buffer *path) {
    const struct log_options *options = &source->session->options;
    buffer_printf(path, "/api/v1/namespaces/%s/pods/%s/log?container=", source->session->target.mirror.space,
                  source->pod);
    text_percent_encode(path, source->container);
    if (options->follow)
        buffer_text(path, "&follow=true");
    if (source->lines.stamped)
        buffer_text(path, "&timestamps=true");
    if (again && *source->lines.before) {
        buffer_text(path, "&sinceTime=");
        text_percent_encode(path, source->lines.before);
    } else if (!again && !source->new_pod) {
        if (options->tail >= 0)
            buffer_printf(path, "&tailLines=%lld", (long long)options->tail);
        if (options->since_seconds > 0)
            buffer_printf(path, "&sinceSeconds=%lld", (long long)options->since_seconds);
    }
    return !path->failed;
}

// `again`: for the second time or later.
static struct error *begin_source(struct log_source *source, bool again) {
    struct transport *transport = source->session->target.worker.connection.transport;
    AUTO_BUFFER(path, 4096);
    if (!put_query(source, again, &path))
        return error_no_memory();
    const struct http_request request = {.method = HTTP_GET,
                                         .path = path.data,
                                         .accept = "*/*",
                                         .tenant = target_tenant(&source->session->target),
                                         .stream = true,
                                         .max_body = ERROR_MAX};
    const struct http_handler handler = {.opened = on_open, .data = on_data, .done = on_done, .ctx = source};
    source->state = LOG_OPENING;
    source->opens_by_ns = clock_now().mono_ns + source->session->call->server->source.patience_ns;
    source->exchange = transport->ops->submit(transport, &request, &handler);
    return source->exchange != 0 ? NULL : error_no_memory();
}

static void close_sources(struct log_session *session) {
    struct transport *transport = session->target.worker.connection.transport;
    for (size_t i = 0; i < session->n_sources; i++) {
        if (session->sources[i]->exchange != 0)
            transport->ops->cancel(transport, session->sources[i]->exchange);
        log_lines_free(&session->sources[i]->lines);
        free(session->sources[i]->problem);
        free(session->sources[i]);
    }
    atomic_fetch_sub(&session->call->server->log_sources, session->n_sources);
    session->n_sources = 0;
}

// Gives up logs that the worker has not opened in time: a server may accept a connection and say nothing.
static void expire_sources(struct log_session *session) {
    int64_t now_ns = clock_now().mono_ns;
    struct transport *transport = session->target.worker.connection.transport;
    for (size_t i = 0; i < session->n_sources; i++) {
        struct log_source *source = session->sources[i];
        if (source->state != LOG_OPENING || now_ns < source->opens_by_ns)
            continue;
        transport->ops->cancel(transport, source->exchange);
        source->exchange = 0;
        source->state = LOG_FAILED;
        source->late = true;
        free(source->problem);
        source->problem = text_format("%s has not answered for %d s", session->target.mirror.cluster,
                                      (int)(session->call->server->source.patience_ns / CLOCK_SECOND));
    }
}

static size_t count_sources(const struct log_session *session, enum log_state state) {
    size_t count = 0;
    for (size_t i = 0; i < session->n_sources; i++)
        count += session->sources[i]->state == state;
    return count;
}

static bool is_reading(const struct log_session *session) {
    return count_sources(session, LOG_OPEN) + count_sources(session, LOG_OPENING) > 0;
}

static struct log_source *find_source(const struct log_session *session, const char *pod, const char *container) {
    for (size_t i = 0; i < session->n_sources; i++)
        if (strcmp(session->sources[i]->pod, pod) == 0 && strcmp(session->sources[i]->container, container) == 0)
            return session->sources[i];
    return NULL;
}

// Each takes a file descriptor. A session may have as many as remain for others, and one in any case.
static bool has_place(const struct log_session *session) {
    size_t used = atomic_load(&session->call->server->log_sources), most = session->call->server->max_log_sources;
    return session->n_sources == 0 || (session->n_sources < LOGS_SOURCES && session->n_sources + used <= most);
}

static struct error *add_source(struct log_session *session, const struct pod *pod,
                                const struct pod_container *container, bool first) {
    session->full = !has_place(session);
    if (session->full)
        return NULL;
    bool all = session->options.all_pods;
    AUTO_TEXT prefix = all ? text_format("[%s/%s] ", pod->name, container->name) : strdup("");
    const struct log_source wanted = {.pod = pod->name,
                                      .container = container->name,
                                      .prefix = prefix,
                                      .session = session,
                                      .new_pod = !first,
                                      .restarts = container->restarts};
    struct log_source *source = prefix ? struct_copy_with_texts(&wanted, sizeof wanted, 3) : NULL;
    if (!source)
        return error_no_memory();
    // A broken log is resumed by the timestamp of the last line.
    bool stamped = session->options.timestamps || session->options.follow;
    log_lines_init(&source->lines, all ? source->prefix : NULL, stamped, session->options.timestamps);
    session->sources[session->n_sources++] = source;
    atomic_fetch_add(&session->call->server->log_sources, 1);
    return begin_source(source, false);
}

// A container that is being read, or was: reads the log again after a restart or a broken connection.
static struct error *reopen_source(struct log_source *source, const struct pod_container *container) {
    bool over = source->state == LOG_ENDED || source->state == LOG_FAILED;
    bool restarted = container->restarts > source->restarts;
    source->restarts = container->restarts;
    if (!over || (!container->running && !container->terminated))
        return NULL;
    if (restarted || source->state == LOG_FAILED) {
        source->new_pod = source->new_pod || restarted;
        source->lines.last[0] = '\0';
        log_lines_resume(&source->lines);
        return container->running || source->state == LOG_FAILED ? begin_source(source, false) : NULL;
    }
    if (!source->broken && !container->running)
        return NULL;
    log_lines_resume(&source->lines);
    return begin_source(source, true);
}

static struct error *open_pod(struct log_session *session, const struct pod *pod, bool first) {
    const struct pod_container *container = NULL;
    struct error *error = target_container(pod, session->options.container, &container);
    if (error && session->options.all_pods) { // other pods may have the container
        error_free(error);
        return NULL;
    }
    if (error)
        return error;
    struct log_source *known = find_source(session, pod->name, container->name);
    return known ? reopen_source(known, container) : add_source(session, pod, container, first);
}

// Reads the containers that have a log now and are not read yet. `first`: for the first time.
static struct error *open_sources(struct log_session *session, bool first) {
    const struct target *target = &session->target;
    if (session->options.all_pods) {
        struct error *error = NULL;
        for (size_t i = target->pods.count; i > 0 && !error; i--) // the oldest first
            error = open_pod(session, &target->pods.list[i - 1], first);
        return error;
    }
    const struct pod *pod = NULL;
    TRY(target_pod(target, session->options.pod, &pod));
    // One at a time: the next pod is read once the log of the former one has ended.
    if (!find_source(session, pod->name,
                     session->options.container ? session->options.container : pod->default_container) &&
        is_reading(session))
        return NULL;
    return open_pod(session, pod, first);
}

// Reading ------------------------------------------------------------------------------------------------------------

static void wake_transport(void *transport) {
    curl_transport_wakeup(transport);
}

// Passes on the logs for a while.
static void read_for(struct log_session *session, int64_t wait_ns) {
    struct transport *transport = session->target.worker.connection.transport;
    if (!transport) { // there is nothing to read from
        (void)poll(NULL, 0, (int)(clock_earlier(wait_ns, POLL_NS) / CLOCK_MS) + 1);
        return;
    }
    stream_on_gone(session->stream, wake_transport, transport);
    curl_transport_poll(transport, clock_earlier(wait_ns, GRANT_NS));
    stream_on_gone(session->stream, NULL, NULL); // the transport may be replaced
    expire_sources(session);
}

// Polls until the first log is open, or all have failed.
static struct error *wait_for_first(struct log_session *session) {
    while (count_sources(session, LOG_OPENING) > 0 && count_sources(session, LOG_OPEN) == 0 &&
           count_sources(session, LOG_ENDED) == 0 && !is_over(session))
        read_for(session, POLL_NS);
    if (is_over(session))
        return error_new(ERROR_STOPPED, "the host is stopping");
    if (session->options.follow || session->n_sources == 0 || count_sources(session, LOG_FAILED) < session->n_sources)
        return NULL;
    enum error_code code = session->sources[0]->late ? ERROR_LIMIT : ERROR_INVALID;
    return error_new(code, "%s", session->sources[0]->problem ? session->sources[0]->problem : "no log");
}

static void write_line(const struct log_session *session, const char *prefix, const char *text) {
    AUTO_BUFFER(line, 4096);
    buffer_text(&line, prefix);
    text_show(&line, text);
    buffer_char(&line, '\n');
    if (!line.failed)
        (void)stream_write(session->stream, line.data, line.len);
}

// A line for each log that could not be read, where others were read.
static void write_failures(struct log_session *session) {
    for (size_t i = 0; i < session->n_sources; i++) {
        const struct log_source *source = session->sources[i];
        AUTO_TEXT prefix = text_format("%sno log: ", source->prefix);
        if (source->state == LOG_FAILED && source->problem && *source->prefix && prefix)
            write_line(session, prefix, source->problem);
    }
}

static struct error *begin_session(struct log_session *session) {
    struct error *error = target_locate(&session->target);
    bool awaited = session->options.follow && (!error || session->target.awaited);
    if (!error)
        error = target_read(&session->target);
    if (!error)
        error = open_sources(session, true);
    if (error && error->code == ERROR_NOT_FOUND && awaited && !session->options.pod) {
        error_free(error); // there will be one
        error = NULL;
    }
    if (!error && session->n_sources == 0 && session->options.all_pods && !session->options.follow)
        error = error_new(ERROR_NOT_FOUND, "there are no pods with a log");
    return error ? error : wait_for_first(session);
}

// Reads the pods again, and begins to read new ones. False: nothing more will come.
static bool refresh(struct log_session *session) {
    struct error *error = target_locate(&session->target);
    if (error && error->code == ERROR_NOT_FOUND) {
        error_free(error);
        return session->target.awaited || count_sources(session, LOG_OPEN) > 0;
    }
    if (session->target.moved)
        close_sources(session);
    if (!error)
        error = target_read(&session->target);
    if (!error)
        error = open_sources(session, false);
    error_free(error); // tried again
    return !session->target.mirror.finished || is_reading(session);
}

static void follow(struct log_session *session) {
    int64_t due_ns = clock_now().mono_ns + REFRESH_LEAST_NS;
    while (!is_over(session)) {
        int64_t now_ns = clock_now().mono_ns;
        if (now_ns < due_ns) {
            read_for(session, due_ns - now_ns);
            continue;
        }
        if (!refresh(session))
            return;
        int64_t end_ns = clock_now().mono_ns, share_ns = (end_ns - now_ns) * REFRESH_SHARE;
        due_ns = end_ns + clock_earlier(clock_later(share_ns, REFRESH_LEAST_NS), REFRESH_MOST_NS);
    }
}

static void read_once(struct log_session *session) {
    while (!is_over(session) && is_reading(session))
        read_for(session, POLL_NS);
    write_failures(session);
}

static void *run_session(void *arg) {
    struct log_session *session = arg;
    struct error *error = begin_session(session);
    if (!error) {
        begin_answer(session);
        (session->options.follow ? follow : read_once)(session);
        if (grant_is_lost(session->call->grant))
            write_line(session, "wharf: the log ends here: ", grant_reason(session->call->grant));
    } else if (session->answered) {
        error_free(error);
    } else {
        session->failure = error;
    }
    close_sources(session);
    stream_end(session->stream);
    return NULL;
}

// "10", not negative; -1: not given.
static struct error *read_number(const struct web_call *call, const char *name, int64_t *out) {
    const char *text = web_parameter(call, name);
    *out = -1;
    if (!text || *text == '\0' || (text_to_int64(text, out) && *out >= 0))
        return NULL;
    return error_new(ERROR_INVALID, "%s: found \"%.80s\", expected a whole number", name, text);
}

static struct error *read_options(const struct web_call *call, struct log_options *out) {
    *out = (struct log_options){.follow = web_flag(call, "follow"),
                                .all_pods = web_flag(call, "allPods"),
                                .timestamps = web_flag(call, "timestamps"),
                                .pod = web_text(call, "pod"),
                                .container = web_text(call, "container")};
    TRY(read_number(call, "tailLines", &out->tail));
    TRY(read_number(call, "sinceSeconds", &out->since_seconds));
    if (out->pod && out->all_pods)
        return error_new(ERROR_INVALID, "pod and allPods cannot be used together");
    return NULL;
}

static struct error *start_session(struct log_session *session) {
    TRY(read_options(session->call, &session->options));
    TRY(target_open(session->call, &session->target));
    TRY(stream_new(&session->stream));
    if (thread_start("logs", STACK, run_session, session, &session->thread) != 0)
        return error_new(ERROR_STOPPED, "no thread can be started for the log");
    return NULL;
}

struct error *serve_logs(struct web_call *call) {
    int64_t tail = -1;
    if (web_flag(call, "previousAttempt")) {
        TRY(read_number(call, "tailLines", &tail));
        return serve_kept_logs(call, tail);
    }
    struct log_session *session = calloc(1, sizeof *session);
    if (!session)
        return error_no_memory();
    session->call = call;
    struct error *error = start_session(session);
    if (error) {
        session_free(session);
        return error;
    }
    stream_wait(session->stream);
    error = TAKE(session->failure);
    if (error)
        end_session(session);
    return error;
}
