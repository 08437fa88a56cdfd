// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/kinds.h"
#include "core/adapter/phase.h"
#include "core/base/error.h"
#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "core/json/yaml.h"
#include "tests/simulation/trial.h"
#include "tests/support/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SETTINGS SIM_FIXTURES "/generic.yaml"

// The module of each folder of plugins/, defined by the Makefile (one of them for editors, without it).
#ifndef SIM_ADAPTERS
#define SIM_ADAPTERS(X) X(job)
#endif
#define DECLARE(name) extern const wharf_module wharf_adapter_##name;
SIM_ADAPTERS(DECLARE)
#define MODULE(name) &wharf_adapter_##name,
static const wharf_module *const adapters[] = {SIM_ADAPTERS(MODULE)};

static struct sim_kind kinds[SIM_KINDS];
static size_t n_kinds;

static void must(struct error *error, const char *what) {
    if (!error)
        return;
    fprintf(stderr, "simulation: %s: %s\n", what, error_text(error));
    exit(2);
}

// The recorded lives of the kind are stories as those of the fixture, if the environment has SIM_RECORDED.
static void add_recordings(const struct sim_kind *kind, struct fixture *fixture) {
    static struct recordings kept[SIM_KINDS]; // what the stories point into
    struct recordings *all = &kept[n_kinds];
    must(recordings_load(fixture->plural, all), fixture->plural);
    for (size_t i = 0; i < all->count; i++)
        if (recording_is_plain(all->list[i], kind->kind->abi.suspend))
            must(recording_add_story(all->list[i], fixture), all->list[i]->path);
}

static void add_kind(const wharf_kind *given) {
    struct sim_kind *added = &kinds[n_kinds];
    struct fixture *fixture = NULL;
    bool job = strcmp(given->plural, "jobs") == 0;
    AUTO_TEXT folder = text_format("%s/%s", SIM_FIXTURES, given->plural);
    AUTO_TEXT workload = text_format("%s/workload.yaml", folder ? folder : "");
    if (!workload || (!job && access(workload, R_OK) != 0))
        return;
    *added = (struct sim_kind){.custom = custom_find(given->group, given->plural)};
    must(kind_check(given, NULL, TRIAL_MANAGED_BY, &added->kind), given->kind);
    if (!job)
        must(fixture_load(folder, &fixture), folder);
    if (fixture && getenv("SIM_RECORDED"))
        add_recordings(added, fixture);
    added->fixture = fixture;
    if (!job && !added->custom) {
        fprintf(stderr, "simulation: the world has no rules for %s.%s\n", given->plural, given->group);
        exit(2);
    }
    if (++n_kinds == SIM_KINDS)
        abort();
}

static struct json *read_settings(const char *name) {
    if (strcmp(name, "generic") != 0)
        return json_new_object();
    AUTO_BUFFER(text, 1 << 20);
    struct yaml yaml = {0};
    must(text_read_file(SETTINGS, 1 << 20, &text), "settings");
    must(yaml_parse(SETTINGS, text.data, text.len, &yaml), "settings");
    return yaml.value;
}

// Without them the generic adapter has no kind.
static bool has_settings(const char *name) {
    return strcmp(name, "generic") != 0 || access(SETTINGS, R_OK) == 0;
}

static void load(const wharf_module *module) {
    const wharf_kind *const *brought = module->kinds;
    struct json *settings = read_settings(module->name);
    services_loading(module->name);
    *module->host = services_table();
    const char *problem =
        module->start ? module->start(services_table(), (const wharf_value *)settings, &brought) : NULL;
    if (problem) {
        fprintf(stderr, "simulation: adapter %s: %s\n", module->name, problem);
        exit(2);
    }
    for (size_t i = 0; brought[i]; i++)
        add_kind(brought[i]);
    services_loading(NULL);
    if (!services_keep(settings))
        abort();
}

const struct sim_kind *sim_kinds(size_t *count) {
    bool first = n_kinds == 0;
    size_t n_adapters = sizeof adapters / sizeof *adapters;
    if (access(SIM_FIXTURES, X_OK) != 0) { // or all kinds but Job would be left out in silence
        fprintf(stderr, "simulation: %s is not there: run it from the top of the repository\n", SIM_FIXTURES);
        exit(2);
    }
    for (size_t pass = 0; pass < 2 && first; pass++) // Job is the first
        for (size_t i = 0; i < n_adapters; i++)
            if ((strcmp(adapters[i]->name, "job") == 0) == (pass == 0) && has_settings(adapters[i]->name))
                load(adapters[i]);
    *count = n_kinds;
    return kinds;
}

static void begin_call(struct adapter_call *call, const struct sim_kind *kind, wharf_mirror_state state,
                       int64_t now_ns) {
    adapter_call_begin(call, &(struct call_context){.kind = &kind->kind->abi,
                                                    .given = kind->kind->given,
                                                    .now = {now_ns, now_ns},
                                                    .cluster = "w1",
                                                    .attempt = 1,
                                                    .version = kind->kind->abi.versions[0],
                                                    .object = "",
                                                    .mirror_state = state});
}

