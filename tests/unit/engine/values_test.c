// SPDX-License-Identifier: Apache-2.0
// Values of earlier attempts in the pods of a mirror.
#include "core/engine/continuity/values.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"
#include "tests/support/trains.h"
#include "tests/unit/quoted.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const wharf_kind train_given = {
    TRAIN_NAMES,
    .carried =
        (const wharf_carried[]){{.pointer = "/spec/suspend"},
                                {"/spec/template/spec/containers/*/resources", NULL, WHARF_CARRY_WHILE_SUSPENDED},
                                {"/spec/template/metadata/labels", NULL, WHARF_CARRY_WHILE_SUSPENDED},
                                {.pointer = "/spec/carried"},
                                {.pointer = NULL}},
    .pods = (const wharf_pods[]){{.templates = "/spec/template"},
                                 {.templates = "/spec/roles/*/template", .fallback = "/spec/roles/*/other"},
                                 {.templates = "/spec/pods/*", .flags = WHARF_PODS_ARE_SPECS},
                                 {.templates = "/spec/carried"},
                                 {.templates = NULL}},
    .phases = (const wharf_phase_rule[]){{"/status/phase", "Done", .phase = WHARF_SUCCEEDED}, {.pointer = NULL}},
    WHARF_REFERENCES(((const wharf_reference[]){{.name = "/spec/driver", .flags = WHARF_REFERENCE_CONTAINERS},
                                                {.name = "/spec/steps/*", .flags = WHARF_REFERENCE_CONTAINERS},
                                                {.name = "/spec/bare", .flags = WHARF_REFERENCE_POD_SPECS},
                                                {.name = "/data", .of = "configmaps", .flags = WHARF_REFERENCE_PODS},
                                                {.name = NULL}})),
    WHARF_CONTINUITY(((const wharf_continuity[]){{"/status/checkpoint", "CHECKPOINT"},
                                                 {"/status/step", "STEP"},
                                                 {"/status/saved", "SAVED"},
                                                 {.pointer = NULL}})),
};

static struct json *workload_with(const char *annotations, const char *spec, const char *status) {
    AUTO_TEXT text =
        text_format("{'apiVersion':'example.com/v1','kind':'Train','metadata':{'name':'t','namespace':'ns',"
                    "'uid':'u-1','resourceVersion':'7','generation':3,'annotations':{%s}},"
                    "'spec':{%s},'status':{%s}}",
                    annotations, spec, status);
    return parsed(text);
}

static struct json *ask(train_question *question, const struct json *workload, const struct json *mirror,
                        uint32_t attempt) {
    const struct mirror_context about = {.workload = workload, .mirror = mirror, .attempt = attempt};
    struct json *out = NULL;
    assert_int_equal(train_ask(question, &about, &out, NULL, 0), WHARF_OK);
    return out;
}

static struct json *mirror_of(const struct json *workload, uint32_t attempt) {
    struct json *mirror = ask(mirror_make, workload, NULL, attempt);
    assert_true(pointer_set(mirror, "/metadata/uid", json_new_string("m-1")));
    assert_true(pointer_set(mirror, "/metadata/resourceVersion", json_new_string("70")));
    assert_true(pointer_set(mirror, "/metadata/generation", json_new_int64(1)));
    return mirror;
}

// The environment of the container, "NAME=value NAME2=value2".
static void assert_env(const struct json *object, const char *container, const char *expected) {
    AUTO_TEXT pointer = text_format("%s/env", container);
    AUTO_BUFFER(found, 65536);
    for (const struct json *one = json_first(pointer_find(object, pointer)); one; one = json_next(one)) {
        assert_int_equal(json_size(one), 2);
        buffer_printf(&found, "%s%s=%s", found.len > 0 ? " " : "", json_string_or(json_get(one, "name"), "?"),
                      json_string_or(json_get(one, "value"), "?"));
    }
    assert_string_equal(found.data ? found.data : "", expected);
}

static void set(struct json *object, const char *pointer, const char *value) {
    assert_true(pointer_set(object, pointer, parsed(value)));
}

#define POD "'template':{'spec':{'initContainers':[{'name':'i'}],'containers':[{'name':'a'},{'name':'b'}]}}"
#define FIRST "/spec/template/spec/containers/0"
#define ANNOTATION "/metadata/annotations/wharf.dev~1previous"
#define KEPT                                                                                                           \
    "'wharf.dev/previous':'{\\'CHECKPOINT\\':\\'s3://b/7\\',\\'STEP\\':12000,\\'SAVED\\':true,\\'uid\\':\\'u-1\\'}'"
#define ALL "WHARF_ATTEMPT=2 WHARF_PREVIOUS_CHECKPOINT=s3://b/7 WHARF_PREVIOUS_STEP=12000 WHARF_PREVIOUS_SAVED=true"

