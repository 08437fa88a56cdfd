// SPDX-License-Identifier: Apache-2.0
// An adapter whose calls have no result, on demand: each test runs with a stage of that adapter.
#pragma once

#include "core/engine/aside/aside.h"
#include "core/engine/history/inspect.h"
#include "tests/support/kind_gate.h"
#include "tests/unit/engine/stage.h"

#define SOON (2 * CLOCK_SECOND)
#define LATER (70 * CLOCK_MINUTE) // what is set aside is tried again
#define ALL UINT32_MAX

static struct {
    enum call_trouble trouble;
    uint32_t functions; // a bit each
    const char *object; // the calls for objects with names that begin like this; NULL: for all
    uint32_t retry_after_ms;
    unsigned calls[ADAPTER_FUNCTIONS];
} script;

static inline bool answers(const struct adapter_invocation *asked) {
    const char *name = json_string_or(json_path((const struct json *)asked->workload, "metadata", "name", NULL), "");
    script.calls[asked->function]++;
    if (script.trouble == CALL_FINE || !(script.functions >> asked->function & 1) ||
        (script.object && !text_has_prefix(name, script.object)))
        return true;
    asked->call->answer->retry_after_ms = script.retry_after_ms;
    call_set_trouble(asked->call, script.trouble, "signal %d (Segmentation fault)", 11);
    return false;
}

static const struct adapter farm = {.name = "farm"};

static inline void begin(struct stage *stage) {
    memset(&script, 0, sizeof script);
    script.functions = ALL;
    stage_init(stage);
    stage->kind->adapter = &farm;
    kind_gate_add(stage->kind, answers);
}

static inline unsigned calls(void) {
    unsigned sum = 0;
    for (size_t f = 0; f < ADAPTER_FUNCTIONS; f++)
        sum += script.calls[f];
    return sum;
}

static enum call_trouble trouble; // of the present run of a test

static inline void fail_in(enum adapter_function function) {
    script.trouble = trouble;
    script.functions = 1U << function;
}

static inline void recover(struct stage *stage) {
    script.trouble = CALL_FINE;
    stage_run(stage, trouble == CALL_BROKEN ? LATER : SOON);
}

// As `wharf explain` says it; NULL: it waits for something else, or for nothing.
static inline const char *waits(struct stage *stage) {
    static struct explain_view view;
    stage_explain(stage, "a", &view);
    return view.workload.waiting == WAITING_ADAPTER ? view.waiting_text : NULL;
}

static inline void change(struct stage *stage, size_t cluster, const char *subresource, const char *patch) {
    assert_int_equal(stage_patch(stage, cluster, "a", subresource, patch), 200);
}

static inline const char *label(struct stage *stage, size_t cluster) {
    return json_string_or(json_path(stage_job(stage, cluster, "a"), "metadata", "labels", "team", NULL), "");
}

static inline void place(struct stage *stage) {
    stage_submit(stage, "a", "");
    stage_run(stage, SOON);
    assert_int_equal(stage_where(stage, "a"), 1);
    stage_runs(stage, 1, "a");
    stage_run(stage, SOON);
}

static inline void mark_made(struct stage *stage) {
    if (stage->ctx)
        assert_true(aside_mark(stage->engine, "jobs.batch", "default/a", stage->ctx,
                               "adapter farm, status: signal 11 (Segmentation fault)"));
}

struct test {
    const char *name;
    void (*check)(struct stage *stage);
};
#define TEST(name)                                                                                                     \
    { #name, name }

// With `trouble`.
static inline void run_on_stage(const struct test *test) {
    struct stage stage;
    begin(&stage);
    stage.made = mark_made;
    stage_start(&stage);
    test->check(&stage);
    stage_end(&stage);
}
