// SPDX-License-Identifier: Apache-2.0
// The containers of a session's logs.
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/serve/pods/logs.h"

#include <stdlib.h>
#include <string.h>

#define ERROR_MAX ((size_t)64 * 1024)

static bool write_stream(void *stream, const void *bytes, size_t len) {
    return stream_write(stream, bytes, len);
}

static bool on_open(void *ctx) {
    struct log_source *source = ctx;
    source->state = LOG_OPEN;
    logs_answer(source->session);
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
    buffer_printf(path, "/api/v1/namespaces/%s/pods/%s/log?container=", source->session->target.namespace_,
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
    const struct http_request request = {
        .method = HTTP_GET, .path = path.data, .accept = "*/*", .stream = true, .max_body = ERROR_MAX};
    const struct http_handler handler = {.opened = on_open, .data = on_data, .done = on_done, .ctx = source};
    source->state = LOG_OPENING;
    source->opens_by_ns = clock_now().mono_ns + source->session->call->server->source.patience_ns;
    source->exchange = transport->ops->submit(transport, &request, &handler);
    return source->exchange != 0 ? NULL : error_no_memory();
}

static void source_free(struct log_source *source) {
    if (!source)
        return;
    log_lines_free(&source->lines);
    free(source->pod);
    free(source->container);
    free(source->prefix);
    free(source->problem);
    free(source);
}

void logs_close_sources(struct log_session *session) {
    struct transport *transport = session->target.worker.connection.transport;
    for (size_t i = 0; i < session->n_sources; i++) {
        if (session->sources[i]->exchange != 0)
            transport->ops->cancel(transport, session->sources[i]->exchange);
        source_free(session->sources[i]);
    }
    atomic_fetch_sub(&session->call->server->log_sources, session->n_sources);
    session->n_sources = 0;
}

void logs_expire(struct log_session *session, int64_t now_ns) {
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

size_t logs_count(const struct log_session *session, enum log_state state) {
    size_t count = 0;
    for (size_t i = 0; i < session->n_sources; i++)
        count += session->sources[i]->state == state;
    return count;
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
    struct log_source *source = calloc(1, sizeof *source);
    if (!source)
        return error_no_memory();
    source->session = session;
    source->new_pod = !first;
    source->restarts = container->restarts;
    source->pod = strdup(pod->name);
    source->container = strdup(container->name);
    source->prefix = session->options.all_pods ? text_format("[%s/%s] ", pod->name, container->name) : NULL;
    // A broken log is resumed by the timestamp of the last line.
    bool stamped = session->options.timestamps || session->options.follow;
    log_lines_init(&source->lines, source->prefix, stamped, session->options.timestamps);
    if (!source->pod || !source->container || (session->options.all_pods && !source->prefix)) {
        source_free(source);
        return error_no_memory();
    }
    session->sources[session->n_sources++] = source;
    atomic_fetch_add(&session->call->server->log_sources, 1);
    return begin_source(source, false);
}

// A container that is being read, or was: reads the log again after a restart or a broken connection.
static struct error *look_again(struct log_source *source, const struct pod_container *container) {
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
    return known ? look_again(known, container) : add_source(session, pod, container, first);
}

struct error *logs_open_sources(struct log_session *session, bool first) {
    const struct target *target = &session->target;
    if (session->options.all_pods) {
        struct error *error = NULL;
        for (size_t i = target->pods.count; i > 0 && !error; i--) // the oldest first
            error = open_pod(session, &target->pods.list[i - 1], first);
        return error;
    }
    const struct pod *pod = NULL;
    struct error *error = target_pod(target, session->options.pod, &pod);
    if (error)
        return error;
    // One at a time: the next pod is read once the log of the former one has ended.
    if (!find_source(session, pod->name,
                     session->options.container ? session->options.container : pod->default_container) &&
        logs_count(session, LOG_OPEN) + logs_count(session, LOG_OPENING) > 0)
        return NULL;
    return open_pod(session, pod, first);
}
