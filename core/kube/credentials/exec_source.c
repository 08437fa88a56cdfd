// SPDX-License-Identifier: Apache-2.0
#include "core/kube/credentials/credentials.h"

#include "core/base/log.h"
#include "core/base/thread.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define LEEWAY (30 * CLOCK_SECOND) // before a credential expires; less for one that lives shorter than three times that
// Between the starts of two runs: after a rejected credential that the server had accepted before, after one that the
// server never accepted, and after a failed run (doubled with each).
#define AGAIN_ACCEPTED CLOCK_SECOND
#define AGAIN (10 * CLOCK_SECOND)
#define AGAIN_FAILED (2 * CLOCK_SECOND)
#define AGAIN_MAX (60 * CLOCK_SECOND)

// A run of the plugin in its own thread: finding the file and starting the process may block.
static void *run_plugin(void *arg) {
    struct exec_source *source = arg;
    source->error = exec_plugin_run(source->plugin, EXEC_TIMEOUT, source->cancel_fd, &source->result);
    atomic_store(&source->over, true);
    (void)eventfd_write(source->wake_fd, 1);
    return NULL;
}

static struct error *start_run(struct exec_source *source) {
    source->cancel_fd = eventfd(0, EFD_CLOEXEC);
    atomic_store(&source->over, false);
    int code = source->cancel_fd < 0 ? errno : thread_start("credentials", 0, run_plugin, source, &source->thread);
    source->running = code == 0;
    if (code != 0 && source->cancel_fd >= 0)
        close(source->cancel_fd);
    return code == 0 ? NULL
                     : error_new(ERROR_IO, "%s: cannot start a thread: %s", source->plugin->where, strerror(code));
}

// Waits for the end of the run.
static void join_run(struct exec_source *source) {
    pthread_join(source->thread, NULL);
    close(source->cancel_fd);
    source->running = false;
}

void exec_source_open(struct exec_source *source, const struct exec_plugin *plugin, int wake_fd, struct moment now) {
    *source = (struct exec_source){.plugin = plugin,
                                   .wake_fd = wake_fd,
                                   .due_ns = plugin ? now.mono_ns : CLOCK_NEVER,
                                   .started_ns = now.mono_ns,
                                   .expires_ns = CLOCK_NEVER};
}

void exec_source_close(struct exec_source *source) {
    if (source->running) {
        (void)eventfd_write(source->cancel_fd, 1);
        join_run(source);
        error_free(source->error);
        exec_credential_clear(&source->result);
    }
    exec_credential_clear(&source->held);
    error_free(source->problem);
    *source = (struct exec_source){.due_ns = CLOCK_NEVER};
}

static void handle_failure(struct exec_source *source, struct error *error, int64_t now_ns) {
    source->due_ns = now_ns + clock_doubled(AGAIN_FAILED, source->failures, AGAIN_MAX);
    source->failures++;
    log_fields(LOG_WARN, "the credential plugin failed", {"error", error_text(error)});
    error_free(source->problem);
    source->problem = error;
}

// A credential that has expired already, by this machine's clock, is left to the server to judge. The clocks are
// compared once, when the credential arrives.
static void plan_expiry(struct exec_source *source, struct moment now) {
    source->due_ns = source->expires_ns = CLOCK_NEVER;
    if (source->held.expires_ns == CLOCK_NEVER)
        return;
    int64_t life_ns = source->held.expires_ns - now.wall_ns;
    if (life_ns <= 0) {
        source->due_ns = source->started_ns + AGAIN;
        log_fields(LOG_WARN, "the credential plugin gave an expired credential, or the clock is wrong",
                   {"plugin", source->plugin->where});
        return;
    }
    source->expires_ns = now.mono_ns + life_ns;
    source->due_ns =
        clock_later(source->expires_ns - clock_earlier(LEEWAY, life_ns / 3), source->started_ns + AGAIN_FAILED);
}

static void adopt_credential(struct exec_source *source, const struct exec_credential *fresh, struct moment now) {
    exec_credential_clear(&source->held);
    source->held = *fresh;
    source->accepted = source->rejected = false;
    source->generation++;
    source->failures = 0;
    error_free(source->problem);
    source->problem = NULL;
    plan_expiry(source, now);
}

// Another transport of the endpoint has run the plugin. Not this one's run: if the server rejects the credential, no
// delay applies.
static bool adopt_shared(struct exec_source *source, struct moment now) {
    struct exec_credential fresh;
    if (!exec_cache_get(source->plugin->cache, source->generation > 0 ? &source->held : NULL, now.wall_ns + LEEWAY,
                        &fresh))
        return false;
    source->started_ns = now.mono_ns - AGAIN;
    adopt_credential(source, &fresh, now);
    return true;
}

static bool finish_run(struct exec_source *source, struct moment now) {
    join_run(source);
    if (source->error) {
        handle_failure(source, TAKE(source->error), now.mono_ns);
        return false;
    }
    adopt_credential(source, &source->result, now);
    exec_cache_put(source->plugin->cache, &source->held);
    return true;
}

bool exec_source_update(struct exec_source *source, struct moment now) {
    bool changed = source->running && atomic_load(&source->over) && finish_run(source, now);
    if (source->running || now.mono_ns < source->due_ns)
        return changed;
    if (adopt_shared(source, now))
        return true;
    source->started_ns = now.mono_ns;
    source->due_ns = CLOCK_NEVER; // until this run is over
    struct error *error = start_run(source);
    if (error)
        handle_failure(source, error, now.mono_ns);
    return changed;
}

// An expired credential is not sent: the server would reject it.
static bool is_usable(const struct exec_source *source, int64_t now_ns) {
    return !source->plugin || (source->generation > 0 && !source->rejected && now_ns < source->expires_ns);
}

bool exec_source_is_waiting(const struct exec_source *source, int64_t now_ns) {
    return source->running && !is_usable(source, now_ns);
}

const struct error *exec_source_problem(const struct exec_source *source, int64_t now_ns) {
    return is_usable(source, now_ns) ? NULL : source->problem;
}

void exec_source_answered(struct exec_source *source, uint64_t generation, int status) {
    if (generation != source->generation || generation == 0)
        return;
    source->rejected |= status == 401;
    source->accepted |= (status >= 200 && status < 300) || status == 403;
}

bool exec_source_renew(struct exec_source *source, int64_t now_ns) {
    if (!source->plugin)
        return false;
    if (source->running || (source->generation > 0 && !source->rejected))
        return true; // in progress, or ended
    int64_t earliest_ns = source->started_ns + (source->accepted ? AGAIN_ACCEPTED : AGAIN);
    if (source->failures == 0)
        source->due_ns = clock_earlier(source->due_ns, clock_later(earliest_ns, now_ns));
    return source->due_ns <= now_ns;
}