static void every_container_of_the_next_mirror_gets_the_values(void **state) {
    (void)state;
    AUTO_JSON workload = workload_with(KEPT,
                                       POD ",'roles':[{'template':{'spec':{'containers':[{'name':'r'}]}}},{'other':{'"
                                           "spec':{'containers':[{'name':'f'}]}}}],"
                                           "'pods':[{'containers':[{'name':'p'}]}]",
                                       "");
    AUTO_JSON mirror = mirror_of(workload, 2);
    assert_env(mirror, "/spec/template/spec/initContainers/0", ALL);
    assert_env(mirror, FIRST, ALL);
    assert_env(mirror, "/spec/template/spec/containers/1", ALL);
    assert_env(mirror, "/spec/roles/0/template/spec/containers/0", ALL);
    assert_env(mirror, "/spec/roles/1/other/spec/containers/0", ALL);
    assert_env(mirror, "/spec/pods/0/containers/0", ALL);
    assert_string_equal(object_annotation(mirror, MARK_PREVIOUS),
                        "{\"CHECKPOINT\":\"s3://b/7\",\"STEP\":12000,\"SAVED\":true}");
    assert_string_equal(object_annotation(mirror, MARK_ATTEMPT_ENV), "true");
    assert_null(pointer_find(workload, FIRST "/env"));
}

static void containers_that_only_references_name_get_them_too(void **state) {
    (void)state;
    AUTO_JSON workload = workload_with(
        KEPT, "'driver':{'image':'i'},'steps':[{'name':'s'},{'ref':{'name':'x'}}],'bare':{'containers':[{'name':'c'}]}",
        "");
    assert_true(pointer_set(workload, "/data", parsed("{'spec':{'containers':[{'name':'c'}]}}")));
    AUTO_JSON mirror = mirror_of(workload, 2);
    assert_env(mirror, "/spec/driver", ALL);
    assert_env(mirror, "/spec/steps/0", ALL);
    assert_env(mirror, "/spec/steps/1", "");
    assert_env(mirror, "/spec/bare/containers/0", ALL);
    assert_env(mirror, "/data/spec/containers/0", "");
}

static void the_first_attempt_gets_its_number_alone(void **state) {
    (void)state;
    AUTO_JSON workload = workload_with(KEPT, POD, "'checkpoint':'s3://b/8'");
    AUTO_JSON mirror = mirror_of(workload, 1);
    assert_env(mirror, FIRST, "WHARF_ATTEMPT=1");
    assert_null(object_annotation(mirror, MARK_PREVIOUS));
}

static void a_workload_and_the_configuration_may_decline(void **state) {
    (void)state;
    static const char *const annotations[] = {KEPT ",'wharf.dev/continue':'false'", KEPT};
    for (size_t i = 0; i < COUNT(annotations); i++) {
        AUTO_JSON workload = workload_with(annotations[i], POD, "'step':13000");
        train->starts_anew = i == 1;
        AUTO_JSON mirror = mirror_of(workload, 2);
        AUTO_BUFFER(out, 4096);
        AUTO_BUFFER(left_out, 4096);
        assert_true(values_keep(train, workload, 3, &out, &left_out));
        train->starts_anew = false;
        assert_env(mirror, FIRST, "WHARF_ATTEMPT=2");
        assert_null(object_annotation(mirror, MARK_PREVIOUS));
        assert_int_equal(out.len + left_out.len, 0);
    }
}

static void variables_of_the_workload_stay_and_come_after(void **state) {
    (void)state;
    AUTO_JSON workload = workload_with(
        KEPT,
        "'template':{'spec':{'containers':[{'name':'a','env':[{'name':'X','value':'x'},{'name':'WHARF_PREVIOUS_STEP',"
        "'value':'7'},{'name':'WHARF_ATTEMPT','value':'n'}]},{'name':'b','env':null},{'name':'c','env':[]},7,"
        "{'name':'d','env':'text'}],'initContainers':{'name':'i'}}},'roles':7,'pods':['text']",
        "");
    AUTO_JSON mirror = mirror_of(workload, 2);
    assert_env(
        mirror, FIRST,
        "WHARF_PREVIOUS_CHECKPOINT=s3://b/7 WHARF_PREVIOUS_SAVED=true X=x WHARF_PREVIOUS_STEP=7 WHARF_ATTEMPT=n");
    assert_env(mirror, "/spec/template/spec/containers/1", ALL);
    assert_env(mirror, "/spec/template/spec/containers/2", ALL);
    assert_string_equal(json_string(pointer_find(mirror, "/spec/template/spec/containers/4/env")), "text");
}

