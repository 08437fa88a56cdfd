// SPDX-License-Identifier: Apache-2.0
// Decisions about objects that workloads refer to: of decide() about a workload, and of copy_decide() about a copy.
#include "core/engine/dependencies/dependency.h"
#include "tests/unit/engine/decide_rows.h"

static void missing_objects_delay_the_placement(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"all are there", {NEW}, {{0}}, .type = ACTION_PLACE, .cluster = 1, .attempt = 1},
        {"a source is missing", {NEW}, {{0}}, .needs = NEEDS_MISSING, .blocked = true},
        {"not known yet", {NEW}, {{0}}, .needs = NEEDS_COMING, .blocked = true},
        {"the workers have not told yet",
         {NEW},
         {{0}},
         .needs = NEEDS_COMING,
         .needs_at_ns = LATER,
         .type = ACTION_WAIT,
         .at_ns = LATER},
        {"a suspended workload does not wait for them", {NEW, .suspended = true}, {{0}}, .needs = NEEDS_MISSING},
        {"a mirror goes on without them",
         {PLACED(1, 1)},
         {{MIRROR(1, 1)}},
         .needs = NEEDS_MISSING,
         .needs_there = NEEDS_LACKED},
        {"no other attempt either", {PLACED(1, 1), .gone_attempt = 1}, {{0}}, .needs = NEEDS_MISSING, .blocked = true},
        {"the worker is away for good",
         {PLACED(1, 1)},
         {{MIRROR(1, 1)}},
         .workers = "Lcc",
         .needs = NEEDS_MISSING,
         .blocked = true},
        {"the worker failed, and all are there",
         {PLACED(1, 1)},
         {{MIRROR(1, 1), .finished = true}},
         .elsewhere = ELSEWHERE_MOVES,
         .type = ACTION_PLACE,
         .cluster = 2,
         .attempt = 2},
        {"the worker failed, and a source is missing",
         {PLACED(1, 1), .status_due = true},
         {{MIRROR(1, 1), .finished = true}},
         .needs = NEEDS_MISSING,
         .elsewhere = ELSEWHERE_MOVES,
         .elsewhere_until_ns = LATER,
         .type = ACTION_WAIT,
         .at_ns = LATER},
        {"the worker failed, and a source is missing for long",
         {PLACED(1, 1), .status_due = true},
         {{MIRROR(1, 1), .finished = true}},
         .needs = NEEDS_MISSING,
         .elsewhere = ELSEWHERE_MOVES,
         .elsewhere_until_ns = NOW,
         .type = ACTION_STATUS},
    };
    check_rows(rows, COUNT(rows));
}

static void the_mirror_follows_its_objects(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"all are there", {PLACED(1, 1)}, {{0}}, .type = ACTION_CREATE, .cluster = 1, .attempt = 1},
        {"on their way", {PLACED(1, 1)}, {{0}}, .needs_there = NEEDS_COMING, .cluster = 1, .blocked = true},
        {"a source went meanwhile", {PLACED(1, 1)}, {{0}}, .needs = NEEDS_MISSING, .blocked = true},
        {"the worker cannot have them, and nothing was created",
         {PLACED(1, 1), .clean_attempt = 1},
         {{0}},
         .needs_there = NEEDS_LACKED,
         .type = ACTION_PLACE,
         .cluster = 1,
         .attempt = 2},
        {"the worker cannot have them, and a mirror may be there",
         {PLACED(1, 1)},
         {{0}},
         .needs_there = NEEDS_LACKED,
         .type = ACTION_VERIFY,
         .cluster = 1,
         .attempt = 1},
    };
    check_rows(rows, COUNT(rows));
}

#define COPIED .use = DEPENDENCY_COPIED, .now_ns = NOW
#define USABLE .usable = true, .held = true, .consents = true
#define WANTED .need = COPY_WANTED
#define USED COPIED, USABLE, WANTED
#define LONG_UNUSED .unused_ns = (NOW - 2 * CLOCK_MINUTE)
#define FREE COPIED, USABLE, LONG_UNUSED
#define SOURCE .source = PRESENCE_THERE
#define THERE(owner) .copy.state = COPY_##owner
#define GONE .copy.state = COPY_ABSENT

