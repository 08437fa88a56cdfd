// SPDX-License-Identifier: Apache-2.0
#include "core/host/host.h"

#include "core/base/text.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

static void a_snapshot_leaves_the_reload_message_to_the_host(void **state) {
    (void)state;
    struct source_note note = {.origin_text = "Secret wharf-system/w1", .name = "w1", .problem = "no kubeconfig"};
    struct reload_notes host = {.reload = {.at_wall_ns = 7, .success_wall_ns = 5}};
    assert_true(text_set(&host.reload.message, "placement.policy: needs a restart"));
    assert_true(source_notes_add(&host.sources, &host.n_sources, &note));

    for (int i = 0; i < 2; i++) { // a host takes a snapshot again and again
        struct reload_notes snapshot;
        assert_null(reload_notes_copy(&host, &snapshot));
        assert_ptr_not_equal(snapshot.reload.message, host.reload.message);
        assert_string_equal(snapshot.reload.message, "placement.policy: needs a restart");
        assert_int_equal(snapshot.reload.at_wall_ns, 7);
        assert_int_equal(snapshot.reload.success_wall_ns, 5);
        assert_int_equal(snapshot.n_sources, 1);
        assert_string_equal(snapshot.sources[0].problem, "no kubeconfig");
        reload_notes_free(&snapshot);
        assert_string_equal(host.reload.message, "placement.policy: needs a restart");
        assert_string_equal(host.sources[0].name, "w1");
    }
    reload_notes_free(&host);
}

static void a_copy_without_message_and_sources_is_empty(void **state) {
    (void)state;
    struct reload_notes host = {.reload = {.successful = true}}, snapshot;
    assert_null(reload_notes_copy(&host, &snapshot));
    assert_null(snapshot.reload.message);
    assert_int_equal(snapshot.n_sources, 0);
    assert_true(snapshot.reload.successful);
    reload_notes_free(&snapshot);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_snapshot_leaves_the_reload_message_to_the_host),
        cmocka_unit_test(a_copy_without_message_and_sources_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
