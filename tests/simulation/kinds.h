// SPDX-License-Identifier: Apache-2.0
// The kinds that trials are about: all that the adapters of plugins/ bring and that have fixtures, and Job. What they
// say of an object is asked here, as the host asks it.
#ifndef WHARF_SIMULATION_KINDS_H
#define WHARF_SIMULATION_KINDS_H

#include "core/adapter/adapters.h"
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

// Read once, and as long as the process. The first is Job.
const struct sim_kind *sim_kinds(size_t *count);

// The phase of an object, and when it finished (0: not said).
wharf_phase_kind sim_phase(const struct sim_kind *kind, const struct json *object, int64_t *since_ns);
bool sim_finished(const struct sim_kind *kind, const struct json *object);

// What is still to be written to the workload's status, given its mirror (NULL: there is none), or to the mirror; NULL:
// nothing. The text is the caller's.
char *sim_status_due(const struct sim_kind *kind, const struct json *workload, const struct json *mirror,
                     int64_t now_ns);
char *sim_mirror_due(const struct sim_kind *kind, const struct json *workload, const struct json *mirror,
                     int64_t now_ns);

// True if the adapter makes no mirror of it.
bool sim_refuses(const struct sim_kind *kind, const struct json *workload, int64_t now_ns);

#endif
