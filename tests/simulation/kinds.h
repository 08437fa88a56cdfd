// SPDX-License-Identifier: Apache-2.0
// The kinds of the trials: Job, and all kinds of the adapters in plugins/ that have fixtures, whose stories are
// played; with SIM_RECORDED in the environment also their recorded lives. Their adapters are called here as by the
// host.
#pragma once

#include "core/adapter/adapters.h"
#include "core/adapter/references.h"
#include "core/json/json.h"
#include "tests/support/fixture.h"
#include "tests/world/custom.h"

#define SIM_KINDS 32
#define SIM_FIXTURES "tests/fixtures"

struct sim_kind {
    struct kind *kind;
    const struct fixture *fixture; // NULL: Job, which the world itself knows
    const struct custom *custom;   // NULL: Job
};

// Read once; lives as long as the process. The first is Job.
const struct sim_kind *sim_kinds(size_t *count);

// The phase of an object, and when it finished (0: unknown).
wharf_phase_kind sim_phase(const struct sim_kind *kind, const struct json *object, int64_t *since_ns);
bool sim_finished(const struct sim_kind *kind, const struct json *object);

// The patch still due for the workload's status, given its mirror (NULL: none), or for the mirror; NULL: nothing. The
// text is owned by the caller.
char *sim_status_due(const struct sim_kind *kind, const struct json *workload, const struct json *mirror,
                     int64_t now_ns);
char *sim_mirror_due(const struct sim_kind *kind, const struct json *workload, const struct json *mirror,
                     int64_t now_ns);

// True if the adapter rejects it.
bool sim_refuses(const struct sim_kind *kind, const struct json *workload, int64_t now_ns);

// The objects that a workload, or a mirror, refers to. None if the adapter rejects it.
void sim_references(const struct sim_kind *kind, const struct json *workload, struct references *out);
