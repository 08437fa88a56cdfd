// SPDX-License-Identifier: Apache-2.0
// Thousands of Jobs, each with users who suspend, resume, scale and change it, its own controller in each worker, stale
// views, and workers that are lost at any point, with and without progress for further attempts, which a worker may
// refuse. No write is ever rejected, and no attempt has more of backoffLimit than the earlier ones left.
#include "tests/unit/plugins/job_controller.h"
#include "tests/unit/plugins/job_harness.h"
#include "tests/unit/plugins/job_rules.h"

#define SEEDS 2500
#define STEPS 70
#define PROGRESS "/metadata/annotations/wharf.dev~1progress"

struct history {
    struct random random;
    uint64_t seed;
    int64_t now_ns;
    uint32_t attempt;
    struct json *workload;
    struct controlled there; // .job is NULL: no mirror
    struct json *seen;       // the mirror as the host last saw it
    bool goes_on;            // this Job's attempts get progress
    bool owed, refuses;      // the mirror waits for it; its worker refuses it
    int64_t added_failed;    // failures of earlier attempts that the mirror does not count
    int64_t least_failed;    // failures when the mirror started
};

static size_t total_writes, total_updates, total_moves, total_promises, total_given, total_refused, ends[2];

static void broken(const struct history *h, const char *what, const char *rule, const struct json *new) {
    AUTO_TEXT workload = NULL;
    AUTO_TEXT mirror = NULL;
    AUTO_TEXT text = NULL;
    fail_msg("seed %llu, attempt %u: %s: %s\nworkload %s\nmirror %s\nnew %s", (unsigned long long)h->seed, h->attempt,
             what, rule, harness_text(h->workload, &workload), harness_text(h->seen, &mirror),
             harness_text(new, &text));
}

static struct json *spec_of(const struct history *h) {
    return json_get(h->workload, "spec");
}

static void set_spec(struct history *h, const char *key, struct json *value) {
    assert_true(json_set(spec_of(h), key, value));
}

static bool is_indexed(const struct history *h) {
    return json_get(spec_of(h), "completionMode");
}

static void begin(struct history *h, uint64_t seed) {
    *h = (struct history){.random = {seed}, .seed = seed, .now_ns = INT64_C(1772359200) * CLOCK_SECOND};
    h->workload = harness_json("{'metadata':{'name':'j','uid':'m'},'spec':{'suspend':false,'template':{'metadata':"
                               "{'labels':{'app':'a','controller-uid':'m'}},'spec':{'nodeSelector':{'n':'0'}}}}}");
    int64_t completions = 1 + (int64_t)random_below(&h->random, 7);
    int64_t parallelism = 1 + (int64_t)random_below(&h->random, (uint64_t)completions);
    set_spec(h, "completions", json_new_int64(completions));
    set_spec(h, "parallelism", json_new_int64(chance(&h->random, 50) ? completions : parallelism));
    set_spec(h, "backoffLimit", json_new_int64((int64_t)random_below(&h->random, 12)));
    set_spec(h, "suspend", json_new_bool(chance(&h->random, 30)));
    if (chance(&h->random, 60))
        set_spec(h, "completionMode", json_new_string("Indexed"));
    if (is_indexed(h) && chance(&h->random, 40))
        set_spec(h, "backoffLimitPerIndex", json_new_int64(1));
    h->goes_on = chance(&h->random, 70);
}

static void look(struct history *h) {
    json_free(h->seen);
    h->seen = h->there.job ? json_copy(h->there.job) : NULL;
}

static void lose(struct history *h) {
    json_free(h->there.job);
    h->there.job = NULL;
    look(h);
}

static int64_t failed_of(const struct json *job) {
    return rules_count(json_get(job, "status"), "failed");
}

// The mirror starts, with what earlier attempts left.
static void check_start(struct history *h, const struct json *mirror) {
    int64_t whole = json_int64(json_get(spec_of(h), "backoffLimit"), 0);
    int64_t left = json_int64(json_path(mirror, "spec", "backoffLimit", NULL), 0) - failed_of(mirror);
    h->least_failed = failed_of(h->workload);
    h->added_failed =
        text_equal(json_string(pointer_find(mirror, PROGRESS)), "given") ? 0 : h->least_failed - failed_of(mirror);
    if (left > whole - h->least_failed && left > 0)
        broken(h, "the mirror starts", "with more of backoffLimit than is left", mirror);
}

