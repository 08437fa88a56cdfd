// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/adapter/process_stage.h"

#include "tests/support/built.h"

#include <time.h>

struct adapters_options stage_options(const struct adapter_wanted *wanted, const char *program) {
    return (struct adapters_options){.config_path = "file",
                                     .controller_name = "wharf.dev/host",
                                     .wanted = wanted,
                                     .n_wanted = 1,
                                     .isolation = ISOLATION_ALL,
                                     .program = program,
                                     .patient = true};
}

void stage_begin(struct stage *stage, const char *file, bool patient) {
    stage_begin_limited(stage, file, patient, (struct adapter_limits){.cpu_ns = 0});
}

void stage_begin_limited(struct stage *stage, const char *file, bool patient, struct adapter_limits limits) {
    stage->program = built_path("wharf-adapter");
    AUTO_TEXT path = built_path(file);
    AUTO_JSON settings = json_new_object();
    const struct adapter_wanted wanted = {.name = "tested", .file = path, .file_given = true, .settings = settings};
    struct adapters_options options = stage_options(&wanted, stage->program);
    options.limits = limits;
    options.patient = patient;
    struct problems problems = {.count = 0};
    assert_null(adapters_load(&options, &problems, &stage->adapters));
    if (problems.count > 0)
        fail_msg("%s", problems.list[0]);
    assert_int_equal(stage->adapters->count, 1);
    stage->kind = stage->adapters->kinds[0];
}

void stage_end(struct stage *stage) {
    adapters_free(stage->adapters);
    free(stage->program);
}

void stage_call(const struct stage *stage, struct adapter_call *call) {
    adapter_call_begin(call, &(struct call_context){.kind = &stage->kind->abi,
                                                    .given = stage->kind->given,
                                                    .now = clock_now(),
                                                    .version = "v1",
                                                    .object = "default/one"});
}

struct adapter_state stage_state(const struct stage *stage) {
    struct adapter_state state;
    assert_true(adapter_process_state(stage->adapters->list[0], &state));
    return state;
}

void stage_await_run(const struct stage *stage, uint64_t starts) {
    int64_t until_ns = clock_ticks() + PATIENCE_NS;
    while (stage_state(stage).starts < starts || stage_state(stage).state != ADAPTER_RUNS) {
        assert_true(clock_ticks() < until_ns);
        nanosleep(&(struct timespec){.tv_nsec = CLOCK_MS}, NULL);
    }
}
