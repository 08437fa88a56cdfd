// SPDX-License-Identifier: Apache-2.0
#include "core/host/tokens/token_job.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/host/io/cluster_connection.h"
#include "core/kube/api/token_request.h"
#include "core/kube/client/ask.h"

#include <stdlib.h>
#include <string.h>

struct token_job {
    char *kubeconfig, *context, *namespace_, *account;
    struct exec_policy *policy;
    int64_t seconds;
    pthread_mutex_t mutex;
    void (*wake)(void *ctx); // under the mutex, like the rest; NULL: nobody waits
    void *ctx;
    unsigned users; // the thread, and who started it
    bool done;
    char *token;
    struct error *error;
};

static void job_free(struct token_job *job) {
    pthread_mutex_destroy(&job->mutex);
    exec_policy_free(job->policy);
    error_free(job->error);
    free(job->kubeconfig);
    free(job->context);
    free(job->namespace_);
    free(job->account);
    free(job->token);
    free(job);
}

static void release(struct token_job *job) {
    pthread_mutex_lock(&job->mutex);
    bool last = --job->users == 0;
    pthread_mutex_unlock(&job->mutex);
    if (last)
        job_free(job);
}

static struct error *request(const struct token_job *job, struct cluster_connection *connection, char **token) {
    struct client *client = NULL;
    struct token_request wanted = {.body = NULL};
    __attribute__((cleanup(ask_cleanup))) struct response response = {0};
    int64_t expires_ns;
    struct error *error = connection_client(connection, "worker", &client);
    if (!error)
        error = token_request_make(job->namespace_, job->account, job->seconds, NULL, &wanted);
    if (!error)
        error = ask(client, &wanted.request, &response);
    if (!error)
        error = token_request_read(&response, token, &expires_ns);
    token_request_clear(&wanted);
    client_free(client);
    return error;
}

static struct error *run(const struct token_job *job, char **token) {
    struct cluster_connection connection = {0};
    struct error *error = kubeconfig_parse(job->kubeconfig, strlen(job->kubeconfig), "kubeconfig", job->context,
                                           job->policy, &connection.endpoint);
    if (!error)
        error = connection_open(&connection, NULL);
    if (!error)
        error = request(job, &connection, token);
    connection_close(&connection);
    return error;
}

static void *job_main(void *arg) {
    struct token_job *job = arg;
    char *token = NULL;
    struct error *error = run(job, &token);
    pthread_mutex_lock(&job->mutex);
    job->done = true;
    job->token = token;
    job->error = error;
    if (job->wake)
        job->wake(job->ctx);
    pthread_mutex_unlock(&job->mutex);
    release(job);
    return NULL;
}

static struct error *start_thread(struct token_job *job) {
    job->users = 2;
    int code = thread_start("token", 0, job_main, job, NULL);
    return code == 0 ? NULL : error_new(ERROR_IO, "cannot start a thread: %s", strerror(code));
}

struct error *token_job_start(const struct token_job_options *options, struct token_job **out) {
    struct token_job *job = calloc(1, sizeof *job);
    if (!job)
        return error_no_memory();
    *job = (struct token_job){.kubeconfig = strdup(options->kubeconfig),
                              .context = strdup(options->context ? options->context : ""),
                              .namespace_ = strdup(options->namespace_),
                              .account = strdup(options->account),
                              .seconds = options->seconds,
                              .wake = options->wake,
                              .ctx = options->ctx};
    pthread_mutex_init(&job->mutex, NULL);
    bool copied = job->kubeconfig && job->context && job->namespace_ && job->account &&
                  exec_policy_copy(options->policy, &job->policy);
    struct error *error = copied ? start_thread(job) : error_no_memory();
    if (error)
        job_free(job);
    else
        *out = job;
    return error;
}

bool token_job_take(struct token_job *job, char **token, struct error **error) {
    pthread_mutex_lock(&job->mutex);
    bool done = job->done;
    *token = TAKE(job->token);
    *error = TAKE(job->error);
    pthread_mutex_unlock(&job->mutex);
    return done;
}

void token_job_leave(struct token_job *job) {
    if (!job)
        return;
    pthread_mutex_lock(&job->mutex);
    job->wake = NULL;
    pthread_mutex_unlock(&job->mutex);
    release(job);
}
