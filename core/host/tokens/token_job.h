// SPDX-License-Identifier: Apache-2.0
// One TokenRequest to a worker, on a detached thread of its own: the caller may leave before its end.
#pragma once

#include "core/kube/kubeconfig/kubeconfig.h"

struct token_job_options { // copies all texts
    const char *namespace_, *account;
    int64_t seconds;
    void (*wake)(void *ctx); // from that thread, at the end of the request, except after token_job_leave
    void *ctx;
};

struct token_job;
// Takes the endpoint, also on failure.
struct error *token_job_start(struct endpoint *endpoint, const struct token_job_options *options,
                              struct token_job **out);
// True once the request has ended. Fills the token, free(), or the error; only the first time.
bool token_job_result(struct token_job *job, char **token, struct error **error);
void token_job_leave(struct token_job *job); // NULL is allowed; the caller must not use the job afterwards
