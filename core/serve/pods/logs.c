// SPDX-License-Identifier: Apache-2.0
// GET /api/v1/logs/KIND/NAMESPACE/NAME
#include "core/serve/pods/logs.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/kube/transport/curl_transport.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define STACK ((size_t)256 * 1024)
#define REFRESH_LEAST_NS (2 * CLOCK_SECOND)
#define REFRESH_MOST_NS (30 * CLOCK_SECOND)
#define REFRESH_SHARE 20 // listing the pods takes at most this part of the time
#define POLL_NS (200 * CLOCK_MS)
#define GRANT_NS CLOCK_SECOND // until a lost grant is noticed

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

void logs_answer(struct log_session *session) {
    if (session->answered)
        return;
    AUTO_BUFFER(note, 1024);
    describe_session(session, &note);
    session->answered = true;
    web_stream(session->call, WEB_TEXT, note.data, &(struct web_reader){read_log, end_session, session});
    stream_begin(session->stream);
}

// Polls until the first log is open, or all have failed.
static struct error *wait_for_first(struct log_session *session) {
    struct transport *transport = session->target.worker.connection.transport;
    while (logs_count(session, LOG_OPENING) > 0 && logs_count(session, LOG_OPEN) == 0 &&
           logs_count(session, LOG_ENDED) == 0 && !is_over(session)) {
        curl_transport_poll(transport, POLL_NS);
        logs_expire(session, clock_now().mono_ns);
    }
    if (is_over(session))
        return error_new(ERROR_STOPPED, "the host is stopping");
    if (session->options.follow || session->n_sources == 0 || logs_count(session, LOG_FAILED) < session->n_sources)
        return NULL;
    enum error_code code = session->sources[0]->late ? ERROR_LIMIT : ERROR_INVALID;
    return error_new(code, "%s", session->sources[0]->problem ? session->sources[0]->problem : "no log");
}

// A line for each log that could not be read, where others were read.
static void write_failures(struct log_session *session) {
    for (size_t i = 0; i < session->n_sources; i++) {
        const struct log_source *source = session->sources[i];
        if (source->state != LOG_FAILED || !source->problem || !source->prefix)
            continue;
        AUTO_BUFFER(line, 4096);
        buffer_text(&line, source->prefix);
        buffer_text(&line, "no log: ");
        text_show(&line, source->problem);
        buffer_char(&line, '\n');
        if (!line.failed)
            (void)stream_write(session->stream, line.data, line.len);
    }
}

static struct error *begin_session(struct log_session *session) {
    bool moved = false;
    struct error *error = target_locate(&session->target, &moved);
    bool awaited = session->options.follow && (!error || session->target.awaited);
    if (!error)
        error = target_read(&session->target);
    if (!error)
        error = logs_open_sources(session, true);
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
    bool moved = false;
    struct error *error = target_locate(&session->target, &moved);
    if (error && error->code == ERROR_NOT_FOUND) {
        error_free(error);
        return session->target.awaited || logs_count(session, LOG_OPEN) > 0;
    }
    if (moved)
        logs_close_sources(session);
    if (!error)
        error = target_read(&session->target);
    if (!error)
        error = logs_open_sources(session, false);
    error_free(error); // tried again
    return !session->target.mirror.finished || logs_count(session, LOG_OPEN) + logs_count(session, LOG_OPENING) > 0;
}

static void wake_transport(void *transport) {
    curl_transport_wakeup(transport);
}

// Passes on the logs, until then.
static void read_until(struct log_session *session, int64_t due_ns) {
    struct transport *transport = session->target.worker.connection.transport;
    int64_t wait_ns = due_ns - clock_now().mono_ns;
    if (!transport) { // there is nothing to read from
        (void)poll(NULL, 0, (int)(clock_earlier(wait_ns, POLL_NS) / CLOCK_MS) + 1);
        return;
    }
    stream_on_gone(session->stream, wake_transport, transport);
    curl_transport_poll(transport, clock_earlier(wait_ns, GRANT_NS));
    logs_expire(session, clock_now().mono_ns);
    stream_on_gone(session->stream, NULL, NULL); // the transport may be replaced
}

static void follow(struct log_session *session) {
    int64_t wait_ns = REFRESH_LEAST_NS, due_ns = clock_now().mono_ns + wait_ns;
    while (!is_over(session)) {
        int64_t now_ns = clock_now().mono_ns;
        if (now_ns < due_ns) {
            read_until(session, due_ns);
            continue;
        }
        if (!refresh(session))
            return;
        int64_t took_ns = (clock_now().mono_ns - now_ns) * REFRESH_SHARE;
        wait_ns = clock_earlier(clock_later(took_ns, REFRESH_LEAST_NS), REFRESH_MOST_NS);
        due_ns = clock_now().mono_ns + wait_ns;
    }
}

static void read_once(struct log_session *session) {
    while (!is_over(session) && logs_count(session, LOG_OPEN) + logs_count(session, LOG_OPENING) > 0) {
        curl_transport_poll(session->target.worker.connection.transport, POLL_NS);
        logs_expire(session, clock_now().mono_ns);
    }
    write_failures(session);
}

static void write_lost_grant(const struct log_session *session) {
    AUTO_BUFFER(line, 4096);
    buffer_text(&line, "wharf: the log ends here: ");
    text_show(&line, grant_reason(session->call->grant));
    buffer_char(&line, '\n');
    if (!line.failed)
        (void)stream_write(session->stream, line.data, line.len);
}

static void *run_session(void *arg) {
    struct log_session *session = arg;
    struct error *error = begin_session(session);
    if (!error) {
        logs_answer(session);
        (session->options.follow ? follow : read_once)(session);
        if (grant_is_lost(session->call->grant))
            write_lost_grant(session);
    } else if (session->answered) {
        error_free(error);
    } else {
        session->failure = error;
    }
    stream_on_gone(session->stream, NULL, NULL);
    logs_close_sources(session);
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

// NULL: not given.
static const char *text_parameter(const struct web_call *call, const char *name) {
    const char *text = web_parameter(call, name);
    return text && *text ? text : NULL;
}

static struct error *read_options(const struct web_call *call, struct log_options *out) {
    *out = (struct log_options){.follow = web_flag(call, "follow"),
                                .all_pods = web_flag(call, "allPods"),
                                .timestamps = web_flag(call, "timestamps"),
                                .pod = text_parameter(call, "pod"),
                                .container = text_parameter(call, "container")};
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
