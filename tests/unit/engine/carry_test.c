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
    free(record.held);
    if (result == WHARF_OK && !record.held) {
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

// `value` is true or false; in an annotation a string.
static const char *suspend_text(const char *value) {
    if (!value || train->abi.suspend[1] == 's')
        return value;
    return strcmp(value, "true") == 0 ? "'true'" : "'false'";
}

static void set_suspend(struct json *object, const char *value) {
    set(object, train->abi.suspend, suspend_text(value));
}

static void assert_suspend(const struct json *object, const char *value) {
    assert_at(object, train->abi.suspend, suspend_text(value));
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
    set_suspend(pair.workload, "true");
    AUTO_JSON patch = NULL;
    assert_int_equal(ask(&pair, false, &patch), WHARF_OK);
    AUTO_JSON wanted = parsed("{'metadata':{'uid':'m-1'}}");
    set_suspend(wanted, "true");
    assert_true(json_equal(patch, wanted) && pair.stops);
    assert_true(*pair.said);
}

static void after_a_refusal_what_stops_work_goes_alone(void **state) {
    (void)state;
    for (int theirs = 0; theirs < 2; theirs++) {
        AUTO_PAIR pair = {0};
        make(&pair, WORKLOAD);
        set_suspend(pair.mirror, theirs ? "true" : "false"); // once by somebody in the worker
        assert_int_equal(carry(&pair), theirs);
        set_suspend(pair.mirror, "false");
        set_suspend(pair.workload, "true");
        set(pair.workload, "/spec/replicas", "9");
        struct rejections whole = {.n = 0};
        pair.refused = &whole;
        AUTO_JSON patch = NULL;
        assert_int_equal(ask(&pair, false, &patch), WHARF_OK);
        pair.refused = NULL;
        AUTO_JSON wanted = parsed("{'metadata':{'uid':'m-1'}}");
        set_suspend(wanted, "true");
        assert_true(json_equal(patch, wanted) && pair.stops);
        assert_true(patch_apply(&pair.mirror, patch));
        AUTO_PAIR withdrawn = {json_copy(pair.workload), json_copy(pair.mirror), strdup(pair.known), .said = ""};
        assert_int_equal(carry(&pair), 1);
        assert_at(pair.mirror, "/spec/replicas", "9");
        set_suspend(pair.workload, "false");
        assert_int_equal(carry(&pair), 1);
        assert_suspend(pair.mirror, "false");
        // The rest is refused as well, and the user takes the suspension back by removing the field.
        assert_true(pointer_remove(withdrawn.workload, train->abi.suspend));
        assert_int_equal(carry(&withdrawn), 1);
        assert_suspend(withdrawn.mirror, NULL);
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
            set_suspend(pair.mirror, theirs ? "true" : "false"); // once by the worker's Kueue
            assert_int_equal(carry(&pair), theirs);
            set_suspend(pair.mirror, "false");
            assert_int_equal(carry(&pair), 0);
            set(pair.workload, "/spec/selector", "{'z':'2'}");
            assert_int_equal(carry(&pair), 0); // not while it runs
            pods_remain = true;
            set_suspend(pair.workload, "true");
            assert_int_equal(carry(&pair), 1);
            assert_suspend(pair.mirror, "true");
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
            set_suspend(pair.workload, "false");
            assert_int_equal(carry(&pair), 1);
            assert_suspend(pair.mirror, "false");
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
    set_suspend(pair.mirror, "true");
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
    set_suspend(pair.workload, "true");
    set(pair.workload, "/metadata/labels/later", "'1'");
    assert_int_equal(carry(&pair), 1);
    AUTO_TEXT carried = strdup(object_annotation(pair.mirror, MARK_CARRIED));
    assert_string_not_equal(before, carried);
    assert_true(pointer_set(pair.mirror, "/metadata/annotations/wharf.dev~1carried", json_new_string(before)));
    assert_int_equal(carry(&pair), 1);
    assert_string_equal(object_annotation(pair.mirror, MARK_CARRIED), carried);
    assert_true(pointer_set(pair.mirror, "/metadata/annotations/wharf.dev~1carried", json_new_string(before)));
    assert_true(pointer_remove(pair.workload, train->abi.suspend));
    assert_true(pointer_remove(pair.workload, "/metadata/labels/later"));
    assert_int_equal(carry(&pair), 1);
    assert_suspend(pair.mirror, NULL);
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
    set_suspend(quiet.mirror, "true"); // whoever suspended it, an earlier version resumed it
    assert_int_equal(carry(&quiet), 0);
}

// As a Kueue does: it suspends, and on admission writes selectors and a smaller number, and resumes.
static void what_somebody_in_the_worker_suspended_is_theirs(void **state) {
    (void)state;
    for (int restarted = 0; restarted < 2; restarted++) {
        AUTO_PAIR pair = {0};
        make(&pair, WORKLOAD);
        set(pair.mirror, "/metadata/labels/kueue.x-k8s.io~1queue-name", "'default'");
        set_suspend(pair.mirror, "true");
        assert_true(carry(&pair) <= 1); // the record
        assert_true(pair.suspended_in_worker);
        assert_suspend(pair.mirror, "true");
        if (restarted)
            forget(&pair);
        set(pair.mirror, "/spec/selector", "{'z':'1','flavor':'spot'}");
        set(pair.mirror, "/spec/replicas", "3");
        assert_int_equal(carry(&pair), 0);
        set_suspend(pair.mirror, "false");
        if (restarted)
            forget(&pair);
        assert_int_equal(carry(&pair), 0);
        assert_at(pair.mirror, "/spec/replicas", "3");
        set_suspend(pair.mirror, "true"); // evicted
        set(pair.mirror, "/spec/selector", "{'z':'1'}");
        set(pair.mirror, "/spec/replicas", "6");
        if (restarted)
            forget(&pair);
        assert_int_equal(carry(&pair), 0);
        set_suspend(pair.mirror, "false");
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
        set_suspend(pair.workload, "true");
        assert_int_equal(carry(&pair), 1);
        assert_suspend(pair.mirror, "true");
        if (restarted)
            forget(&pair);
        set_suspend(pair.workload, "false");
        assert_int_equal(carry(&pair), 1);
        assert_suspend(pair.mirror, "false");
    }
}

static void what_waits_in_a_queue_is_not_resumed_by_a_user_who_suspended_it_too(void **state) {
    (void)state;
    AUTO_PAIR pair = {0};
    make(&pair, WORKLOAD);
    set(pair.mirror, "/metadata/labels/kueue.x-k8s.io~1queue-name", "'default'");
    set_suspend(pair.mirror, "true");
    carry(&pair);
    set_suspend(pair.workload, "true");
    carry(&pair);
    set_suspend(pair.workload, "false");
    carry(&pair);
    assert_suspend(pair.mirror, "true");
}

static void what_a_person_suspended_in_the_worker_is_taken_over_by_one_who_suspends_the_workload(void **state) {
    (void)state;
    AUTO_PAIR pair = {0};
    make(&pair, WORKLOAD);
    set_suspend(pair.mirror, "true");
    carry(&pair);
    assert_true(pair.suspended_in_worker);
    assert_suspend(pair.mirror, "true");
    set_suspend(pair.workload, "true");
    carry(&pair);
    assert_false(pair.suspended_in_worker);
    set_suspend(pair.workload, "false");
    assert_int_equal(carry(&pair), 1);
    assert_suspend(pair.mirror, "false");
}

// Nobody resumes a mirror that another one has suspended meanwhile.
static void what_resumes_is_only_for_the_mirror_as_seen(void **state) {
    (void)state;
    AUTO_PAIR pair = {0};
    make(&pair, WORKLOAD);
    set_suspend(pair.workload, "true");
    assert_int_equal(carry(&pair), 1);
    set_suspend(pair.workload, "false");
    AUTO_JSON patch = NULL;
    assert_int_equal(ask(&pair, false, &patch), WHARF_OK);
    assert_at(patch, "/metadata/resourceVersion", "'70'");
}

static void a_suspension_in_the_worker_outlives_the_field_of_the_workload(void **state) {
    (void)state;
    AUTO_PAIR pair = {0};
    make(&pair, WORKLOAD);
    set_suspend(pair.workload, "false");
    assert_int_equal(carry(&pair), 1);
    set_suspend(pair.mirror, "true");
    carry(&pair);
    assert_true(pair.suspended_in_worker);
    assert_true(pointer_remove(pair.workload, train->abi.suspend));
    carry(&pair);
    assert_suspend(pair.mirror, "true");
}

static void no_other_piece_has_a_suspension_that_was_refused(void **state) {
    (void)state;
    AUTO_PAIR pair = {0};
    make(&pair, WORKLOAD);
    set_suspend(pair.workload, "true");
    set(pair.workload, "/metadata/labels/later", "'1'");
    struct rejections refused = {.n = 0};
    pair.refused = &refused;
    for (int asked = 0;; asked++) {
        AUTO_JSON patch = NULL;
        assert_int_equal(ask(&pair, false, &patch), WHARF_OK);
        assert_true((asked == 0) == (patch && pointer_find(patch, train->abi.suspend)));
        if (!patch)
            break;
        rejections_hold(&refused, mirror_patch_hash(patch));
    }
}

// The same kind, suspended by an annotation.
static int annotation_setup(void **state) {
    (void)state;
    static wharf_kind given;
    given = train_given;
    given.suspend = "/metadata/annotations/example.com~1stop";
    struct error *error = kind_check(&given, NULL, "wharf.dev/host", &train);
    error_free(error);
    return error ? 1 : 0;
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
        cmocka_unit_test(what_resumes_is_only_for_the_mirror_as_seen),
        cmocka_unit_test(a_suspension_in_the_worker_outlives_the_field_of_the_workload),
        cmocka_unit_test(no_other_piece_has_a_suspension_that_was_refused),
    };
    int failed = cmocka_run_group_tests(tests, train_setup, train_teardown);
    return failed + cmocka_run_group_tests_name("suspended by an annotation", tests, annotation_setup, train_teardown);
}
