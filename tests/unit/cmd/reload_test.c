// SPDX-License-Identifier: Apache-2.0
// Which changes of the configuration need a restart.
#include "core/cmd/run/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect(const char *former, const char *text, const char *needs_restart) {
    AUTO_BUFFER(found, 4096);
    reload_compare("wharf.yaml", former, text, &found);
    assert_string_equal(found.len > 0 ? found.data : "", needs_restart);
}

static void what_is_used_at_once_is_not_named(void **state) {
    (void)state;
    static const char *const live[] = {"placement: {policy: ordered}",
                                       "onWorkerLost: wait",
                                       "drainTimeout: 5m",
                                       "maxWorkloads: 3",
                                       "namespaces: {deny: [a]}",
                                       "fencing: {enabled: true}",
                                       "fencing: {withoutGuard: redispatch}",
                                       "fencing: {fenceAfter: 9m}"};
    for (size_t i = 0; i < sizeof live / sizeof *live; i++) {
        expect("origin: a\n", live[i], "origin");
        expect(live[i], "{}", "");
        expect("{}", live[i], "");
    }
}

static void what_needs_a_restart_is_named(void **state) {
    (void)state;
    expect("{}", "shards: 3\n", "shards");
    expect("leaderElection: {enabled: true}\n", "leaderElection: {enabled: false}\n", "leaderElection");
    expect("origin: a\nserve: {address: x}\n", "origin: b\n", "origin, serve");
    expect("fencing: {enabled: true}\n", "fencing: {enabled: true, namespace: other}\n", "fencing.namespace");
    expect("fencing: {namespace: a}\n", "{}", "fencing.namespace");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_used_at_once_is_not_named),
        cmocka_unit_test(what_needs_a_restart_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