static void place(struct history *h) {
    h->attempt++;
    total_moves += h->attempt > 1;
    total_promises += h->attempt > 1 && (rules_true(json_get(h->workload, "status"), "FailureTarget") ||
                                         rules_true(json_get(h->workload, "status"), "SuccessCriteriaMet"));
    wharf_result result;
    AUTO_JSON lacks = h->attempt > 1 && h->goes_on ? harness_progress(h->workload, NULL, &result) : NULL;
    h->owed = lacks;
    h->refuses = chance(&h->random, 20);
    h->there = (struct controlled){.job = harness_marked_mirror(h->workload, h->attempt, h->owed ? "owed" : NULL),
                                   .suspended = -1,
                                   .old = chance(&h->random, 25),
                                   .skew_ns = ((int64_t)random_below(&h->random, 240) - 120) * CLOCK_SECOND};
    if (h->owed)
        assert_true(pointer_set(h->there.job, "/spec/suspend", json_new_bool(true)));
    else
        check_start(h, h->there.job);
    assert_true(pointer_set(h->there.job, "/spec/template/metadata/labels/controller-uid", json_new_string("w")));
    look(h);
}

static bool is_owed(const struct json *mirror) {
    return text_equal(json_string(pointer_find(mirror, PROGRESS)), "owed");
}

static void write_status(struct history *h) {
    if (is_owed(h->seen))
        return; // the mirror does not tell anything yet
    char now[CLOCK_RFC3339_MAX], later[CLOCK_RFC3339_MAX];
    clock_rfc3339(h->now_ns, now);
    clock_rfc3339(h->now_ns + CLOCK_MINUTE, later);
    AUTO_JSON status = harness_status(h->workload, h->seen, h->attempt, now);
    assert_non_null(status);
    const char *rule = rules_status(spec_of(h), json_get(h->workload, "status"), status);
    if (rule)
        broken(h, "the status is refused", rule, status);
    struct json *before = json_get(h->workload, "status");
    total_writes += !json_equal(before, status);
    assert_true(json_set(h->workload, "status", json_copy(status)));
    AUTO_JSON again = harness_status(h->workload, h->seen, h->attempt, later);
    if (!json_equal(again, status))
        broken(h, "the status is not stable", "it differs the second time", again);
}

// Writes what the mirror lacks into its status. True: nothing is lacking, or the worker refuses.
static bool gave(struct history *h) {
    wharf_result result;
    AUTO_JSON lacks = harness_progress(h->workload, h->seen, &result);
    assert_int_equal(result, WHARF_OK);
    if (!lacks || h->refuses)
        return true;
    AUTO_JSON before = json_copy(json_get(h->there.job, "status"));
    AUTO_JSON patch = json_new_object();
    assert_true(json_set(patch, "status", json_copy(lacks)) && patch_apply(&h->there.job, patch));
    AUTO_JSON after = json_copy(json_get(h->there.job, "status"));
    json_remove(after, "uncountedTerminatedPods");
    const char *rule = rules_status(json_get(h->there.job, "spec"), before, after);
    if (rule)
        broken(h, "the progress is refused", rule, after);
    controller_takes(&h->there);
    look(h);
    return false;
}

// The next step of a mirror with progress; the mark for the change that starts the mirror, or NULL.
static const char *give(struct history *h) {
    if (!gave(h))
        return NULL;
    wharf_result result;
    AUTO_JSON lacks = harness_progress(h->workload, h->seen, &result);
    *(lacks ? &total_refused : &total_given) += 1;
    return lacks ? "refused" : "given";
}

static void carry(struct history *h) {
    if (!h->there.job || !json_equal(h->seen, h->there.job))
        return; // a server would answer 409
    const char *mark = is_owed(h->seen) ? give(h) : NULL;
    if (is_owed(h->seen) && !mark)
        return;
    struct json *desired = harness_marked_update(h->workload, h->seen, mark);
    assert_non_null(desired);
    if (mark)
        check_start(h, desired);
    const char *rule = rules_spec(h->seen, desired);
    if (rule)
        broken(h, "the update is refused", rule, desired);
    bool resumes = json_bool(json_path(h->seen, "spec", "suspend", NULL), false) &&
                   !json_bool(json_path(desired, "spec", "suspend", NULL), false);
    const char *selector = "/spec/template/spec/nodeSelector";
    if (resumes && !json_equal(pointer_find(desired, selector), pointer_find(h->workload, selector)))
        broken(h, "the update", "resumes with an old template", desired);
    total_updates += !json_equal(h->seen, desired);
    json_free(h->there.job);
    h->there.job = desired;
    look(h);
}

