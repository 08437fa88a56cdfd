// SPDX-License-Identifier: Apache-2.0
// Creation of a mirror, carried changes, and the copied status, for a kind without functions.
#include "core/base/text.h"
#include "core/json/pointer.h"
#include "tests/support/trains.h"
#include "tests/unit/quoted.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static wharf_result phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    (void)call;
    (void)object;
    out->phase = WHARF_ACTIVE;
    return WHARF_OK;
}

static const wharf_carried carried[] = {
    {.pointer = "/spec/replicas"},
    {.pointer = "/spec/suspend"},
    {.pointer = "/spec/groups/*/count"},
    {"/spec/template/labels", NULL, WHARF_CARRY_WHILE_SUSPENDED},
    {"/spec/pools/*/size", "poolName", WHARF_CARRY_ALWAYS},
    {.pointer = "/spec/inner"},
    {.pointer = NULL},
};

const wharf_kind train_given = {
    TRAIN_NAMES,
    .carried = carried,
    .removed = (const char *const[]){"/spec/ttl", "/spec/groups/*/managedBy", "/spec/inner/managedBy",
                                     "/metadata/labels/generated", NULL},
    .status_removed = (const char *const[]){"/status/private", NULL},
    .observed_generation = "/status/observedGeneration",
    .phase = phase,
};

// The record (record_test.c, carry_test.c) apart.
static void assert_json(const struct json *value, const char *expected) {
    AUTO_JSON wanted = parsed(expected);
    AUTO_JSON bare = json_copy(value);
    if (pointer_remove(bare, "/metadata/annotations/wharf.dev~1carried") &&
        json_size(json_path(bare, "metadata", "annotations", NULL)) == 0)
        pointer_remove(bare, "/metadata/annotations");
    if (json_equal(bare, wanted))
        return;
    AUTO_TEXT found = bare ? json_text(bare, NULL) : strdup("nothing");
    fail_msg("found %s, expected %s", found, expected);
}

// What the function answers; NULL: nothing to do.
static struct json *ask(train_question *question, const struct json *workload, const struct json *mirror,
                        uint32_t attempt) {
    const struct mirror_context about = {.workload = workload, .mirror = mirror, .attempt = attempt};
    struct json *out = NULL;
    assert_int_equal(train_ask(question, &about, &out, NULL, 0), WHARF_OK);
    return out;
}

#define WORKLOAD                                                                                                       \
    "{'apiVersion':'example.com/v1','kind':'Train','metadata':{'name':'t','namespace':'ns','uid':'u-1',"               \
    "'resourceVersion':'7','generation':3,'creationTimestamp':'2026-01-01T00:00:00Z','ownerReferences':[{'uid':'o'}]," \
    "'finalizers':['f'],'labels':{'team':'a','generated':'x','wharf.dev/uid':'forged'},'annotations':{'note':'n',"     \
    "'wharf.dev/cluster':'w1','wharf.dev/attempt':'2','kubectl.kubernetes.io/last-applied-configuration':'{}'}},"      \
    "'spec':{'managedBy':'wharf.dev/host','replicas':2,'ttl':5,'template':{'labels':{'l':'1'}},'groups':["             \
    "{'name':'a','count':1,'managedBy':'x'},{'name':'b','count':2}]},'status':{'old':true}}"

static struct json *mirror_of(const struct json *workload) {
    struct json *mirror = ask(mirror_make, workload, NULL, 2);
    assert_true(pointer_set(mirror, "/metadata/uid", json_new_string("m-1")));
    assert_true(pointer_set(mirror, "/metadata/resourceVersion", json_new_string("70")));
    assert_true(pointer_set(mirror, "/metadata/generation", json_new_int64(1)));
    return mirror;
}

static void set(struct json *object, const char *pointer, const char *value) {
    assert_true(pointer_set(object, pointer, parsed(value)));
}

static void a_mirror_is_a_copy_with_marks_and_without_private_fields(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    AUTO_JSON mirror = ask(mirror_make, workload, NULL, 2);
    assert_true(pointer_remove(mirror, "/metadata/annotations/wharf.dev~1rest"));
    assert_json(mirror,
                "{'apiVersion':'example.com/v1','kind':'Train','metadata':{'name':'t','namespace':'ns','labels':{"
                "'team':'a','wharf.dev/origin':'here','wharf.dev/uid':'u-1','wharf.dev/kind':'trains.example.com'},"
                "'annotations':{'note':'n','wharf.dev/"
                "attempt':'2'}},'spec':{'replicas':2,'template':{'labels':{'l':'1'}},'groups':[{'name':'a',"
                "'count':1},{'name':'b','count':2}]}}");
    assert_true(mirror_is_ours(train, "here", mirror));
    assert_false(mirror_is_ours(train, "there", mirror));
    assert_int_equal(mirror_attempt(mirror), 2);
}

