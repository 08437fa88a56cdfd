// SPDX-License-Identifier: Apache-2.0
// The worker of --cluster, from the sources that the host has.
#include "core/cmd/plan/plan_internal.h"

#include "core/base/suggest.h"
#include "core/host/check/preflight.h"

#include <stdlib.h>
#include <string.h>

// As many as there are at `specs`.
struct workers {
    struct worker_spec *specs;
    size_t count;
};

static const struct worker_spec *find(const struct workers *workers, const char *name) {
    for (size_t i = 0; i < workers->count; i++)
        if (strcmp(workers->specs[i].settings.name, name) == 0)
            return &workers->specs[i];
    return NULL;
}

static struct error *unknown_worker(const struct config *config, const struct workers *workers, const char *name) {
    AUTO_BUFFER(list, (size_t)1 << 20);
    const char **names = calloc(workers->count + 1, sizeof(*names));
    for (size_t i = 0; names && i < workers->count; i++) {
        names[i] = workers->specs[i].settings.name;
        buffer_printf(&list, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    const char *meant = !names ? NULL : suggest(name, names, workers->count);
    free(names);
    return error_new(ERROR_NOT_FOUND, "--cluster: found \"%s\", expected a worker of %s (%s)%s%s%s", name, config->path,
                     list.data ? list.data : "it has none", meant ? "; did you mean \"" : "", meant ? meant : "",
                     meant ? "\"?" : "");
}

// The management cluster is asked only for a worker that is not in the configuration.
static struct error *find_worker(const struct plan_request *request, struct problems *problems,
                                 struct workers *workers) {
    const struct config *config = request->config;
    for (size_t i = 0; i < config->n_workers; i++) {
        if (strcmp(config->workers[i].settings.name, request->cluster) != 0)
            continue;
        workers->specs = calloc(1, sizeof(*workers->specs));
        if (!workers->specs || !worker_spec_copy(&config->workers[i], workers->specs))
            return error_no_memory();
        workers->count = 1;
        return NULL;
    }
    struct problems found = {.count = 0};
    struct error *error = preflight_workers(config, &found, &workers->specs, &workers->count);
    if (!error && !find(workers, request->cluster)) {
        error = unknown_worker(config, workers, request->cluster);
        problems_move(problems, &found);
    }
    problems_free(&found);
    return error;
}

struct error *plan_worker_open(const struct plan_request *request, struct problems *problems, struct plan_worker *out) {
    *out = (struct plan_worker){.name = request->cluster};
    struct workers workers = {.count = 0};
    struct error *error = find_worker(request, problems, &workers);
    if (!error) {
        error = connection_load(&out->connection, find(&workers, request->cluster),
                                &request->config->credential_plugins, request->now.wall_ns);
        if (!error)
            error = connection_open(&out->connection, NULL);
        if (!error)
            error = connection_client(&out->connection, out->name, &out->client);
        error = error_wrap(error, "%s", out->name);
    }
    worker_specs_free(workers.specs, workers.count);
    return error;
}

void plan_worker_close(struct plan_worker *worker) {
    client_free(worker->client);
    connection_close(&worker->connection);
    *worker = (struct plan_worker){.client = NULL};
}