static void user_scales(struct history *h) {
    int64_t n = 1 + (int64_t)random_below(&h->random, 8);
    set_spec(h, "parallelism", json_new_int64(n));
    if (is_indexed(h) && chance(&h->random, 60))
        set_spec(h, "completions", json_new_int64(n));
}

static void user_acts(struct history *h) {
    if (rules_finished(json_get(h->workload, "status")))
        return;
    if (rules_template_may_change(h->workload) && chance(&h->random, 50)) {
        char text[2] = {(char)('0' + random_below(&h->random, 10)), '\0'};
        assert_true(pointer_set(h->workload, "/spec/template/spec/nodeSelector/n", json_new_string(text)));
    }
    if (chance(&h->random, 40))
        user_scales(h);
    else
        set_spec(h, "suspend", json_new_bool(!json_bool(json_get(spec_of(h), "suspend"), false)));
}

static bool may_place(const struct history *h) {
    return !h->there.job && !rules_finished(json_get(h->workload, "status")) &&
           !json_bool(json_get(spec_of(h), "suspend"), false);
}

static void step(struct history *h) {
    h->now_ns += (int64_t)(1 + random_below(&h->random, 20)) * CLOCK_SECOND;
    uint64_t dice = random_below(&h->random, 100);
    bool ending = h->there.end == WILL_COMPLETE || h->there.end == WILL_FAIL;
    if (dice < 11)
        user_acts(h);
    else if (dice < 13 || (ending && dice < 18))
        lose(h);
    else if (dice < 55 && h->there.job)
        controller_turn(&h->there, &h->random, h->now_ns);
    else if (dice < 65)
        look(h);
    else if (dice < 78)
        carry(h);
    else if (dice < 85 && may_place(h))
        place(h);
    else
        write_status(h);
}

// Undisturbed, it must finish like its mirror, unless another outcome was already reported.
static void come_to_rest(struct history *h) {
    const struct json *status = json_get(h->workload, "status");
    bool promised = rules_true(status, "SuccessCriteriaMet") || rules_true(status, "FailureTarget");
    set_spec(h, "suspend", json_new_bool(false));
    for (int i = 0; i < 400 && !rules_finished(json_get(h->workload, "status")); i++) {
        h->now_ns += CLOCK_SECOND;
        if (may_place(h))
            place(h);
        controller_turn(&h->there, &h->random, h->now_ns);
        look(h);
        carry(h);
        write_status(h);
    }
    status = json_get(h->workload, "status");
    if (!rules_finished(status))
        broken(h, "the end", "is never reached", status);
    ends[rules_true(status, "Complete")]++;
    if (promised || !h->there.job)
        return;
    if (rules_true(status, "Complete") != (h->there.end == COMPLETED))
        broken(h, "the end", "is not that of the mirror", status);
    int64_t failed = h->added_failed + h->there.failed;
    if (rules_count(status, "failed") != (failed > h->least_failed ? failed : h->least_failed))
        broken(h, "the end", "failures were not counted once each", status);
}

static void no_history_leads_to_a_write_that_is_refused(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct history h;
        begin(&h, seed);
        for (int i = 0; i < STEPS; i++)
            step(&h);
        come_to_rest(&h);
        json_free(h.workload);
        json_free(h.there.job);
        json_free(h.seen);
    }
    print_message("%zu writes of a status, %zu of a mirror, %zu moves (%zu after the decision, %zu went on, %zu were "
                  "refused), %zu completed, %zu failed\n",
                  total_writes, total_updates, total_moves, total_promises, total_given, total_refused, ends[1],
                  ends[0]);
    // The histories covered enough cases.
    assert_true(total_writes > 8 * SEEDS && total_updates > SEEDS / 2 && total_moves > SEEDS / 10 &&
                total_promises > SEEDS / 100 && total_given > SEEDS / 20 && total_refused > SEEDS / 100 &&
                ends[0] > SEEDS / 10 && ends[1] > SEEDS / 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_history_leads_to_a_write_that_is_refused)};
    return cmocka_run_group_tests(tests, harness_load, NULL);
}