static void marks_alone_do_not_make_a_mirror(void **state) {
    (void)state;
    static const struct {
        const char *pointer, *value;
    } cases[] = {
        {"/metadata/labels/wharf.dev~1origin", "'there'"},
        {"/metadata/labels/wharf.dev~1uid", "''"},
        {"/metadata/labels/wharf.dev~1kind", "'jobs.batch'"},
        {"/metadata/labels", "null"},
        {"/metadata/annotations/wharf.dev~1attempt", "'0'"},
        {"/metadata/annotations/wharf.dev~1attempt", "'banana'"},
        {"/metadata/annotations/wharf.dev~1attempt", "'-1'"},
        {"/metadata/annotations/wharf.dev~1attempt", "'4294967295'"},
        {"/metadata/ownerReferences", "[{'uid':'o','controller':true}]"},
    };
    AUTO_JSON workload = parsed(WORKLOAD);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_JSON mirror = mirror_of(workload);
        set(mirror, cases[i].pointer, cases[i].value);
        if (mirror_is_ours(train, "here", mirror))
            fail_msg("%s = %s is accepted as a mirror", cases[i].pointer, cases[i].value);
    }
    AUTO_JSON owned = mirror_of(workload);
    set(owned, "/metadata/ownerReferences", "[{'uid':'o'}]");
    assert_true(mirror_is_ours(train, "here", owned));
}

static void labels_and_annotations_of_another_type_are_taken_for_none(void **state) {
    (void)state;
    static const char *const values[] = {"['a','b']", "'text'", "7", "null"};
    for (size_t i = 0; i < COUNT(values); i++) {
        AUTO_JSON workload = parsed(WORKLOAD);
        set(workload, "/metadata/labels", values[i]);
        set(workload, "/metadata/annotations", values[i]);
        AUTO_JSON mirror = mirror_of(workload);
        assert_true(mirror_is_ours(train, "here", mirror));
        assert_null(ask(mirror_patch, workload, mirror, 2));
        mirror_carry_hash(workload, false);
    }
}

static void a_mirror_that_was_just_made_needs_no_patch(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    AUTO_JSON mirror = mirror_of(workload);
    assert_null(ask(mirror_patch, workload, mirror, 2));
}

