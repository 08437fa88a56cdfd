// SPDX-License-Identifier: Apache-2.0
// An adapter in a process of its own: the same answers, and what its end means for calls.
#include "core/adapter/references.h"
#include "core/base/text.h"
#include "core/isolate/sandbox_parts.h"
#include "core/json/pointer.h"
#include "tests/unit/adapter/process_stage.h"
#include "tests/unit/quoted.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void a_call_is_answered_by_another_process(void **state) {
    (void)state;
    struct stage stage;
    stage_begin(&stage, "bad_adapters/acts.so", true);
    AUTO_JSON workload = parsed("{\"spec\":{\"act\":\"none\",\"n\":1.50},\"status\":{\"state\":\"done\"}}");
    AUTO_JSON mirror = json_copy(workload);
    struct adapter_call call;
    stage_call(&stage, &call);
    wharf_phase phase;
    assert_int_equal(adapter_phase(&call, workload, &phase), WHARF_OK);
    assert_int_equal(phase.phase, WHARF_SUCCEEDED);
    assert_int_equal(adapter_mirror(&call, workload, mirror), WHARF_OK);
    assert_string_equal(json_string(pointer_find(mirror, "/metadata/annotations/acts.wharf.dev~1was")), call.now);
    assert_string_equal(json_number_text(pointer_find(mirror, "/spec/n")), "1.50");
    adapter_call_end(&call);
    struct adapter_state now = stage_state(&stage);
    assert_true(now.isolated && now.pid != getpid() && now.starts == 1 && now.ends == 0 && now.memory > 0);
    stage_end(&stage);
    assert_int_equal(kill(now.pid, 0), -1);
}

// One component is a Secret with this name; the wrapped pod needs the Secret "a". Several calls, since answers are used
// again where all that the function reads is the same.
static void references_are_changed_by_another_process(void **state) {
    (void)state;
    static const struct {
        const char *namespace_, *component;
        bool made;
    } cases[] = {
        {"team", "a", true}, {"team", "b", false}, {"team", "a", true}, {"other", "b", false}, {"other", "a", true}};
    struct stage stage;
    stage_begin(&stage, "adapters/appwrapper.so", true);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_TEXT text =
            text_format("{'metadata':{'name':'w%zu','namespace':'%s'},'spec':{'components':[{'template':{'kind':'"
                        "Secret','metadata':{"
                        "'name':'%s'}}},{'template':{'kind':'Pod','spec':{'imagePullSecrets':[{'name':'a'}]}}}]}}",
                        i, cases[i].namespace_, cases[i].component);
        AUTO_JSON workload = parsed(text);
        struct adapter_call call;
        struct references found;
        stage_call(&stage, &call);
        assert_int_equal(references_of(&call, workload, &found), WHARF_OK);
        assert_int_equal(call.trouble, CALL_FINE);
        assert_int_equal(found.count, 1);
        assert_string_equal(found.list[0]->namespace_, cases[i].namespace_);
        assert_string_equal(found.list[0]->where, "/spec/components/1/template/spec/imagePullSecrets/0/name");
        assert_int_equal(found.list[0]->is_made, cases[i].made);
        references_clear(&found);
        adapter_call_end(&call);
    }
    stage_end(&stage);
}

// The descriptor of a library that did not mark it close-on-exec.
static void the_process_has_no_descriptor_of_the_host(void **state) {
    (void)state;
    struct stage stage;
    int leaked = dup2(STDERR_FILENO, 77);
    assert_int_equal(leaked, 77);
    stage_begin(&stage, "bad_adapters/acts.so", true);
    AUTO_TEXT path = text_format("/proc/%d/fd", (int)stage_state(&stage).pid);
    DIR *listed = opendir(path); // belongs to root: the process is not dumpable
    if (!listed)
        assert_int_equal(errno, EACCES);
    for (const struct dirent *entry; listed && (entry = readdir(listed));)
        assert_true(entry->d_name[0] == '.' || strtol(entry->d_name, NULL, 10) <= 4);
    if (listed)
        closedir(listed);
    stage_end(&stage);
    close(leaked);
}

static void an_end_during_a_call_is_its_reason(void **state) {
    static const struct {
        const char *act, *reason;
        enum call_trouble trouble;
    } cases[] = {{"crash", "signal 11 (Segmentation fault)", CALL_BROKEN},
                 {"abort", "signal 6 (Aborted)", CALL_BROKEN},
                 {"exit", "exit with status 0", CALL_BROKEN},
                 {"loop", "more than 100 ms of processor time", CALL_LIMIT},
                 {"overflow", "signal 11 (Segmentation fault)", CALL_BROKEN}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct stage stage;
        stage_begin(&stage, "bad_adapters/acts.so", true);
        AUTO_TEXT text = text_format("{\"spec\":{\"act\":\"%s\"}}", cases[i].act);
        AUTO_JSON workload = parsed(text);
        AUTO_JSON harmless = parsed("{\"spec\":{}}");
        struct adapter_call call;
        wharf_phase phase;
        stage_call(&stage, &call);
        assert_int_equal(adapter_phase(&call, workload, &phase), WHARF_RETRY);
        assert_int_equal(call.trouble, cases[i].trouble);
        if (!SANDBOX_SANITIZED) // a sanitizer reports the crash itself, and exits
            assert_string_equal(call.trouble_text, cases[i].reason);
        stage_await_run(&stage, 2); // again at once
        assert_int_equal(adapter_phase(&call, harmless, &phase), WHARF_OK);
        assert_int_equal(call.trouble, CALL_FINE);
        adapter_call_end(&call);
        stage_end(&stage);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_answered_by_another_process),
        cmocka_unit_test(references_are_changed_by_another_process),
        cmocka_unit_test(the_process_has_no_descriptor_of_the_host),
        cmocka_unit_test(an_end_during_a_call_is_its_reason),
    };
    return cmocka_run_group_tests(tests, adapters_set_up, adapters_tear_down);
}