// A value is data. Kubernetes would replace "$(NAME)", and some controllers "{{name}}".
static void values_are_never_expanded(void **state) {
    (void)state;
    AUTO_JSON workload = workload_with("'wharf.dev/previous':'{\\'CHECKPOINT\\':\\'$(SECRET) $$ $\\',"
                                       "\\'STEP\\':\\'{{x}}\\',\\'SAVED\\':{\\'valueFrom\\':7},\\'OTHER\\':\\'x\\'}'",
                                       POD, "");
    AUTO_JSON mirror = mirror_of(workload, 2);
    assert_env(mirror, FIRST, "WHARF_ATTEMPT=2 WHARF_PREVIOUS_CHECKPOINT=$$(SECRET) $$$$ $$");
}

static void an_annotation_of_another_form_counts_as_none(void **state) {
    (void)state;
    static const char *const texts[] = {
        "", "{", "7", "[]", "null", "{\\'CHECKPOINT\\':null}", "{\\'STEP\\':\\'\\\\u0000\\'}"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        AUTO_TEXT annotation = text_format("'wharf.dev/previous':'%s'", texts[i]);
        AUTO_JSON workload = workload_with(annotation, POD, "");
        AUTO_JSON mirror = mirror_of(workload, 2);
        assert_env(mirror, FIRST, "WHARF_ATTEMPT=2");
        assert_null(object_annotation(mirror, MARK_PREVIOUS));
    }
}

// Mirrors that exist ----------------------------------------------------------------------------------------------

#define CARRIED "'carried':{'metadata':{},'spec':{'containers':[{'name':'k','image':'v1'}]}}"
#define CARRIED_FIRST "/spec/carried/spec/containers/0"

static void patches_leave_the_variables_alone(void **state) {
    (void)state;
    AUTO_JSON workload = workload_with(KEPT, POD "," CARRIED ",'suspend':true", "");
    AUTO_JSON mirror = mirror_of(workload, 2);
    assert_env(mirror, CARRIED_FIRST, ALL);
    assert_null(ask(mirror_patch, workload, mirror, 2));
    // A controller that reads and writes the whole object.
    set(mirror, "/spec/carried/metadata/creationTimestamp", "null");
    assert_null(ask(mirror_patch, workload, mirror, 2));
    // The next placement, or a user, changes the annotations.
    set(workload, ANNOTATION, "'{}'");
    set(workload, "/metadata/annotations/wharf.dev~1continue", "'false'");
    assert_null(ask(mirror_patch, workload, mirror, 2));
    set(workload, FIRST "/resources", "{'limits':{'cpu':'1'}}");
    set(workload, CARRIED_FIRST "/image", "'v2'");
    AUTO_JSON patch = ask(mirror_patch, workload, mirror, 2);
    assert_non_null(patch);
    assert_true(patch_apply(&mirror, patch));
    assert_env(mirror, FIRST, ALL);
    assert_env(mirror, CARRIED_FIRST, ALL);
    assert_string_equal(json_string(pointer_find(mirror, CARRIED_FIRST "/image")), "v2");
    assert_non_null(pointer_find(mirror, FIRST "/resources/limits"));
}

static void a_mirror_without_the_marks_gets_no_variables(void **state) {
    (void)state;
    AUTO_JSON workload = workload_with("'wharf.dev/continue':'true'", CARRIED, "");
    AUTO_JSON mirror = mirror_of(workload, 2);
    assert_true(pointer_remove(mirror, "/metadata/annotations/wharf.dev~1attempt-env"));
    assert_true(pointer_remove(mirror, CARRIED_FIRST "/env"));
    set(workload, "/metadata/annotations/wharf.dev~1attempt-env", "'true'");
    assert_null(ask(mirror_patch, workload, mirror, 2));
}

static void the_variables_are_no_difference_to_the_workload(void **state) {
    (void)state;
    AUTO_JSON workload =
        workload_with(KEPT, "'template':{'spec':{'containers':[{'name':'a','env':[{'name':'X','value':'x'}]}]}}", "");
    AUTO_JSON mirror = mirror_of(workload, 2);
    AUTO_JSON bare = mirror_of(workload, 1);
    assert_string_equal(object_annotation(mirror, MARK_IMMUTABLE), object_annotation(bare, MARK_IMMUTABLE));
    AUTO_BUFFER(fields, 4096);
    assert_int_equal(dropped_find(train, false, workload, mirror, &fields), 0);
    set(workload, "/spec/other", "7");
    AUTO_JSON patch = NULL;
    char said[512];
    const struct mirror_context about = {.workload = workload, .mirror = mirror, .attempt = 2};
    assert_int_equal(train_ask(mirror_patch, &about, &patch, said, sizeof said), WHARF_OK);
    assert_true(text_has_prefix(said, "/spec/other changed"));
}