#define UID_ONLY "'metadata':{'uid':'m-1'}"
static void a_change_of_the_workload_becomes_one_small_patch(void **state) {
    (void)state;
    static const struct {
        const char *what, *pointer, *value, *patch; // patch NULL: none
    } cases[] = {
        {"a field that is carried", "/spec/replicas", "5", "{'spec':{'replicas':5}," UID_ONLY "}"},
        {"a field that is not", "/spec/other", "5", NULL},
        {"a field that the adapter removes", "/spec/ttl", "9", NULL},
        {"a label", "/metadata/labels/team", "'b'", "{'metadata':{'uid':'m-1','labels':{'team':'b'}}}"},
        {"an annotation", "/metadata/annotations/note", "'m'", "{'metadata':{'uid':'m-1','annotations':{'note':'m'}}}"},
        {"a label that the adapter removes", "/metadata/labels/generated", "'y'", NULL},
        {"one of ours", "/metadata/annotations/wharf.dev~1cluster", "'w2'", NULL},
        {"one of a tool of ours", "/metadata/labels/job.wharf.dev~1x", "'w2'", NULL},
        {"kubectl's own", "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration", "'{1}'", NULL},
        {"while it runs: not yet", "/spec/template/labels/l", "'2'", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_JSON workload = parsed(WORKLOAD);
        AUTO_JSON mirror = mirror_of(workload);
        set(workload, cases[i].pointer, cases[i].value);
        AUTO_JSON patch = ask(mirror_patch, workload, mirror, 2);
        if (!cases[i].patch && patch)
            fail_msg("%s is carried", cases[i].what);
        if (cases[i].patch)
            assert_json(patch, cases[i].patch);
    }
}

static void what_cannot_be_carried_is_told_with_the_fields_names(void **state) {
    (void)state;
    static const struct {
        const char *pointer, *value, *told; // told NULL: nothing
    } cases[] = {
        {"/spec/other", "5", "/spec/other changed"},
        {"/spec/groups/1/image", "'new'", "/spec/groups/1/image changed"},
        {"/spec/groups", "[]", "/spec/groups changed"},
        {"/spec/replicas", "5", NULL},
        {"/spec/pools", "[{'poolName':'a','size':1}]", "/spec/pools changed"},
        {"/spec/template", "{'labels':{}}", NULL},
        {"/spec/template", "{'labels':{'l':'2'},'x':1}", "/spec/template/x changed"},
        {"/spec/ttl", "9", NULL},
        {"/spec/template/labels/l", "'2'", NULL}, // waits for the mirror to be suspended
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_JSON workload = parsed(WORKLOAD);
        AUTO_JSON mirror = mirror_of(workload);
        set(workload, cases[i].pointer, cases[i].value);
        AUTO_JSON patch = NULL;
        char said[512];
        const struct mirror_context about = {.workload = workload, .mirror = mirror, .attempt = 2};
        assert_int_equal(train_ask(mirror_patch, &about, &patch, said, sizeof said), WHARF_OK);
        if (!cases[i].told != !*said)
            fail_msg("%s: told: %s", cases[i].pointer, *said ? said : "nothing");
        if (cases[i].told && strncmp(said, cases[i].told, strlen(cases[i].told)) != 0)
            fail_msg("found %s, expected %s", said, cases[i].told);
    }
}

static void items_are_matched_by_the_member_that_the_kind_names(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    set(workload, "/spec/pools", "[{'poolName':'a','size':1},{'poolName':'b','size':2}]");
    AUTO_JSON mirror = mirror_of(workload);
    set(workload, "/spec/pools", "[{'poolName':'b','size':7}]");
    AUTO_JSON patch = ask(mirror_patch, workload, mirror, 2);
    assert_json(json_path(patch, "spec", "pools", NULL), "[{'poolName':'a','size':1},{'poolName':'b','size':7}]");
}

static void what_a_mirror_must_not_have_is_not_carried_with_the_rest_of_a_field(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    set(workload, "/spec/inner", "{'managedBy':'x','a':1}");
    AUTO_JSON mirror = mirror_of(workload);
    assert_json(json_path(mirror, "spec", "inner", NULL), "{'a':1}");
    assert_null(ask(mirror_patch, workload, mirror, 2));
    set(workload, "/spec/inner/a", "2");
    AUTO_JSON patch = ask(mirror_patch, workload, mirror, 2);
    assert_json(json_path(patch, "spec", "inner", NULL), "{'a':2}");
}

static void an_array_is_patched_only_as_it_was_seen(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    AUTO_JSON mirror = mirror_of(workload);
    set(workload, "/spec/groups/1/count", "9");
    AUTO_JSON patch = ask(mirror_patch, workload, mirror, 2);
    assert_json(patch, "{'spec':{'groups':[{'name':'a','count':1},{'name':'b','count':9}]},'metadata':{'uid':'m-1',"
                       "'resourceVersion':'70'}}");
}

static void items_are_matched_by_name_where_a_worker_has_put_others_before(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    AUTO_JSON mirror = mirror_of(workload);
    set(mirror, "/spec/groups", "[{'name':'injected'},{'name':'a','count':1},{'name':'b','count':2}]");
    assert_null(ask(mirror_patch, workload, mirror, 2));
    set(workload, "/spec/groups/0/count", "4");
    AUTO_JSON patch = ask(mirror_patch, workload, mirror, 2);
    assert_json(json_path(patch, "spec", "groups", NULL),
                "[{'name':'injected'},{'name':'a','count':4},{'name':'b','count':2}]");
}

static void what_the_workload_lost_is_taken_away_and_what_the_worker_added_stays(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    AUTO_JSON mirror = mirror_of(workload);
    set(mirror, "/metadata/labels/added", "'by the worker'");
    set(mirror, "/metadata/annotations/added", "'by the worker'");
    set(mirror, "/spec/defaulted", "true");
    assert_null(ask(mirror_patch, workload, mirror, 2));
    assert_true(pointer_remove(workload, "/metadata/labels/team"));
    AUTO_JSON patch = ask(mirror_patch, workload, mirror, 2);
    assert_json(patch, "{'metadata':{'uid':'m-1','labels':{'team':null}}}");
    // An earlier patch of the host may arrive late: what it restores is removed again.
    assert_true(patch_apply(&mirror, patch));
    assert_null(ask(mirror_patch, workload, mirror, 2));
    set(mirror, "/metadata/labels/team", "'a'");
    AUTO_JSON again = ask(mirror_patch, workload, mirror, 2);
    assert_json(again, "{'metadata':{'uid':'m-1','labels':{'team':null}}}");
}

static void what_may_change_while_suspended_waits_for_it_and_goes_along_with_the_end_of_it(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    AUTO_JSON mirror = mirror_of(workload);
    set(workload, "/spec/suspend", "true");
    set(workload, "/spec/template/labels/l", "'2'");
    AUTO_JSON first = ask(mirror_patch, workload, mirror, 2);
    assert_json(json_get(first, "spec"), "{'suspend':true}");
    assert_true(patch_apply(&mirror, first));
    AUTO_JSON second = ask(mirror_patch, workload, mirror, 2);
    assert_json(json_get(second, "spec"), "{'template':{'labels':{'l':'2'}}}");
    set(workload, "/spec/suspend", "false");
    AUTO_JSON third = ask(mirror_patch, workload, mirror, 2);
    assert_json(json_get(third, "spec"), "{'suspend':false,'template':{'labels':{'l':'2'}}}");
}

static void what_is_taken_away_while_suspended_is_known_from_before(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    AUTO_JSON mirror = mirror_of(workload);
    set(workload, "/spec/suspend", "true");
    AUTO_JSON first = ask(mirror_patch, workload, mirror, 2);
    assert_true(patch_apply(&mirror, first));
    assert_true(pointer_remove(workload, "/spec/template/labels"));
    AUTO_JSON second = ask(mirror_patch, workload, mirror, 2);
    assert_json(json_get(second, "spec"), "{'template':{'labels':null}}");
}

// The worker may have resumed the mirror since, and then rejects the change.
static void a_change_that_needs_a_suspended_mirror_is_written_only_as_it_was_seen(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    AUTO_JSON mirror = mirror_of(workload);
    set(workload, "/spec/suspend", "true");
    AUTO_JSON first = ask(mirror_patch, workload, mirror, 2);
    assert_null(json_path(first, "metadata", "resourceVersion", NULL));
    assert_true(patch_apply(&mirror, first));
    set(mirror, "/spec/template/labels/l", "'2'"); // by the worker: the record stays
    AUTO_JSON second = ask(mirror_patch, workload, mirror, 2);
    assert_json(second, "{'metadata':{'uid':'m-1','resourceVersion':'70'},'spec':{'template':{'labels':{'l':'1'}}}}");
}

static void marks_that_were_taken_off_are_put_back(void **state) {
    (void)state;
    static const char *const marks[] = {"/metadata/labels/wharf.dev~1origin", "/metadata/labels/wharf.dev~1uid",
                                        "/metadata/labels/wharf.dev~1kind", "/metadata/annotations/wharf.dev~1attempt"};
    AUTO_JSON workload = parsed(WORKLOAD);
    for (size_t i = 0; i < COUNT(marks); i++) {
        AUTO_JSON mirror = mirror_of(workload);
        AUTO_JSON whole = json_copy(mirror);
        assert_true(pointer_remove(mirror, marks[i]));
        AUTO_JSON patch = ask(mirror_patch, workload, mirror, 2);
        assert_non_null(patch);
        assert_true(json_equal(pointer_find(patch, marks[i]), pointer_find(whole, marks[i])));
    }
}

static void a_status_comes_back_without_what_belongs_to_the_worker(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    AUTO_JSON mirror = mirror_of(workload);
    set(mirror, "/status", "{'ready':1,'private':{'uids':['p']}}");
    AUTO_JSON patch = ask(train_status, workload, mirror, 2);
    assert_json(patch, "{'metadata':{'uid':'u-1','resourceVersion':'7'},'status':{'ready':1,'old':null}}");
    set(workload, "/status", "{'ready':1}");
    assert_null(ask(train_status, workload, mirror, 2));
}

static void a_null_in_a_status_counts_as_absent(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    AUTO_JSON mirror = mirror_of(workload);
    set(workload, "/status", "{'ready':1}");
    set(mirror, "/status", "{'ready':1,'none':null,'deep':{'none':null}}");
    AUTO_JSON patch = ask(train_status, workload, mirror, 2);
    assert_true(patch_apply(&workload, patch));
    assert_json(json_get(workload, "status"), "{'ready':1,'deep':{}}");
    assert_null(ask(train_status, workload, mirror, 2));
}

static void without_a_mirror_the_status_stays(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    assert_null(ask(train_status, workload, NULL, 0));
    assert_true(pointer_remove(workload, "/status"));
    assert_null(ask(train_status, workload, NULL, 0));
}

static void the_observed_generation_is_the_workloads_once_the_mirror_is_like_it(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    AUTO_JSON mirror = mirror_of(workload);
    set(mirror, "/status", "{'observedGeneration':1}");
    AUTO_JSON like = ask(train_status, workload, mirror, 2);
    assert_json(pointer_find(like, "/status/observedGeneration"), "3");
    set(workload, "/status", "{'observedGeneration':3}");
    set(workload, "/metadata/generation", "4");
    set(workload, "/spec/replicas", "9");
    assert_null(ask(train_status, workload, mirror, 2));
    set(mirror, "/spec/replicas", "9"); // carried, and not seen by its controller yet
    set(mirror, "/metadata/generation", "2");
    assert_null(ask(train_status, workload, mirror, 2));
    set(mirror, "/status", "{'observedGeneration':2}");
    AUTO_JSON seen = ask(train_status, workload, mirror, 2);
    assert_json(pointer_find(seen, "/status/observedGeneration"), "4");
    set(workload, "/spec/other", "1"); // cannot be carried
    assert_null(ask(train_status, workload, mirror, 2));
}

static void a_change_of_status_alone_leads_to_no_look_at_the_mirror(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    uint64_t hash = mirror_carry_hash(workload, false);
    set(workload, "/status", "{'ready':1}");
    set(workload, "/metadata/resourceVersion", "'8'");
    set(workload, "/metadata/annotations/wharf.dev~1cluster", "'w9'");
    assert_true(mirror_carry_hash(workload, false) == hash);
    static const char *const seen[] = {"/metadata/generation", "/metadata/labels/team", "/metadata/annotations/note",
                                       "/metadata/labels/new"};
    for (size_t i = 0; i < COUNT(seen); i++) {
        AUTO_JSON changed = parsed(WORKLOAD);
        set(changed, seen[i], i == 0 ? "4" : "'z'");
        if (mirror_carry_hash(changed, false) == hash)
            fail_msg("a change of %s is not seen", seen[i]);
    }
}

static void keys_of_ours_are_private(void **state) {
    (void)state;
    static const struct {
        const char *key;
        bool is_private;
    } cases[] = {
        {"wharf.dev/uid", true},
        {"job.wharf.dev/failed", true},
        {"notwharf.dev/uid", false},
        {"wharf.dev", false},
        {"wharf.dev.example/uid", false},
        {"example.com/wharf.dev", false},
        {"team", false},
        {"kubectl.kubernetes.io/last-applied-configuration", true},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (mirror_key_is_private(cases[i].key) != cases[i].is_private)
            fail_msg("%s", cases[i].key);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mirror_is_a_copy_with_marks_and_without_private_fields),
        cmocka_unit_test(marks_alone_do_not_make_a_mirror),
        cmocka_unit_test(labels_and_annotations_of_another_type_are_taken_for_none),
        cmocka_unit_test(a_mirror_that_was_just_made_needs_no_patch),
        cmocka_unit_test(a_change_of_the_workload_becomes_one_small_patch),
        cmocka_unit_test(what_cannot_be_carried_is_told_with_the_fields_names),
        cmocka_unit_test(items_are_matched_by_the_member_that_the_kind_names),
        cmocka_unit_test(what_a_mirror_must_not_have_is_not_carried_with_the_rest_of_a_field),
        cmocka_unit_test(an_array_is_patched_only_as_it_was_seen),
        cmocka_unit_test(items_are_matched_by_name_where_a_worker_has_put_others_before),
        cmocka_unit_test(what_the_workload_lost_is_taken_away_and_what_the_worker_added_stays),
        cmocka_unit_test(what_may_change_while_suspended_waits_for_it_and_goes_along_with_the_end_of_it),
        cmocka_unit_test(what_is_taken_away_while_suspended_is_known_from_before),
        cmocka_unit_test(a_change_that_needs_a_suspended_mirror_is_written_only_as_it_was_seen),
        cmocka_unit_test(marks_that_were_taken_off_are_put_back),
        cmocka_unit_test(a_status_comes_back_without_what_belongs_to_the_worker),
        cmocka_unit_test(a_null_in_a_status_counts_as_absent),
        cmocka_unit_test(without_a_mirror_the_status_stays),
        cmocka_unit_test(the_observed_generation_is_the_workloads_once_the_mirror_is_like_it),
        cmocka_unit_test(a_change_of_status_alone_leads_to_no_look_at_the_mirror),
        cmocka_unit_test(keys_of_ours_are_private),
    };
    return cmocka_run_group_tests(tests, train_setup, train_teardown);
}
