// SPDX-License-Identifier: Apache-2.0
// The record of a mirror: wide objects, overwritten records, and mirrors that are suspended in the worker.
#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"
#include "tests/support/trains.h"
#include "tests/unit/quoted.h"

#include <stdio.h>

static bool pods_remain; // of the mirror that was suspended

// Takes another selector only once the pods are gone, as a TrainJob its patches.
static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    (void)workload;
    if (pods_remain)
        services_table()->take(call, desired, mirror, "/spec/selector");
    return WHARF_OK;
}

const wharf_kind train_given = {
    TRAIN_NAMES,
    .update = update,
    .carried = (const wharf_carried[]){{.pointer = "/spec/replicas"},
                                       {.pointer = "/spec/limit"},
                                       {.pointer = "/spec/cluster"},
                                       {.pointer = "/spec/suspend"},
                                       {.pointer = "/spec/selector", .when = WHARF_CARRY_WHILE_SUSPENDED},
                                       {.pointer = NULL}},
    .phases = (const wharf_phase_rule[]){{"/status/phase", "Done", .phase = WHARF_SUCCEEDED}, {.pointer = NULL}},
};

// A workload, its mirror as a server keeps it, and what the host remembers.
struct pair {
    struct json *workload, *mirror;
    char *known;
    bool alone, suspended_in_worker, stops;
    struct rejections *refused;
    char said[512];
};

static void pair_end(struct pair *pair) {
    json_free(pair->workload);
    json_free(pair->mirror);
    free(pair->known);
}
#define AUTO_PAIR __attribute__((cleanup(pair_end))) struct pair

static wharf_result ask(struct pair *pair, bool make, struct json **out) {
    struct mirror_record record = {.known = pair->known, .refused = pair->refused};
    const struct mirror_context about = {
        .workload = pair->workload, .mirror = make ? NULL : pair->mirror, .attempt = 1, .record = &record};
    wharf_result result = train_ask(make ? mirror_make : mirror_patch, &about, out, pair->said, sizeof pair->said);
    pair->alone = *out && record.alone;
    pair->suspended_in_worker = record.suspended_in_worker;
    pair->stops = record.stops;
    if (result == WHARF_OK) {
        assert_non_null(record.next);
        free(pair->known);
        pair->known = record.next;
    }
    return result;
}

static void make(struct pair *pair, const char *workload) {
    pair->workload = parsed(workload);
    assert_int_equal(ask(pair, true, &pair->mirror), WHARF_OK);
    assert_true(pointer_set(pair->mirror, "/metadata/uid", json_new_string("m-1")));
    assert_true(pointer_set(pair->mirror, "/metadata/resourceVersion", json_new_string("70")));
}

#define NAMED "'apiVersion':'example.com/v1','kind':'Train','metadata':{'name':'t','namespace':'ns','uid':'u-1'"
#define WORKLOAD                                                                                                       \
    "{" NAMED ",'labels':{'team':'a'}},'spec':{'managedBy':'wharf.dev/host','replicas':6,'selector':{'z':'1'}}}"

static void set(struct json *object, const char *pointer, const char *value) {
    assert_true(pointer_set(object, pointer, parsed(value)));
}

// Carries until there is nothing to carry; how many patches it took.
static int carry(struct pair *pair) {
    int patches = 0;
    for (;; patches++) {
        AUTO_JSON patch = NULL;
        assert_int_equal(ask(pair, false, &patch), WHARF_OK);
        if (!patch)
            return patches;
        assert_true(patches < 5);
        assert_true(patch_apply(&pair->mirror, patch));
    }
}

static void assert_at(const struct json *object, const char *pointer, const char *expected) {
    AUTO_JSON wanted = expected ? parsed(expected) : NULL;
    const struct json *found = pointer_find(object, pointer);
    if (json_equal(found, wanted))
        return;
    AUTO_TEXT text = found ? json_text(found, NULL) : strdup("nothing");
    fail_msg("%s: found %s, expected %s", pointer, text, expected ? expected : "nothing");
}

static void add_labels(struct json *object, int count) {
    for (int i = 0; i < count; i++) {
        char pointer[64];
        snprintf(pointer, sizeof pointer, "/metadata/labels/example.com~1label-%d", i);
        assert_true(pointer_set(object, pointer, json_new_string("")));
    }
}

#define CLUSTER "{'head':{'image':'a'},'groups':[{'name':'small','replicas':1,'suspend':false}]}"
// As a controller writes it that reads and writes the whole object.
#define REWRITTEN "{'head':{'image':'a','metadata':{}},'groups':[{'name':'small','replicas':1,'scaleStrategy':{}}]}"

