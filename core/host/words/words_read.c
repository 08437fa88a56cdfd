// SPDX-License-Identifier: Apache-2.0
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/host/words/words_internal.h"
#include "core/kube/transport/curl_transport.h"

#define PODS ((size_t)20)           // failed ones that are looked at
#define LINES 400                   // of a log that are asked for,
#define FEWER_LINES 5               // and if these have too many bytes
#define BYTES_MAX ((size_t)4 << 20) // of one answer
#define LOG_NS (3 * CLOCK_SECOND)   // for one log
#define ERROR_BYTES ((size_t)64 << 10)
#define POLL_NS (100 * CLOCK_MS)

struct source { // for pods_find
    struct words_read *read;
    int64_t until_ns;
};

static struct error *get(void *ctx, const char *path, bool metadata, struct json **out) {
    const struct source *source = ctx;
    if (clock_now().mono_ns >= source->until_ns)
        return error_new(ERROR_LIMIT, "it has taken longer than %d s", (int)(WORDS_PATIENCE_NS / CLOCK_SECOND));
    return blocking_client_get(&source->read->link->client, path, metadata, out);
}

struct log_read {
    struct words_container *container;
    size_t bytes, lines;
    bool done, too_long, failed;
    int code;
    char *problem;
};

static bool on_data(void *ctx, const char *bytes, size_t len) {
    struct log_read *log = ctx;
    log->bytes += len;
    for (const char *at = bytes; (at = memchr(at, '\n', (size_t)(bytes + len - at))); at++)
        log->lines++;
    log->too_long = log->bytes > BYTES_MAX;
    return words_log_put(log->container, bytes, len) && !log->too_long;
}

static void on_done(void *ctx, const struct http_result *result) {
    struct log_read *log = ctx;
    struct response response;
    response_read(&response, result, VERB_RAW_GET);
    log->done = true;
    log->code = result->status;
    log->failed = result->outcome != HTTP_ANSWERED || result->status != 200;
    log->problem = log->failed ? TAKE(response.message) : NULL;
    response_clear(&response);
}

static struct error *run_log(const struct words_read *read, struct log_read *log, int lines) {
    struct transport *transport = read->link->client.connection.transport;
    AUTO_BUFFER(path, 4096);
    buffer_printf(&path, "/api/v1/namespaces/%s/pods/%s/log?tailLines=%d&container=", read->wish->space,
                  log->container->pod, lines);
    text_percent_encode(&path, log->container->name);
    if (path.failed)
        return error_no_memory();
    const struct http_request request = {.method = HTTP_GET,
                                         .path = path.data,
                                         .accept = "*/*",
                                         .tenant = read->wish->as_tenant ? read->wish->namespace_ : NULL,
                                         .stream = true,
                                         .max_body = ERROR_BYTES,
                                         .timeout_ns = LOG_NS};
    const struct http_handler handler = {.data = on_data, .done = on_done, .ctx = log};
    uint64_t exchange = transport->ops->submit(transport, &request, &handler);
    if (exchange == 0)
        return error_no_memory();
    int64_t until_ns = clock_now().mono_ns + 2 * LOG_NS;
    while (!log->done && !atomic_load(read->stop) && clock_now().mono_ns < until_ns)
        curl_transport_poll(transport, POLL_NS);
    if (!log->done)
        transport->ops->cancel(transport, exchange);
    return NULL;
}

// A log that cannot be read is left out: the exit code is worth keeping alone.
static struct error *read_log(struct words_read *read, struct words_container *container) {
    struct log_read log = {.container = container};
    TRY(run_log(read, &log, LINES));
    if (log.too_long) {
        free(log.problem);
        buffer_reset(&container->log);
        log = (struct log_read){.container = container};
        container->cut = true;
        TRY(run_log(read, &log, FEWER_LINES));
    }
    if (log.code == 401 || log.code == 403) {
        read->refused = true;
        text_copy(read->problem, sizeof read->problem, log.problem ? log.problem : "");
    }
    free(log.problem);
    container->cut |= log.lines >= LINES; // there may have been more
    return words_log_end(container) ? NULL : error_no_memory();
}

struct error *words_read(struct words_read *read, struct pods *pods, struct words *out) {
    struct source source = {read, clock_now().mono_ns + WORDS_PATIENCE_NS};
    AUTO_TEXT select = pods_select(read->kind, read->wish->mirror, "status.phase%3DFailed");
    if (!select)
        return error_no_memory();
    struct error *error =
        pods_find(&(struct pods_source){get, &source, select}, read->wish->space, read->wish->mirror, PODS, pods);
    if (error) {
        read->refused = error->code == ERROR_REFUSED;
        return error;
    }
    words_choose(out, pods);
    for (size_t i = 0; i < out->count; i++)
        if (read->level != LAST_WORDS_LOGS)
            out->list[i].message = "";
        else if (*out->list[i].name)
            TRY(read_log(read, &out->list[i]));
    return NULL;
}
