// SPDX-License-Identifier: Apache-2.0
#include "core/serve/metrics/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOW_NS (1000 * CLOCK_SECOND)
#define LATE "wharf-fence-here: not renewed since 2026-03-01T12:00:00Z; its mirrors are stopped\n"

static void probes_say_what_is_missing(void **state) {
    (void)state;
    static const struct {
        const char *name;
        struct guard_status status;
        bool alive, ready;
        const char *text;
    } rows[] = {
        {"all is well", {.origin = "here", .reachable = true, .leases = 1, .at_ns = NOW_NS}, true, true, "ok\n"},
        {"no host",
         {.origin = "here", .reachable = true, .at_ns = NOW_NS},
         true,
         true,
         "ok\nno Lease of a host with origin here is there: nothing is guarded\n"},
        {"the host is lost",
         {.origin = "here", .reachable = true, .leases = 1, .missed = 1, .late = LATE, .at_ns = NOW_NS},
         true,
         true,
         "ok\n" LATE},
        {"nothing has answered",
         {.origin = "here", .at_ns = NOW_NS},
         true,
         false,
         "the API server has not answered: the guard can stop nothing\n"},
        {"it cannot be reached",
         {.origin = "here", .leases = 1, .late = LATE, .problem = "connection\nrefused", .at_ns = NOW_NS},
         true,
         false,
         "the API server has not answered: the guard can stop nothing: connection refused\n" LATE},
        {"it may not give a Lease back",
         {.origin = "here",
          .reachable = true,
          .leases = 1,
          .unreturned = "wharf-fence-here.0-of-2: it is\nforbidden",
          .at_ns = NOW_NS},
         true,
         true,
         "ok\na Lease of a former number of shards cannot be given back yet: wharf-fence-here.0-of-2: it is "
         "forbidden\n"},
        {"its thread hangs",
         {.origin = "here", .reachable = true, .leases = 1, .at_ns = NOW_NS - 61 * CLOCK_SECOND},
         false,
         false,
         "the guard has made no progress for 61 s\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_BUFFER(alive, 4096);
        AUTO_BUFFER(ready, 4096);
        if (guard_page_alive(&rows[i].status, NOW_NS, &alive) != rows[i].alive ||
            guard_page_ready(&rows[i].status, NOW_NS, &ready) != rows[i].ready)
            fail_msg("%s", rows[i].name);
        assert_string_equal(ready.data, rows[i].text);
    }
}

static void metrics_say_what_was_stopped(void **state) {
    (void)state;
    AUTO_BUFFER(out, 65536);
    struct guard_status status = {.reachable = true,
                                  .leases = 8,
                                  .missed = 2,
                                  .heard_wall_ns = 1772366400 * CLOCK_SECOND,
                                  .suspended = 3,
                                  .deleted = 1,
                                  .failures = 7};
    guard_page_metrics(&status, &(struct metrics_process){.resident_bytes = 5}, &out);
    static const char *const lines[] = {"wharf_guard_leases 8\n",
                                        "wharf_guard_leases_missed 2\n",
                                        "wharf_guard_heard_timestamp_seconds 1772366400\n",
                                        "wharf_guard_reachable 1\n",
                                        "wharf_guard_stopped_total{action=\"suspend\"} 3\n",
                                        "wharf_guard_stopped_total{action=\"delete\"} 1\n",
                                        "wharf_guard_stop_failures_total 7\n",
                                        "process_resident_memory_bytes 5\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(out.data, lines[i]))
            fail_msg("no %s in %s", lines[i], out.data);
    AUTO_BUFFER(without, 65536);
    guard_page_metrics(&(struct guard_status){.reachable = false}, &(struct metrics_process){.resident_bytes = 5},
                       &without);
    assert_null(strstr(without.data, "wharf_guard_heard_timestamp_seconds"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probes_say_what_is_missing),
        cmocka_unit_test(metrics_say_what_was_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
