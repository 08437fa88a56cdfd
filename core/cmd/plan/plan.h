// SPDX-License-Identifier: Apache-2.0
// `wharf plan`: what would become of objects if they were created in the management cluster, without creating them.
// What it tells is a stream of YAML: sentences are comments, and the documents are the objects that the host would
// write.
#ifndef WHARF_CMD_PLAN_PLAN_H
#define WHARF_CMD_PLAN_PLAN_H

#include "core/adapter/adapters.h"
#include "core/base/clock.h"
#include "core/base/problems.h"
#include "core/config/config.h"

struct plan_request {
    const struct config *config;
    const struct adapters *adapters;
    const char *file;    // of the objects, YAML or JSON; "-": standard input
    const char *status;  // file with the status of the mirror; NULL: none
    const char *cluster; // worker to try the mirror in; NULL: none. Needs curl_transport_setup
    struct moment now;
};

enum plan_verdict {
    PLAN_DELEGATED,     // every object of a kind that an adapter takes would be delegated, and there is one
    PLAN_NOT_DELEGATED, // nothing is wrong, but one of them would not, or there is none
    PLAN_WRONG          // something is refused, or could not be read or asked
};

// Appends to `out` what can be told, also where an error is returned. What is wrong with the input goes to `problems`.
// An error is returned if there was nothing to work with (a file, a cluster), and for out of memory.
struct error *plan_run(const struct plan_request *request, struct buffer *out, struct problems *problems,
                       enum plan_verdict *verdict);

#endif