static void a_value_that_the_controller_wrote_in_its_own_words_is_left_alone(void **state) {
    (void)state;
    AUTO_PAIR pair = {0};
    make(&pair, "{" NAMED "},'spec':{'managedBy':'wharf.dev/host','cluster':" CLUSTER "}}");
    set(pair.mirror, "/spec/cluster", REWRITTEN);
    assert_int_equal(carry(&pair), 0);
    assert_at(pair.mirror, "/spec/cluster", REWRITTEN);
    set(pair.workload, "/spec/cluster/groups/0/replicas", "2");
    assert_int_equal(carry(&pair), 1);
    assert_at(pair.mirror, "/spec/cluster/groups/0/replicas", "2");
}

static void a_value_that_somebody_changed_is_set_again(void **state) {
    (void)state;
    static const char *const others[] = {
        "{'head':{'image':'b'},'groups':[{'name':'small','replicas':1,'suspend':false}]}",
        "{'head':{'image':'a'},'groups':[{'name':'small','replicas':1,'suspend':true}]}",
        "{'head':{'image':'a'},'groups':[{'name':'small','suspend':false}]}",
        "{'head':{'image':'a','more':{'b':1}},'groups':[{'name':'small','replicas':1}]}",
        "{'head':{'image':'a'},'groups':[]}",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        AUTO_PAIR pair = {0};
        make(&pair, "{" NAMED "},'spec':{'managedBy':'wharf.dev/host','cluster':" CLUSTER "}}");
        set(pair.mirror, "/spec/cluster", others[i]);
        assert_int_equal(carry(&pair), 1);
        assert_at(pair.mirror, "/spec/cluster", CLUSTER);
    }
}

// A user's change is carried, although it is about members that are empty.
static void a_user_may_add_and_remove_what_is_empty(void **state) {
    (void)state;
    AUTO_PAIR pair = {0};
    make(&pair, "{" NAMED "},'spec':{'managedBy':'wharf.dev/host','cluster':{'volume':{'emptyDir':{}}}}}");
    set(pair.workload, "/spec/cluster", "{'volume':{}}");
    assert_int_equal(carry(&pair), 1);
    assert_at(pair.mirror, "/spec/cluster", "{'volume':{}}");
    set(pair.workload, "/spec/cluster", "{'volume':{'emptyDir':{}}}");
    assert_int_equal(carry(&pair), 1);
    assert_at(pair.mirror, "/spec/cluster", "{'volume':{'emptyDir':{}}}");
}

static void ten_thousand_labels_are_carried_and_taken_away(void **state) {
    (void)state;
    AUTO_PAIR pair = {0};
    make(&pair, WORKLOAD);
    add_labels(pair.workload, 10000);
    assert_int_equal(carry(&pair), 1);
    assert_int_equal(json_size(pointer_find(pair.mirror, "/metadata/labels")), 10000 + 1 + 3);
    assert_true(strlen(object_annotation(pair.mirror, MARK_CARRIED)) < 100 * 1024);
    set(pair.mirror, "/metadata/labels/added", "'by the worker'");
    assert_true(pointer_remove(pair.workload, "/metadata/labels"));
    assert_int_equal(carry(&pair), 1);
    assert_int_equal(json_size(pointer_find(pair.mirror, "/metadata/labels")), 1 + 3);
}

static void what_no_api_server_would_take_is_refused_with_the_reason(void **state) {
    (void)state;
    AUTO_PAIR labels = {.workload = parsed(WORKLOAD)};
    add_labels(labels.workload, 40000);
    assert_int_equal(ask(&labels, true, &labels.mirror), WHARF_REFUSED);
    assert_non_null(strstr(labels.said, "a record of 4000"));
    AUTO_PAIR notes = {0};
    make(&notes, WORKLOAD);
    AUTO_TEXT large = malloc(262100);
    memset(large, 'x', 262099);
    large[262099] = '\0';
    assert_true(pointer_set(notes.workload, "/metadata/annotations/large", json_new_string(large)));
    AUTO_JSON patch = NULL;
    assert_int_equal(ask(&notes, false, &patch), WHARF_REFUSED);
    assert_non_null(strstr(notes.said, "262104 of the workload's"));
}

static void what_stops_work_is_not_held_up_by_what_is_refused(void **state) {
    (void)state;
    AUTO_PAIR pair = {0};
    make(&pair, WORKLOAD);
    AUTO_TEXT large = malloc(262100);
    memset(large, 'x', 262099);
    large[262099] = '\0';
    assert_true(pointer_set(pair.workload, "/metadata/annotations/large", json_new_string(large)));
    set(pair.workload, "/spec/suspend", "true");
    AUTO_JSON patch = NULL;
    assert_int_equal(ask(&pair, false, &patch), WHARF_OK);
    AUTO_JSON wanted = parsed("{'spec':{'suspend':true},'metadata':{'uid':'m-1'}}");
    assert_true(json_equal(patch, wanted) && pair.stops);
    assert_true(*pair.said);
}

