// SPDX-License-Identifier: Apache-2.0
// One adapter in a process of its own, for tests.
#pragma once

#include "core/adapter/process/process.h"
#include "core/adapter/services.h"
#include "tests/unit/adapter/adapters_stage.h"

#define PATIENCE_NS (30 * CLOCK_SECOND)

struct stage {
    struct adapters *adapters;
    const struct kind *kind; // the first one
    char *program;
};

// One adapter, isolated and patient.
struct adapters_options stage_options(const struct adapter_wanted *wanted, const char *program);

// The file of an adapter below the folder of the build.
void stage_begin(struct stage *stage, const char *file, bool patient);
void stage_begin_limited(struct stage *stage, const char *file, bool patient, struct adapter_limits limits);
void stage_end(struct stage *stage);

void stage_call(const struct stage *stage, struct adapter_call *call);

struct adapter_state stage_state(const struct stage *stage);
void stage_await_run(const struct stage *stage, uint64_t starts); // so many at least
