// SPDX-License-Identifier: Apache-2.0
// An adapter in a process of its own: the same answers, and what its end means for calls.
#include "core/adapter/process/process.h"
#include "core/adapter/services.h"
#include "core/base/text.h"
#include "core/json/pointer.h"
#include "tests/unit/adapter/adapters_stage.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS (30 * CLOCK_SECOND)

struct stage {
    struct adapters *adapters;
    const struct kind *kind;
    char *build, *program;
};

// The file of an adapter below the folder of the build; all isolated.
static void begin(struct stage *stage, const char *file, bool patient) {
    stage->build = text_directory(built);
    stage->program = text_format("%s/wharf-adapter", stage->build);
    AUTO_TEXT path = text_format("%s/%s", stage->build, file);
    AUTO_JSON settings = json_new_object();
    const struct adapter_wanted wanted = {.name = "tested", .file = path, .file_given = true, .settings = settings};
    const struct adapters_options options = {.controller_name = "wharf.dev/host",
                                             .wanted = &wanted,
                                             .n_wanted = 1,
                                             .isolation = ISOLATION_ALL,
                                             .program = stage->program,
                                             .patient = patient};
    struct problems problems = {.count = 0};
    assert_null(adapters_load(&options, &problems, &stage->adapters));
    if (problems.count > 0)
        fail_msg("%s", problems.list[0]);
    assert_int_equal(stage->adapters->count, 1);
    stage->kind = stage->adapters->kinds[0];
}

static void end(struct stage *stage) {
    adapters_free(stage->adapters);
    free(stage->build);
    free(stage->program);
}

static void begin_call(const struct stage *stage, struct adapter_call *call) {
    adapter_call_begin(call, &(struct call_context){.kind = &stage->kind->abi,
                                                    .given = stage->kind->given,
                                                    .now = clock_now(),
                                                    .version = "v1",
                                                    .object = "default/one"});
}

static struct json *object(const char *text) {
    struct json *value = NULL;
    assert_null(json_parse(text, strlen(text), &value));
    return value;
}

static struct adapter_state state_of(const struct stage *stage) {
    struct adapter_state state;
    assert_true(adapter_process_state(stage->adapters->list[0], &state));
    return state;
}

static void await_run(const struct stage *stage, uint64_t starts) {
    int64_t until_ns = clock_ticks() + PATIENCE_NS;
    while (state_of(stage).starts < starts || state_of(stage).state != ADAPTER_RUNS) {
        assert_true(clock_ticks() < until_ns);
        nanosleep(&(struct timespec){.tv_nsec = CLOCK_MS}, NULL);
    }
}

static void a_call_is_answered_by_another_process(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, "bad_adapters/acts.so", true);
    AUTO_JSON workload = object("{\"spec\":{\"act\":\"none\",\"n\":1.50},\"status\":{\"state\":\"done\"}}");
    AUTO_JSON mirror = json_copy(workload);
    struct adapter_call call;
    begin_call(&stage, &call);
    wharf_phase phase;
    assert_int_equal(adapter_phase(&call, workload, &phase), WHARF_OK);
    assert_int_equal(phase.phase, WHARF_SUCCEEDED);
    assert_int_equal(adapter_mirror(&call, workload, mirror), WHARF_OK);
    assert_string_equal(json_string(pointer_find(mirror, "/metadata/annotations/acts.wharf.dev~1was")), call.now);
    assert_string_equal(json_number_text(pointer_find(mirror, "/spec/n")), "1.50");
    adapter_call_end(&call);
    struct adapter_state now = state_of(&stage);
    assert_true(now.isolated && now.pid != getpid() && now.starts == 1 && now.ends == 0 && now.memory > 0);
    end(&stage);
    assert_int_equal(kill(now.pid, 0), -1);
}

// The descriptor of a library that did not mark it close-on-exec.
static void the_process_has_no_descriptor_of_the_host(void **state) {
    (void)state;
    struct stage stage;
    int leaked = dup2(STDERR_FILENO, 77);
    assert_int_equal(leaked, 77);
    begin(&stage, "bad_adapters/acts.so", true);
    AUTO_TEXT path = text_format("/proc/%d/fd", (int)state_of(&stage).pid);
    DIR *listed = opendir(path); // belongs to root: the process is not dumpable
    if (!listed)
        assert_int_equal(errno, EACCES);
    for (const struct dirent *entry; listed && (entry = readdir(listed));)
        assert_true(entry->d_name[0] == '.' || strtol(entry->d_name, NULL, 10) <= 4);
    if (listed)
        closedir(listed);
    end(&stage);
    close(leaked);
}

static void an_end_during_a_call_is_its_reason(void **state) {
    static const struct {
        const char *act, *reason;
    } cases[] = {{"crash", "signal 11 (Segmentation fault)"},
                 {"abort", "signal 6 (Aborted)"},
                 {"exit", "exit with status 0"},
                 {"loop", "more than 100 ms of processor time"},
                 {"overflow", "signal 11 (Segmentation fault)"}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct stage stage;
        begin(&stage, "bad_adapters/acts.so", true);
        AUTO_TEXT text = text_format("{\"spec\":{\"act\":\"%s\"}}", cases[i].act);
        AUTO_JSON workload = object(text);
        AUTO_JSON harmless = object("{\"spec\":{}}");
        struct adapter_call call;
        wharf_phase phase;
        begin_call(&stage, &call);
        assert_int_equal(adapter_phase(&call, workload, &phase), WHARF_RETRY);
        assert_int_equal(call.trouble, CALL_BROKEN);
        assert_string_equal(call.trouble_text, cases[i].reason);
        await_run(&stage, 2); // again at once
        assert_int_equal(adapter_phase(&call, harmless, &phase), WHARF_OK);
        assert_int_equal(call.trouble, CALL_FINE);
        adapter_call_end(&call);
        end(&stage);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_answered_by_another_process),
        cmocka_unit_test(the_process_has_no_descriptor_of_the_host),
        cmocka_unit_test(an_end_during_a_call_is_its_reason),
    };
    return cmocka_run_group_tests(tests, adapters_set_up, adapters_tear_down);
}