static void after_a_refusal_what_stops_work_goes_alone(void **state) {
    (void)state;
    for (int theirs = 0; theirs < 2; theirs++) {
        AUTO_PAIR pair = {0};
        make(&pair, WORKLOAD);
        set(pair.mirror, "/spec/suspend", theirs ? "true" : "false"); // once by somebody in the worker
        assert_int_equal(carry(&pair), theirs);
        set(pair.mirror, "/spec/suspend", "false");
        set(pair.workload, "/spec/suspend", "true");
        set(pair.workload, "/spec/replicas", "9");
        struct rejections whole = {.n = 0};
        pair.refused = &whole;
        AUTO_JSON patch = NULL;
        assert_int_equal(ask(&pair, false, &patch), WHARF_OK);
        pair.refused = NULL;
        AUTO_JSON wanted = parsed("{'spec':{'suspend':true},'metadata':{'uid':'m-1'}}");
        assert_true(json_equal(patch, wanted) && pair.stops);
        assert_true(patch_apply(&pair.mirror, patch));
        AUTO_PAIR withdrawn = {json_copy(pair.workload), json_copy(pair.mirror), strdup(pair.known), .said = ""};
        assert_int_equal(carry(&pair), 1);
        assert_at(pair.mirror, "/spec/replicas", "9");
        set(pair.workload, "/spec/suspend", "false");
        assert_int_equal(carry(&pair), 1);
        assert_at(pair.mirror, "/spec/suspend", "false");
        // The rest is refused as well, and the user takes the suspension back by removing the field.
        assert_true(pointer_remove(withdrawn.workload, "/spec/suspend"));
        assert_int_equal(carry(&withdrawn), 1);
        assert_at(withdrawn.mirror, "/spec/suspend", NULL);
    }
}

static void forget(struct pair *pair) {
    free(pair->known);
    pair->known = NULL;
}

// The record says what was carried: it does not change, and is not written, for what the adapter keeps back.
static void what_the_adapter_keeps_back_is_carried_later_and_not_on_record_before(void **state) {
    (void)state;
    for (int restarted = 0; restarted < 2; restarted++)
        for (int theirs = 0; theirs < 2; theirs++) {
            AUTO_PAIR pair = {0};
            make(&pair, WORKLOAD);
            set(pair.mirror, "/spec/suspend", theirs ? "true" : "false"); // once by the worker's Kueue
            assert_int_equal(carry(&pair), theirs);
            set(pair.mirror, "/spec/suspend", "false");
            assert_int_equal(carry(&pair), 0);
            set(pair.workload, "/spec/selector", "{'z':'2'}");
            assert_int_equal(carry(&pair), 0); // not while it runs
            pods_remain = true;
            set(pair.workload, "/spec/suspend", "true");
            assert_int_equal(carry(&pair), 1);
            assert_at(pair.mirror, "/spec/suspend", "true");
            assert_at(pair.mirror, "/spec/selector", "{'z':'1'}");
            if (restarted)
                forget(&pair);
            assert_int_equal(carry(&pair), 0);
            pods_remain = false;
            assert_int_equal(carry(&pair), 1);
            assert_at(pair.mirror, "/spec/selector", "{'z':'2'}");
            if (restarted)
                forget(&pair);
            set(pair.mirror, "/spec/selector", "{'z':'2','flavor':'spot'}");
            assert_int_equal(carry(&pair), theirs ? 0 : 1); // from then on it is as carried as any other
            set(pair.workload, "/spec/suspend", "false");
            assert_int_equal(carry(&pair), 1);
            assert_at(pair.mirror, "/spec/suspend", "false");
        }
}

