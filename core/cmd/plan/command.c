// SPDX-License-Identifier: Apache-2.0
// `wharf plan`: its flags and exit codes.
#include "core/cmd/main.h"
#include "core/cmd/plan/plan.h"
#include "core/cmd/setup.h"
#include "core/kube/transport/curl_transport.h"

#include <stdlib.h>

#define OUTPUT_MAX ((size_t)1 << 30)
#define EXIT_NOT_DELEGATED 3

enum { CONFIG, ADAPTERS, FILE_, STATUS, CLUSTER, N_FLAGS };

static const struct flag flags[] = {
    [CONFIG] = FLAG_CONFIG,
    [ADAPTERS] = FLAG_ADAPTERS,
    [FILE_] = {.letter = 'f',
               .argument = "FILE",
               .required = true,
               .help = "the objects: one or more documents or lists; - is standard input"},
    [STATUS] = {.name = "status",
                .argument = "FILE",
                .help = "also show the status that the workload gets when its mirror has this one: a status, or\n"
                        "an object with one"},
    [CLUSTER] = {.name = "cluster",
                 .argument = "NAME",
                 .help = "also validate the mirror in this worker with a server-side dry run: what its admission\n"
                         "changes or rejects"},
};

static struct error *plan(struct call *call, struct setup *setup) {
    AUTO_BUFFER(out, OUTPUT_MAX);
    enum plan_verdict verdict = PLAN_WRONG;
    struct plan_request request = {.config = setup->config,
                                   .adapters = setup->adapters,
                                   .file = call->values[FILE_],
                                   .status = call->values[STATUS],
                                   .cluster = call->values[CLUSTER],
                                   .now = clock_now()};
    struct error *error = request.cluster ? curl_transport_setup() : NULL;
    if (!error)
        error = plan_run(&request, &out, &setup->problems, &verdict);
    if (out.len > 0)
        fwrite(out.data, 1, out.len, stdout);
    call->code = verdict == PLAN_DELEGATED       ? EXIT_SUCCESS
                 : verdict == PLAN_NOT_DELEGATED ? EXIT_NOT_DELEGATED
                                                 : EXIT_FAILURE;
    return error;
}

static struct error *run(struct call *call) {
    return setup_use(call, plan);
}

const struct subcommand subcommand_plan = {
    .name = "plan",
    .run = run,
    .flags = flags,
    .n_flags = N_FLAGS,
    .summary = "show what would happen to objects",
    .text = "Reads objects from a file of YAML or JSON and shows for each what would happen if it were created in\n"
            "the management cluster: which adapter handles it, whether it is delegated to this host, and the\n"
            "mirror that would be created, as YAML; explanations are comments. Nothing is created. Exits with 0\n"
            "if every object of a known kind would be delegated, with 3 if one would not, with 1 if one is invalid\n"
            "or would be rejected.\n",
};
