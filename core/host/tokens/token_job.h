// SPDX-License-Identifier: Apache-2.0
// One TokenRequest to a worker, on a thread of its own, which ends by itself: the caller may leave before.
#ifndef WHARF_HOST_TOKENS_TOKEN_JOB_H
#define WHARF_HOST_TOKENS_TOKEN_JOB_H

#include "core/kube/kubeconfig/kubeconfig.h"

struct token_job_options { // texts are copied
    const char *namespace_, *account;
    int64_t seconds;
    void (*wake)(void *ctx); // from that thread, when the request has ended, unless token_job_leave was called
    void *ctx;
};

struct token_job;
// Takes the endpoint, also on failure.
struct error *token_job_start(struct endpoint *endpoint, const struct token_job_options *options,
                              struct token_job **out);
// True once the request has ended. Fills the token, free(), or the error; only the first time.
bool token_job_result(struct token_job *job, char **token, struct error **error);
void token_job_leave(struct token_job *job); // NULL is allowed; the job must not be used afterwards

#endif