// A value that both sides have already: only a mirror that was suspended in the worker needs it on record.
static void a_value_that_the_mirror_has_already_is_put_on_record_with_the_next_change(void **state) {
    (void)state;
    AUTO_PAIR pair = {0};
    make(&pair, WORKLOAD);
    set(pair.mirror, "/spec/replicas", "9");
    set(pair.workload, "/spec/replicas", "9");
    for (int i = 0; i < 2; i++)
        assert_int_equal(carry(&pair), 0);
    set(pair.mirror, "/metadata/labels/kueue.x-k8s.io~1queue-name", "'default'");
    set(pair.mirror, "/spec/suspend", "true");
    assert_int_equal(carry(&pair), 1);
    assert_true(pair.suspended_in_worker);
    forget(&pair);
    set(pair.mirror, "/spec/replicas", "3");
    assert_int_equal(carry(&pair), 0);
    assert_at(pair.mirror, "/spec/replicas", "3");
    set(pair.workload, "/spec/replicas", "3"); // from now on each new value is
    assert_int_equal(carry(&pair), 1);
    forget(&pair);
    set(pair.mirror, "/spec/replicas", "2");
    assert_int_equal(carry(&pair), 0);
    assert_at(pair.mirror, "/spec/replicas", "2");
}

// As Tekton's syncMetadata does: annotations from before are written over those of now.
static void a_record_that_somebody_sets_back_is_repaired_and_not_believed(void **state) {
    (void)state;
    AUTO_PAIR pair = {0};
    make(&pair, WORKLOAD);
    AUTO_TEXT before = strdup(object_annotation(pair.mirror, MARK_CARRIED));
    set(pair.workload, "/spec/suspend", "true");
    set(pair.workload, "/metadata/labels/later", "'1'");
    assert_int_equal(carry(&pair), 1);
    AUTO_TEXT carried = strdup(object_annotation(pair.mirror, MARK_CARRIED));
    assert_string_not_equal(before, carried);
    assert_true(pointer_set(pair.mirror, "/metadata/annotations/wharf.dev~1carried", json_new_string(before)));
    assert_int_equal(carry(&pair), 1);
    assert_string_equal(object_annotation(pair.mirror, MARK_CARRIED), carried);
    assert_true(pointer_set(pair.mirror, "/metadata/annotations/wharf.dev~1carried", json_new_string(before)));
    assert_true(pointer_remove(pair.workload, "/spec/suspend"));
    assert_true(pointer_remove(pair.workload, "/metadata/labels/later"));
    assert_int_equal(carry(&pair), 1);
    assert_at(pair.mirror, "/spec/suspend", NULL);
    assert_at(pair.mirror, "/metadata/labels/later", NULL);
}

static void a_repair_is_about_the_record_alone(void **state) {
    (void)state;
    AUTO_PAIR pair = {0};
    make(&pair, WORKLOAD);
    assert_true(pointer_remove(pair.mirror, "/metadata/annotations/wharf.dev~1carried"));
    AUTO_JSON patch = NULL;
    assert_int_equal(ask(&pair, false, &patch), WHARF_OK);
    assert_true(pair.alone);
    assert_int_equal(json_size(patch), 1);
    assert_int_equal(json_size(pointer_find(patch, "/metadata/annotations")), 1);
}

// Written with the next change, so that a new version of the host does not write to each mirror that there is.
static void a_record_of_an_earlier_version_is_kept_until_there_is_something_to_carry(void **state) {
    (void)state;
    AUTO_PAIR pair = {0};
    make(&pair, WORKLOAD);
    free(pair.known);
    pair.known = NULL;
    set(pair.mirror, "/metadata/annotations/wharf.dev~1carried",
        "'/metadata/labels/team /spec/replicas /spec/selector /metadata/labels/old'");
    set(pair.mirror, "/metadata/labels/old", "'1'");
    assert_int_equal(carry(&pair), 1); // which takes the label away
    assert_at(pair.mirror, "/metadata/labels/old", NULL);
    AUTO_PAIR quiet = {0};
    make(&quiet, WORKLOAD);
    free(quiet.known);
    quiet.known = NULL;
    set(quiet.mirror, "/metadata/annotations/wharf.dev~1carried",
        "'/metadata/labels/team /spec/replicas /spec/selector'");
    assert_int_equal(carry(&quiet), 0);
    assert_int_equal(carry(&quiet), 0);
    set(quiet.mirror, "/spec/suspend", "true"); // whoever suspended it, an earlier version resumed it
    assert_int_equal(carry(&quiet), 0);
}

