// SPDX-License-Identifier: Apache-2.0
// Writes a guard's report into the ConfigMap of its worker in the management cluster. A thread of its own with a
// connection of its own: a management cluster that does not answer delays nothing in the worker.
#pragma once

#include "core/base/error.h"
#include "core/kube/kubeconfig/kubeconfig.h"

#include <stddef.h>

struct reporter_options { // texts live as long as the reporter
    const char *kubeconfig, *context;
    const char *namespace_, *origin, *worker;
    const struct exec_policy *policy;
};

struct reporter;
struct error *reporter_start(const struct reporter_options *options, struct reporter **out);
void reporter_stop(struct reporter *reporter); // NULL is fine

// From any thread: a merge patch, which replaces one that is not written yet. `ctx` is the reporter.
void reporter_put(void *ctx, const char *body, size_t len);