// Placements ------------------------------------------------------------------------------------------------------

// The annotation that the placement of the second attempt writes; NULL: unchanged.
static char *kept(const struct json *workload, uint32_t attempt, const char *left_out) {
    AUTO_BUFFER(out, 65536);
    AUTO_BUFFER(names, 4096);
    assert_true(values_keep(train, workload, attempt, &out, &names));
    assert_string_equal(names.data ? names.data : "", left_out);
    if (out.len == 0)
        return NULL;
    AUTO_TEXT text = text_format("{%s}", out.data + 1);
    AUTO_JSON members = parsed(text);
    assert_int_equal(json_size(members), 1);
    return strdup(json_string_or(json_get(members, MARK_PREVIOUS), "null"));
}

static void assert_kept(const char *annotations, const char *status, const char *left_out, const char *expected) {
    AUTO_JSON workload = workload_with(annotations, POD, status);
    AUTO_TEXT found = kept(workload, 2, left_out);
    if (!found != !expected || (found && strcmp(found, expected) != 0))
        fail_msg("%s with %s: found %s, expected %s", status, annotations, found ? found : "nothing",
                 expected ? expected : "nothing");
}

static void a_placement_keeps_the_values_of_the_status(void **state) {
    (void)state;
    assert_kept("", "'checkpoint':'a','step':7,'saved':true,'other':1", "",
                "{\"CHECKPOINT\":\"a\",\"STEP\":7,\"SAVED\":true,\"uid\":\"u-1\"}");
    assert_kept(KEPT, "'step':12500", "",
                "{\"CHECKPOINT\":\"s3://b/7\",\"STEP\":12500,\"SAVED\":true,\"uid\":\"u-1\"}");
    assert_kept(KEPT, "", "", NULL); // an attempt that never was ready
    assert_kept(KEPT, "'checkpoint':'','step':0,'saved':false", "", NULL);
    assert_kept(KEPT, "'step':12000", "", NULL);
    assert_kept("", "", "", NULL);
    assert_kept("'wharf.dev/previous':'{\\'GONE\\':1}'", "", "", "null");
    assert_kept(KEPT, "'checkpoint':{'path':'a'},'step':'{{7}}'", "CHECKPOINT, STEP",
                "{\"SAVED\":true,\"uid\":\"u-1\"}");
    assert_kept("'wharf.dev/previous':'{\\'STEP\\':7,\\'uid\\':\\'u-0\\'}'", "'saved':true", "", // of a copied workload
                "{\"SAVED\":true,\"uid\":\"u-1\"}");
    assert_kept("'wharf.dev/continue':'false'", "'step':7", "", NULL);
    AUTO_JSON first = workload_with("", POD, "'step':7");
    assert_null(kept(first, 1, ""));
}

static char *letters(size_t count) {
    char *text = malloc(count + 1);
    assert_non_null(text);
    memset(text, 'x', count);
    text[count] = '\0';
    return text;
}

static void the_size_of_values_is_bounded(void **state) {
    (void)state;
    AUTO_TEXT most = letters(VALUES_ONE_MAX);
    AUTO_TEXT more = letters(VALUES_ONE_MAX + 1);
    AUTO_TEXT large = letters((size_t)128 << 10);
    AUTO_TEXT fits = text_format("'checkpoint':'%s'", most);
    AUTO_TEXT wide = text_format("'checkpoint':'%s','step':7", more);
    AUTO_TEXT expected = text_format("{\"CHECKPOINT\":\"%s\",\"uid\":\"u-1\"}", most);
    AUTO_TEXT note = text_format("'note':'%s'", large);
    assert_kept("", fits, "", expected);
    assert_kept("", wide, "CHECKPOINT", "{\"STEP\":7,\"uid\":\"u-1\"}");
    assert_kept(note, "'step':7", "all, since the workload's annotations are large", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_container_of_the_next_mirror_gets_the_values),
        cmocka_unit_test(containers_that_only_references_name_get_them_too),
        cmocka_unit_test(the_first_attempt_gets_its_number_alone),
        cmocka_unit_test(a_workload_and_the_configuration_may_decline),
        cmocka_unit_test(variables_of_the_workload_stay_and_come_after),
        cmocka_unit_test(values_are_never_expanded),
        cmocka_unit_test(an_annotation_of_another_form_counts_as_none),
        cmocka_unit_test(patches_leave_the_variables_alone),
        cmocka_unit_test(a_mirror_without_the_marks_gets_no_variables),
        cmocka_unit_test(the_variables_are_no_difference_to_the_workload),
        cmocka_unit_test(a_placement_keeps_the_values_of_the_status),
        cmocka_unit_test(the_size_of_values_is_bounded),
    };
    return cmocka_run_group_tests(tests, train_setup, train_teardown);
}