// As a Kueue does: it suspends, and on admission writes selectors and a smaller number, and resumes.
static void what_somebody_in_the_worker_suspended_is_theirs(void **state) {
    (void)state;
    for (int restarted = 0; restarted < 2; restarted++) {
        AUTO_PAIR pair = {0};
        make(&pair, WORKLOAD);
        set(pair.mirror, "/metadata/labels/kueue.x-k8s.io~1queue-name", "'default'");
        set(pair.mirror, "/spec/suspend", "true");
        assert_true(carry(&pair) <= 1); // the record
        assert_true(pair.suspended_in_worker);
        assert_at(pair.mirror, "/spec/suspend", "true");
        if (restarted)
            forget(&pair);
        set(pair.mirror, "/spec/selector", "{'z':'1','flavor':'spot'}");
        set(pair.mirror, "/spec/replicas", "3");
        assert_int_equal(carry(&pair), 0);
        set(pair.mirror, "/spec/suspend", "false");
        if (restarted)
            forget(&pair);
        assert_int_equal(carry(&pair), 0);
        assert_at(pair.mirror, "/spec/replicas", "3");
        set(pair.mirror, "/spec/suspend", "true"); // evicted
        set(pair.mirror, "/spec/selector", "{'z':'1'}");
        set(pair.mirror, "/spec/replicas", "6");
        if (restarted)
            forget(&pair);
        assert_int_equal(carry(&pair), 0);
        set(pair.mirror, "/spec/suspend", "false");
        set(pair.mirror, "/spec/replicas", "4");
        assert_int_equal(carry(&pair), 0);
        // The workload's own value changes, and of that field alone.
        set(pair.workload, "/spec/limit", "9");
        assert_int_equal(carry(&pair), 1);
        assert_at(pair.mirror, "/spec/limit", "9");
        assert_at(pair.mirror, "/spec/replicas", "4");
        set(pair.workload, "/spec/replicas", "8");
        assert_int_equal(carry(&pair), 1);
        assert_at(pair.mirror, "/spec/replicas", "8");
        // A user suspends and resumes it while it runs: the host carries both.
        set(pair.workload, "/spec/suspend", "true");
        assert_int_equal(carry(&pair), 1);
        assert_at(pair.mirror, "/spec/suspend", "true");
        if (restarted)
            forget(&pair);
        set(pair.workload, "/spec/suspend", "false");
        assert_int_equal(carry(&pair), 1);
        assert_at(pair.mirror, "/spec/suspend", "false");
    }
}

static void what_waits_in_a_queue_is_not_resumed_by_a_user_who_suspended_it_too(void **state) {
    (void)state;
    AUTO_PAIR pair = {0};
    make(&pair, WORKLOAD);
    set(pair.mirror, "/metadata/labels/kueue.x-k8s.io~1queue-name", "'default'");
    set(pair.mirror, "/spec/suspend", "true");
    carry(&pair);
    set(pair.workload, "/spec/suspend", "true");
    carry(&pair);
    set(pair.workload, "/spec/suspend", "false");
    carry(&pair);
    assert_at(pair.mirror, "/spec/suspend", "true");
}

static void what_a_person_suspended_in_the_worker_is_taken_over_by_one_who_suspends_the_workload(void **state) {
    (void)state;
    AUTO_PAIR pair = {0};
    make(&pair, WORKLOAD);
    set(pair.mirror, "/spec/suspend", "true");
    carry(&pair);
    assert_true(pair.suspended_in_worker);
    assert_at(pair.mirror, "/spec/suspend", "true");
    set(pair.workload, "/spec/suspend", "true");
    carry(&pair);
    assert_false(pair.suspended_in_worker);
    set(pair.workload, "/spec/suspend", "false");
    assert_int_equal(carry(&pair), 1);
    assert_at(pair.mirror, "/spec/suspend", "false");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_that_the_controller_wrote_in_its_own_words_is_left_alone),
        cmocka_unit_test(a_value_that_somebody_changed_is_set_again),
        cmocka_unit_test(a_user_may_add_and_remove_what_is_empty),
        cmocka_unit_test(ten_thousand_labels_are_carried_and_taken_away),
        cmocka_unit_test(what_no_api_server_would_take_is_refused_with_the_reason),
        cmocka_unit_test(what_stops_work_is_not_held_up_by_what_is_refused),
        cmocka_unit_test(after_a_refusal_what_stops_work_goes_alone),
        cmocka_unit_test(what_the_adapter_keeps_back_is_carried_later_and_not_on_record_before),
        cmocka_unit_test(a_value_that_the_mirror_has_already_is_put_on_record_with_the_next_change),
        cmocka_unit_test(a_record_that_somebody_sets_back_is_repaired_and_not_believed),
        cmocka_unit_test(a_repair_is_about_the_record_alone),
        cmocka_unit_test(a_record_of_an_earlier_version_is_kept_until_there_is_something_to_carry),
        cmocka_unit_test(what_somebody_in_the_worker_suspended_is_theirs),
        cmocka_unit_test(what_waits_in_a_queue_is_not_resumed_by_a_user_who_suspended_it_too),
        cmocka_unit_test(what_a_person_suspended_in_the_worker_is_taken_over_by_one_who_suspends_the_workload),
    };
    return cmocka_run_group_tests(tests, train_setup, train_teardown);
}
