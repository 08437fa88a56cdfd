// SPDX-License-Identifier: Apache-2.0
// `wharf plan`: what would happen to objects if they were created in the management cluster, without creating them.
// The output is a stream of YAML: explanations are comments, and the documents are the objects that the host would
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
    const char *cluster; // worker that validates the mirror; NULL: none. Needs curl_transport_setup
    struct moment now;
};

enum plan_verdict {
    PLAN_DELEGATED,     // every object of a supported kind would be delegated, and there is at least one
    PLAN_NOT_DELEGATED, // nothing is invalid, but one of them would not, or there is none
    PLAN_WRONG          // something is rejected, or could not be read or reached
};

// Appends the output to `out`; with an error, what was produced before it. Problems of the input go to
// `problems`. An error is returned where a file or a cluster cannot be used, and for out of memory.
struct error *plan_run(const struct plan_request *request, struct buffer *out, struct problems *problems,
                       enum plan_verdict *verdict);

#endif
