// SPDX-License-Identifier: Apache-2.0
// One TokenRequest to a worker, on a thread of its own, which ends by itself: whoever asked may leave before.
#ifndef WHARF_HOST_TOKENS_TOKEN_JOB_H
#define WHARF_HOST_TOKENS_TOKEN_JOB_H

#include "core/host/sources/worker_objects.h"

struct token_job_options { // copied
    const char *kubeconfig, *context;
    const struct exec_policy *policy;
    const char *namespace_, *account;
    int64_t seconds;
    void (*wake)(void *ctx); // from that thread, when it is done, unless token_job_leave was called
    void *ctx;
};

struct token_job;
struct error *token_job_start(const struct token_job_options *options, struct token_job **out);
// True once it is done. Fills the token, free(), or the error; only the first time.
bool token_job_take(struct token_job *job, char **token, struct error **error);
void token_job_leave(struct token_job *job); // NULL is allowed; the job is not to be used afterwards

#endif
