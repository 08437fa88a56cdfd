// SPDX-License-Identifier: Apache-2.0
// A run of a credential plugin in its own thread (exec_plugin.h): finding the file and starting the process may block.
#include "core/base/thread.h"
#include "core/kube/credentials/exec_plugin.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct exec_job {
    const struct exec_plugin *plugin;
    int64_t timeout_ns;
    void (*wake)(void *ctx);
    void *ctx;
    int cancel_fd;
    pthread_t thread;
    atomic_bool over; // the fields below are then complete
    struct exec_credential credential;
    struct error *error;
};

static void *job_main(void *arg) {
    struct exec_job *job = arg;
    job->error = exec_plugin_run(job->plugin, job->timeout_ns, job->cancel_fd, &job->credential);
    atomic_store(&job->over, true);
    job->wake(job->ctx);
    return NULL;
}

struct error *exec_job_start(const struct exec_plugin *plugin, int64_t timeout_ns, void (*wake)(void *ctx), void *ctx,
                             struct exec_job **out) {
    struct exec_job *job = calloc(1, sizeof *job);
    if (!job)
        return error_no_memory();
    *job = (struct exec_job){.plugin = plugin, .timeout_ns = timeout_ns, .wake = wake, .ctx = ctx};
    job->cancel_fd = eventfd(0, EFD_CLOEXEC);
    int code = job->cancel_fd < 0 ? errno : thread_start("credentials", 0, job_main, job, &job->thread);
    if (code == 0) {
        *out = job;
        return NULL;
    }
    if (job->cancel_fd >= 0)
        close(job->cancel_fd);
    free(job);
    return error_new(ERROR_IO, "%s: cannot start a thread: %s", plugin->where, strerror(code));
}

bool exec_job_is_over(struct exec_job *job) {
    return atomic_load(&job->over);
}

struct error *exec_job_finish(struct exec_job *job, struct exec_credential *out) {
    pthread_join(job->thread, NULL);
    close(job->cancel_fd);
    struct error *error = job->error;
    *out = job->credential;
    free(job);
    return error;
}

void exec_job_cancel(struct exec_job *job) {
    if (!job)
        return;
    (void)eventfd_write(job->cancel_fd, 1);
    struct exec_credential unused;
    error_free(exec_job_finish(job, &unused));
    exec_credential_clear(&unused);
}