wharf_phase_kind sim_phase(const struct sim_kind *kind, const struct json *object, int64_t *since_ns) {
    struct adapter_call call;
    wharf_phase phase = {.size = sizeof phase};
    begin_call(&call, kind, WHARF_MIRROR_NONE, TRIAL_START_NS);
    adapter_phase(&call, object, &phase);
    adapter_call_end(&call);
    if (since_ns)
        *since_ns = phase.since_ns;
    return phase.phase;
}

bool sim_finished(const struct sim_kind *kind, const struct json *object) {
    return phase_is_final(sim_phase(kind, object, NULL));
}

// Without additions by the adapter, a status is a copy. The generation that it is about is checked by mirror_status.
static bool is_copy(const struct sim_kind *kind, const struct json *workload, const struct json *mirror) {
    const wharf_kind *abi = &kind->kind->abi;
    const struct json *status = json_get(mirror, "status");
    AUTO_JSON expected = json_new_object();
    if (status && !json_set(expected, "status", json_copy(status)))
        abort();
    for (const char *const *removed = abi->status_removed; removed && *removed; removed++)
        pointer_remove_all(expected, *removed);
    const struct json *observed = abi->observed_generation ? pointer_find(workload, abi->observed_generation) : NULL;
    if (observed && pointer_find(expected, abi->observed_generation) &&
        !pointer_set(expected, abi->observed_generation, json_copy(observed)))
        abort();
    return json_equal(json_get(workload, "status"), json_get(expected, "status"));
}

// A finished mirror is not changed: its status stays about the generation that the mirror was last in sync with.
static struct json *as_observed(const struct sim_kind *kind, const struct json *workload) {
    struct json *copy = json_copy(workload);
    const char *pointer = kind->kind->abi.observed_generation;
    const struct json *observed = pointer ? pointer_find(workload, pointer) : NULL;
    if (!copy ||
        (observed && sim_finished(kind, workload) && !pointer_set(copy, "/metadata/generation", json_copy(observed))))
        abort();
    return copy;
}

static char *text_of(const struct json *value) {
    char *text = json_text(value, NULL);
    if (!text)
        abort();
    return text;
}

static char *due(wharf_result result, const struct json *patch) {
    if (result == WHARF_RETRY)
        return text_format("it is to be tried again");
    return patch ? text_of(patch) : NULL;
}

static struct mirror_context job_of(const struct sim_kind *kind, struct adapter_call *call, const struct json *workload,
                                    const struct json *mirror) {
    return (struct mirror_context){.kind = kind->kind,
                                   .origin = TRIAL_ORIGIN,
                                   .call = call,
                                   .workload = workload,
                                   .mirror = mirror,
                                   .attempt = mirror_attempt(mirror ? mirror : workload)};
}

char *sim_status_due(const struct sim_kind *kind, const struct json *workload, const struct json *mirror,
                     int64_t now_ns) {
    AUTO_JSON observed = as_observed(kind, workload);
    struct adapter_call call;
    AUTO_JSON patch = NULL;
    uint64_t wanted = 0;
    if (mirror && kind->fixture && !kind->kind->given->status && json_get(mirror, "status") &&
        !is_copy(kind, observed, mirror))
        return text_of(json_get(mirror, "status"));
    begin_call(&call, kind, mirror ? WHARF_MIRROR_PRESENT : WHARF_MIRROR_NONE, now_ns);
    struct mirror_context job = job_of(kind, &call, observed, mirror);
    wharf_result result = mirror_status(&job, &patch, &wanted);
    adapter_call_end(&call);
    return due(result, patch);
}

char *sim_mirror_due(const struct sim_kind *kind, const struct json *workload, const struct json *mirror,
                     int64_t now_ns) {
    struct adapter_call call;
    AUTO_JSON patch = NULL;
    begin_call(&call, kind, WHARF_MIRROR_PRESENT, now_ns);
    struct mirror_context job = job_of(kind, &call, workload, mirror);
    wharf_result result = mirror_patch(&job, &patch);
    adapter_call_end(&call);
    return due(result, patch);
}

bool sim_refuses(const struct sim_kind *kind, const struct json *workload, int64_t now_ns) {
    struct adapter_call call;
    AUTO_JSON mirror = NULL;
    begin_call(&call, kind, WHARF_MIRROR_NONE, now_ns);
    struct mirror_context job = job_of(kind, &call, workload, NULL);
    wharf_result result = adapter_accept(&call, workload);
    if (result == WHARF_OK)
        result = mirror_make(&job, &mirror);
    adapter_call_end(&call);
    return result == WHARF_REFUSED;
}

void sim_references(const struct sim_kind *kind, const struct json *workload, struct references *out) {
    struct adapter_call call;
    begin_call(&call, kind, WHARF_MIRROR_NONE, TRIAL_START_NS);
    if (references_of(&call, workload, out) != WHARF_OK)
        references_clear(out);
    adapter_call_end(&call);
}
