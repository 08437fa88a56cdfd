// SPDX-License-Identifier: Apache-2.0
#include "core/host/tokens/token_job.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/host/io/cluster_connection.h"
#include "core/kube/api/requests.h"
#include "core/kube/client/ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct token_job {
    struct cluster_connection connection;
    struct token_job_options options;
    char *namespace_, *account;
    pthread_mutex_t mutex;
    unsigned users; // under the mutex, like the rest: the thread and its caller
    bool left;      // by the caller
    bool done;
    char *token;
    struct error *error;
};

static void job_free(struct token_job *job) {
    connection_close(&job->connection);
    pthread_mutex_destroy(&job->mutex);
    error_free(job->error);
    free(job->namespace_);
    free(job->account);
    free(job->token);
    free(job);
}

static void release_job(struct token_job *job) {
    pthread_mutex_lock(&job->mutex);
    bool last = --job->users == 0;
    pthread_mutex_unlock(&job->mutex);
    if (last)
        job_free(job);
}

static struct error *request_token(struct token_job *job, struct client *client, char **token) {
    __attribute__((cleanup(token_request_clear))) struct token_request wanted = {.body = NULL};
    __attribute__((cleanup(ask_cleanup))) struct response response = {0};
    int64_t expires_ns;
    TRY(token_request_make(job->namespace_, job->account, job->options.seconds, NULL, &wanted));
    TRY(ask(client, &wanted.request, &response));
    return token_request_read(&response, token, &expires_ns);
}

static void *job_main(void *arg) {
    struct token_job *job = arg;
    struct client *client = NULL;
    char *token = NULL;
    struct error *error = connection_open(&job->connection, NULL);
    if (!error)
        error = connection_client(&job->connection, "worker", &client);
    if (!error)
        error = request_token(job, client, &token);
    client_free(client);
    connection_close(&job->connection);
    pthread_mutex_lock(&job->mutex);
    job->done = true;
    job->token = token;
    job->error = error;
    if (!job->left)
        job->options.wake(job->options.ctx);
    pthread_mutex_unlock(&job->mutex);
    release_job(job);
    return NULL;
}

struct error *token_job_start(struct endpoint *endpoint, const struct token_job_options *options,
                              struct token_job **out) {
    struct token_job *job = calloc(1, sizeof *job);
    if (!job) {
        endpoint_free(endpoint);
        return error_no_memory();
    }
    *job = (struct token_job){.connection.endpoint = endpoint, .options = *options, .users = 2};
    pthread_mutex_init(&job->mutex, NULL);
    bool copied = text_set(&job->namespace_, options->namespace_) && text_set(&job->account, options->account);
    int code = copied ? thread_start("token", 0, job_main, job, NULL) : ENOMEM;
    if (code == 0) {
        *out = job;
        return NULL;
    }
    job_free(job);
    return error_new(ERROR_IO, "cannot start a thread: %s", strerror(code));
}

bool token_job_result(struct token_job *job, char **token, struct error **error) {
    AUTO_LOCK(&job->mutex);
    *token = TAKE(job->token);
    *error = TAKE(job->error);
    return job->done;
}

void token_job_leave(struct token_job *job) {
    if (!job)
        return;
    pthread_mutex_lock(&job->mutex);
    job->left = true;
    pthread_mutex_unlock(&job->mutex);
    release_job(job);
}