static void copies(void **state) {
    (void)state;
    static const struct {
        const char *what;
        struct copy_facts facts;
        enum copy_action_type type;
        int64_t at_ns;
    } rows[] = {
        {"is made", {USED, SOURCE, GONE}, COPY_CREATE, 0},
        {"is made later", {USED, SOURCE, GONE, .copy.not_before_ns = LATER}, COPY_WAIT, LATER},
        {"a request is in flight", {USED, SOURCE, GONE, .copy.busy = true}, COPY_NOTHING, 0},
        {"there is no source", {USED, GONE, .source = PRESENCE_ABSENT}, COPY_NOTHING, 0},
        {"the source is not known", {USED, GONE}, COPY_NOTHING, 0},
        {"the worker is not known", {USED, SOURCE}, COPY_NOTHING, 0},
        {"another host's, or away", {COPIED, WANTED, SOURCE, GONE}, COPY_NOTHING, 0},
        {"another host's shard", {COPIED, .usable = true, .consents = true, WANTED, SOURCE, GONE}, COPY_NOTHING, 0},
        {"another host's shard, which does not make it",
         {COPIED, .usable = true, .consents = true, .creates = true, WANTED, SOURCE, GONE},
         COPY_CREATE,
         0},
        {"another host's shard, another writer's",
         {COPIED, .usable = true, WANTED, SOURCE, THERE(OTHER)},
         COPY_COMPARE,
         0},
        {"another host's shard, old", {COPIED, .usable = true, WANTED, SOURCE, THERE(OWN)}, COPY_NOTHING, 0},
        {"the namespace there does not consent",
         {COPIED, .usable = true, .held = true, WANTED, SOURCE, GONE},
         COPY_NOTHING,
         0},
        {"only checked", {.use = DEPENDENCY_CHECKED, .now_ns = NOW, USABLE, WANTED, SOURCE, GONE}, COPY_NOTHING, 0},
        {"only for a workload without a placement", {COPIED, USABLE, .need = COPY_KEPT, SOURCE, GONE}, COPY_NOTHING, 0},
        {"is current", {USED, SOURCE, THERE(OWN), .current = true}, COPY_NOTHING, 0},
        {"is old", {USED, SOURCE, THERE(OWN)}, COPY_COMPARE, 0},
        {"cannot be changed", {USED, SOURCE, THERE(OWN), .copy.recreate = true}, COPY_DELETE, 0},
        {"the source is gone", {USED, THERE(OWN), .source = PRESENCE_ABSENT}, COPY_NOTHING, 0},
        {"another writer's", {USED, SOURCE, THERE(OTHER)}, COPY_COMPARE, 0},
        {"another writer's, equal",
         {USED, SOURCE, THERE(OTHER), .compared = true, .copy.equal = true},
         COPY_NOTHING,
         0},
        {"another writer's, other", {USED, SOURCE, THERE(OTHER), .compared = true}, COPY_NOTHING, 0},
        {"another host's", {USED, SOURCE, THERE(ORIGIN), .compared = true, .copy.equal = true}, COPY_COMPARE, 0},
        {"another host's, named",
         {USED, SOURCE, THERE(ORIGIN), .compared = true, .copy.equal = true, .copy.also_used = true},
         COPY_NOTHING,
         0},
        {"handed over", {USED, SOURCE, THERE(GIVEN), .compared = true, .copy.equal = true}, COPY_COMPARE, 0},
        {"no user", {FREE, THERE(OWN)}, COPY_DELETE, 0},
        {"no user for a moment",
         {COPIED, USABLE, THERE(OWN), .unused_ns = NOW - CLOCK_SECOND},
         COPY_WAIT,
         NOW - CLOCK_SECOND + DEPENDENCY_LINGER_NS},
        {"no user, another host's shard", {COPIED, LONG_UNUSED, THERE(OWN)}, COPY_NOTHING, 0},
        {"no user, another origin uses it", {FREE, THERE(OWN), .copy.shared = true}, COPY_LEAVE, 0},
        {"no user, another host's that names this one", {FREE, THERE(ORIGIN), .copy.also_used = true}, COPY_LEAVE, 0},
        {"no user, another host's", {FREE, THERE(ORIGIN)}, COPY_FORGET, 0},
        {"no user, another writer's", {FREE, THERE(OTHER)}, COPY_FORGET, 0},
        {"no user, another writer's, needed elsewhere", {FREE, THERE(OTHER), .need = COPY_REMEMBERED}, COPY_NOTHING, 0},
        {"nothing there", {FREE, GONE}, COPY_FORGET, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct copy_action action = copy_decide(&rows[i].facts);
        if (action.type != rows[i].type || action.at_ns != rows[i].at_ns)
            fail_msg("%s: action %d at %lld", rows[i].what, action.type, (long long)action.at_ns);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_objects_delay_the_placement),
        cmocka_unit_test(the_mirror_follows_its_objects),
        cmocka_unit_test(copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
