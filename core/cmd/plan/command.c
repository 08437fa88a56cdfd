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

struct ask {
    const char *const *values; // of the flags
    enum plan_verdict verdict;
};

static struct error *plan(void *ctx, const struct config *config, const struct adapters *adapters,
                          struct problems *problems) {
    struct ask *ask = ctx;
    AUTO_BUFFER(out, OUTPUT_MAX);
    struct plan_request request = {.config = config,
                                   .adapters = adapters,
                                   .file = ask->values[FILE_],
                                   .status = ask->values[STATUS],
                                   .cluster = ask->values[CLUSTER],
                                   .now = clock_now()};
    struct error *error = request.cluster ? curl_transport_setup() : NULL;
    if (!error)
        error = plan_run(&request, &out, problems, &ask->verdict);
    if (out.len > 0)
        fwrite(out.data, 1, out.len, stdout);
    return error;
}

static int run(const struct arguments *arguments) {
    const char *values[N_FLAGS + 1];
    int code = EXIT_SUCCESS;
    if (!flags_read(&subcommand_plan, arguments, values, &code))
        return code;
    struct ask ask = {values, PLAN_WRONG};
    code = setup_use(values[CONFIG], values[ADAPTERS], plan, &ask);
    if (code != EXIT_SUCCESS || ask.verdict == PLAN_WRONG)
        return code ? code : EXIT_FAILURE;
    return ask.verdict == PLAN_DELEGATED ? EXIT_SUCCESS : EXIT_NOT_DELEGATED;
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
