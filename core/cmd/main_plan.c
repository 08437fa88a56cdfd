// SPDX-License-Identifier: Apache-2.0
// `wharf plan`: what would become of objects.
#include "core/cmd/main.h"
#include "core/cmd/plan.h"
#include "core/kube/curl_transport.h"

#include <stdlib.h>

#define OUTPUT_MAX ((size_t)1 << 30)
#define EXIT_NOT_DELEGATED 3

static struct error *load(const struct arguments *arguments, struct problems *problems, struct config **config,
                          struct adapters **adapters) {
    struct error *error = config_load(arguments->config, problems, config);
    if (!error && *config)
        error = adapters_load(*config, problems, adapters);
    return error;
}

static struct error *run(const struct arguments *arguments, const struct config *config,
                         const struct adapters *adapters, struct problems *problems, enum plan_verdict *verdict) {
    struct buffer out __attribute__((cleanup(buffer_cleanup)));
    buffer_init(&out, OUTPUT_MAX);
    struct plan_request request = {.config = config,
                                   .adapters = adapters,
                                   .file = arguments->file,
                                   .status = arguments->status,
                                   .cluster = arguments->cluster,
                                   .now = clock_now()};
    struct error *error = request.cluster ? curl_transport_setup() : NULL;
    if (!error)
        error = plan_run(&request, &out, problems, verdict);
    if (out.len > 0)
        fwrite(out.data, 1, out.len, stdout);
    fflush(stdout);
    return error;
}

int main_plan(const struct arguments *arguments) {
    struct problems problems = {.count = 0};
    struct config *config = NULL;
    struct adapters *adapters = NULL;
    enum plan_verdict verdict = PLAN_WRONG;
    struct error *error = load(arguments, &problems, &config, &adapters);
    bool good = problems.count + problems.lost == 0;
    if (!error && adapters)
        error = run(arguments, config, adapters, &problems, &verdict);
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
