// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/guard/reporter.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/engine/fence/guard_report.h"
#include "core/host/io/cluster_connection.h"
#include "core/kube/api/requests.h"
#include "core/kube/client/ask.h"

#include <stdatomic.h>
#include <stdio.h>

#define STACK ((size_t)512 * 1024)
#define REQUEST_NS (10 * CLOCK_SECOND)
#define AGAIN_NS (2 * CLOCK_SECOND) // after a failure
#define EMPTY "{\"data\":null}"

struct reporter {
    struct reporter_options options;
    struct blocking_client client;
    char name[GUARD_REPORT_NAME_MAX];
    pthread_t thread;
    atomic_bool stop;
    bool failed; // the last request, which was logged
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    char *body; // to be written; NULL: none. Under the mutex
    size_t len;
};

static enum reason send(struct reporter *reporter, enum verb verb, const char *body, size_t len, char problem[200]) {
    const struct request request = config_map_request(verb, reporter->options.namespace_, reporter->name, body, len);
    __attribute__((cleanup(ask_cleanup))) struct response response = {.retry_after_ns = -1};
    AUTO_ERROR error = ask_within(reporter->client.client, &request, REQUEST_NS, &reporter->stop, &response);
    snprintf(problem, 200, "%.190s", error ? error_text(error) : response.message ? response.message : "no answer");
    return error ? REASON_NOT_SENT : response.reason;
}

static enum reason create(struct reporter *reporter, char problem[200]) {
    AUTO_BUFFER(body, 4096);
    if (!config_map_write_empty(reporter->name, GUARD_REPORT_LABEL, reporter->options.origin,
                                "The last report of a worker's guard, for the host that gives the worker up.", &body))
        return REASON_NOT_SENT;
    return send(reporter, VERB_APPLY, body.data, body.len, problem);
}

static bool write_body(struct reporter *reporter, const char *body, size_t len, char problem[200]) {
    enum reason reason = send(reporter, VERB_MERGE_PATCH, body, len, problem);
    bool empties = strcmp(body, EMPTY) == 0;
    if (reason == REASON_NOT_FOUND && empties)
        return true;
    if (reason == REASON_NOT_FOUND)
        reason = create(reporter, problem);
    else if (reason == REASON_INVALID || reason == REASON_BAD_REQUEST) // entries of former guards take the room
        reason = send(reporter, VERB_MERGE_PATCH, EMPTY, sizeof EMPTY - 1, problem);
    else
        return reason == REASON_OK;
    return reason == REASON_OK && send(reporter, VERB_MERGE_PATCH, body, len, problem) == REASON_OK;
}

static void log_result(struct reporter *reporter, bool written, const char *problem) {
    if (!written && !reporter->failed)
        log_fields(LOG_ERROR, "the report to the management cluster cannot be written yet",
                   {"configMap", reporter->name}, {"error", problem});
    else if (written && reporter->failed)
        log_fields(LOG_INFO, "the report to the management cluster is written", {"configMap", reporter->name});
    reporter->failed = !written;
}

// The next body; NULL: the reporter stops.
static char *take(struct reporter *reporter, size_t *len) {
    AUTO_LOCK(&reporter->mutex);
    while (!reporter->body && !atomic_load(&reporter->stop))
        pthread_cond_wait(&reporter->changed, &reporter->mutex);
    *len = reporter->len;
    return atomic_load(&reporter->stop) ? NULL : TAKE(reporter->body);
}

// For the next try, unless there is a newer body.
static void give_back(struct reporter *reporter, char *body, size_t len) {
    AUTO_LOCK(&reporter->mutex);
    if (reporter->body) {
        free(body);
        return;
    }
    reporter->body = body;
    reporter->len = len;
}

static void rest(struct reporter *reporter) {
    int64_t until_ns = clock_now().mono_ns + AGAIN_NS;
    AUTO_LOCK(&reporter->mutex);
    while (!atomic_load(&reporter->stop) &&
           clock_condition_wait(&reporter->changed, &reporter->mutex, until_ns - clock_now().mono_ns))
        continue;
}

static void *run(void *arg) {
    struct reporter *reporter = arg;
    size_t len = 0;
    for (char *body; (body = take(reporter, &len));) {
        char problem[200] = "";
        bool written = write_body(reporter, body, len, problem);
        if (atomic_load(&reporter->stop))
            written = true;
        log_result(reporter, written, problem);
        if (written) {
            free(body);
            continue;
        }
        give_back(reporter, body, len);
        rest(reporter);
    }
    return NULL;
}

void reporter_put(void *ctx, const char *body, size_t len) {
    struct reporter *reporter = ctx;
    char *copy = strndup(body, len);
    AUTO_LOCK(&reporter->mutex);
    if (!copy)
        return;
    free(reporter->body);
    reporter->body = copy;
    reporter->len = len;
    pthread_cond_broadcast(&reporter->changed);
}

static struct error *open_client(struct reporter *reporter) {
    const struct reporter_options *options = &reporter->options;
    struct worker_spec cluster = {.kubeconfig_path = (char *)options->kubeconfig, .context = (char *)options->context};
    struct cluster_connection connection = {.endpoint = NULL};
    TRY(connection_load(&connection, &cluster, options->policy, clock_now().wall_ns));
    return blocking_client_open(connection.endpoint, "management", &reporter->stop, &reporter->client);
}

struct error *reporter_start(const struct reporter_options *options, struct reporter **out) {
    struct reporter *reporter = calloc(1, sizeof *reporter);
    if (!reporter)
        return error_no_memory();
    reporter->options = *options;
    guard_report_name(options->origin, options->worker, reporter->name);
    pthread_mutex_init(&reporter->mutex, NULL);
    clock_condition_init(&reporter->changed);
    struct error *error = open_client(reporter);
    int code = error ? 0 : thread_start("report", STACK, run, reporter, &reporter->thread);
    if (code != 0)
        error = error_new(ERROR_IO, "cannot start a thread: %s", strerror(code));
    if (error) {
        blocking_client_close(&reporter->client);
        free(reporter);
        return error_wrap(error, "--report-to");
    }
    *out = reporter;
    return NULL;
}

void reporter_stop(struct reporter *reporter) {
    if (!reporter)
        return;
    atomic_store(&reporter->stop, true);
    pthread_mutex_lock(&reporter->mutex);
    pthread_cond_broadcast(&reporter->changed);
    pthread_mutex_unlock(&reporter->mutex);
    pthread_join(reporter->thread, NULL);
    blocking_client_close(&reporter->client);
    pthread_cond_destroy(&reporter->changed);
    pthread_mutex_destroy(&reporter->mutex);
    free(reporter->body);
    free(reporter);
}
