// SPDX-License-Identifier: Apache-2.0
// `wharf plan`: its flags and exit codes.
#include "core/cmd/main.h"
#include "core/cmd/plan/plan.h"
#include "core/cmd/setup.h"
#include "core/kube/curl_transport.h"

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

static struct error *plan(const char *const *values, const struct config *config, const struct adapters *adapters,
                          struct problems *problems, enum plan_verdict *verdict) {
    AUTO_BUFFER(out, OUTPUT_MAX);
    struct plan_request request = {.config = config,
                                   .adapters = adapters,
                                   .file = values[FILE_],
                                   .status = values[STATUS],
                                   .cluster = values[CLUSTER],
                                   .now = clock_now()};
    struct error *error = request.cluster ? curl_transport_setup() : NULL;
    if (!error)
        error = plan_run(&request, &out, problems, verdict);
    if (out.len > 0)
        fwrite(out.data, 1, out.len, stdout);
    fflush(stdout);
    return error;
}

static int run(const struct arguments *arguments) {
    const char *values[N_FLAGS + 1];
    int code = EXIT_SUCCESS;
    if (!flags_read(&subcommand_plan, arguments, values, &code))
        return code;
    struct problems problems = {.count = 0};
    struct config *config = NULL;
    struct adapters *adapters = NULL;
    enum plan_verdict verdict = PLAN_WRONG;
    struct error *error = setup(values[CONFIG], values[ADAPTERS], &problems, &config, &adapters);
    bool good = problems.count + problems.lost == 0;
    if (!error && adapters)
        error = plan(values, config, adapters, &problems, &verdict);
    main_print_problems(&problems);
    problems_free(&problems);
    adapters_free(adapters);
    config_free(config);
    if (error)
        return main_fail(error);
    if (!good || verdict == PLAN_WRONG)
        return EXIT_FAILURE;
    return verdict == PLAN_DELEGATED ? EXIT_SUCCESS : EXIT_NOT_DELEGATED;
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
