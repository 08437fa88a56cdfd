// SPDX-License-Identifier: Apache-2.0
// Guesses from CRDs: those of the shipped kinds are the data of the shipped adapters.
#include "core/cmd/adapter_new/write.h"
#include "tests/support/shipped.h"

#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define CRDS "tests/unit/cmd/crds/"
#define REAL "../shared/crds/" // the projects' own, where they are

static void must(struct error *error) {
    if (error)
        fail_msg("%s", error_text(error));
}

static void guess(const char *path, const char *kind, struct description *out) {
    *out = (struct description){.name = "sample"};
    must(guess_kind(path, kind, out));
}

static const char *text_of(const struct description *d, enum member member) {
    const struct guess_row *row = description_row(d, member);
    return row ? row->text : NULL;
}

static bool has_row(const struct description *d, enum member member, const char *text) {
    for (size_t i = 0; i < d->members[member].count; i++)
        if (strcmp(d->members[member].list[i].text, text) == 0)
            return true;
    return false;
}

// -- the shipped kinds --

// Known differences, with the reason.
static const struct {
    const char *kind, *pointer;
} differences[] = {
    {"AppWrapper", "/spec/components/*/podSetInfos"},               // Kueue's field: no name says so
    {"TrainJob", "/spec/runtimePatches"},                           // Kueue's field: no name says so
    {"AppWrapper", "workload.codeflare.dev/appwrapper-controller"}, // in no description
    {"MPIJob", "/spec/runPolicy/cleanPodPolicy"}, // only the controller's source says that it is read at the end
    {"MPIJob", "v1"},                             // of another operator's CRD
    {"RayJob", "/spec/jobId"},
    {"RayJob", "/spec/shutdownAfterJobFinishes"},
    {"RayJob", "/spec/ttlSecondsAfterFinished"}, // deletes the RayCluster, not the RayJob
    {"RayJob", "/spec/deletionStrategy"},
    {"JobSet", "/spec/coordinator"},
    {"JobSet", "/spec/replicatedJobs/*/template/spec/completions"},
};

// Fields of embedded objects and annotations, of which a schema says nothing.
static bool is_beyond_schema(const char *pointer) {
    return text_has_prefix(pointer, "/metadata/") || text_has_prefix(pointer, "/spec/components/*/template/");
}

static bool is_known_difference(const char *kind, const char *pointer) {
    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++)
        if (strcmp(differences[i].kind, kind) == 0 && strcmp(differences[i].pointer, pointer) == 0)
            return true;
    return false;
}

static void check_text(const wharf_kind *kind, const struct description *d, enum member member, const char *shipped) {
    const char *guessed = text_of(d, member);
    if (!text_equal(guessed, shipped) && !(shipped && is_known_difference(kind->kind, shipped)))
        fail_msg("%s: %s: guessed %s, the adapter has %s", kind->kind, write_member_name(member),
                 guessed ? guessed : "nothing", shipped ? shipped : "nothing");
}

static void check_texts(const wharf_kind *kind, const struct description *d, enum member member,
                        const char *const *shipped) {
    for (; shipped && *shipped; shipped++)
        if (!has_row(d, member, *shipped) && !is_beyond_schema(*shipped) && !is_known_difference(kind->kind, *shipped))
            fail_msg("%s: %s: did not guess %s", kind->kind, write_member_name(member), *shipped);
}

// The fields of a template are one row.
static bool is_carried(const struct description *d, const wharf_carried *carried) {
    for (size_t i = 0; i < d->members[CARRIED].count; i++) {
        const struct guess_row *row = &d->members[CARRIED].list[i];
        if (row->is_template ? text_has_prefix(carried->pointer, row->text) : strcmp(carried->pointer, row->text) == 0)
            return row->number == carried->when && text_equal(row->value, carried->key);
    }
    return false;
}

static void check_pods(const wharf_kind *kind, const struct description *d) {
    const struct guess_rows *rows = &d->members[PODS];
    size_t count = 0;
    for (const wharf_pods *pods = kind->pods; pods && pods->templates; pods++, count++) {
        size_t i = 0, j = 0;
        while (i < rows->count && strcmp(rows->list[i].text, pods->templates) != 0)
            i++;
        assert_true(i < rows->count);
        const char *const *guessed = rows->list[i].counts;
        for (; pods->counts && pods->counts[j]; j++)
            assert_string_equal(guessed[j], pods->counts[j]);
        assert_true(!guessed || !guessed[j]);
    }
    assert_int_equal(rows->count, count);
}

static void check_phases(const wharf_kind *kind, const struct description *d) {
    for (const wharf_phase_rule *rule = kind->phases; rule && rule->pointer; rule++) {
        bool found = false;
        for (size_t i = 0; i < d->members[PHASES].count; i++) {
            const struct guess_row *row = &d->members[PHASES].list[i];
            found |= strcmp(row->text, rule->pointer) == 0 && strcmp(row->value, rule->value) == 0 &&
                     row->number == rule->phase;
        }
        bool usual = strstr("Complete Completed Succeeded Failed Suspended", rule->value);
        if (!found && usual && rule->phase != WHARF_PENDING)
            fail_msg("%s: phases: did not guess %s %s", kind->kind, rule->pointer, rule->value);
    }
}

static void check_kind(const wharf_kind *kind, const struct description *d) {
    check_text(kind, d, GROUP, kind->group);
    check_text(kind, d, KIND, kind->kind);
    check_text(kind, d, PLURAL, kind->plural);
    check_text(kind, d, MANAGED_BY, kind->managed_by);
    check_text(kind, d, MANAGED_BY_BUILTIN, kind->managed_by_builtin);
    check_text(kind, d, SUSPEND, kind->suspend);
    check_text(kind, d, SUSPEND_VALUE, kind->suspend_value);
    check_text(kind, d, OBSERVED_GENERATION, kind->observed_generation);
    check_text(kind, d, CONDITION_TIME, kind->condition_time);
    check_text(kind, d, FINISHED_AT, kind->finished_at);
    check_texts(kind, d, VERSIONS, kind->versions);
    check_texts(kind, d, MANAGED_BY_ALLOWED, kind->managed_by_allowed);
    check_texts(kind, d, REMOVED, kind->removed);
    check_texts(kind, d, STATUS_REMOVED, kind->status_removed);
    for (const wharf_carried *carried = kind->carried; carried && carried->pointer; carried++)
        if (!is_carried(d, carried) && !is_known_difference(kind->kind, carried->pointer))
            fail_msg("%s: carried: did not guess %s", kind->kind, carried->pointer);
    check_pods(kind, d);
    check_phases(kind, d);
}

static const char *const kinds[][2] = {{"jobsets", "jobset.x-k8s.io_jobsets.yaml"},
                                       {"rayjobs", "ray.io_rayjobs.yaml"},
                                       {"trainjobs", "trainer.kubeflow.org_trainjobs.yaml"},
                                       {"mpijobs", "kubeflow.org_mpijobs.yaml"},
                                       {"appwrappers", "workload.codeflare.dev_appwrappers.yaml"}};

static void guesses_are_the_data_of_the_shipped_adapters(void **state) {
    struct shipped shipped = {.folder = NULL};
    (void)state;
    shipped_load(&shipped, false);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct kind *kind = shipped_kind(&shipped, kinds[i][0]);
        char own[128], real[128];
        snprintf(own, sizeof own, CRDS "%s.yaml", kinds[i][0]);
        snprintf(real, sizeof real, REAL "%s", kinds[i][1]);
        assert_non_null(kind);
        for (int j = 0; j < 2; j++) {
            struct description d;
            if (j == 1 && access(real, R_OK) != 0)
                continue;
            guess(j == 0 ? own : real, NULL, &d);
            check_kind(&kind->abi, &d);
            description_cleanup(&d);
        }
    }
    shipped_free(&shipped);
}

// -- other kinds --

static void a_service_without_a_manager(void **state) {
    struct description d;
    (void)state;
    guess(CRDS "services.yaml", "fleet", &d);
    assert_string_equal(text_of(&d, MANAGED_BY), "/metadata/labels/games.example.com~1managed-by");
    assert_string_equal(text_of(&d, MANAGED_BY_ALLOWED), "wharf");
    assert_string_equal(text_of(&d, VERSIONS), "v1"); // the stored one is not served
    assert_string_equal(text_of(&d, SUSPEND), "/spec/mode");
    assert_string_equal(text_of(&d, SUSPEND_VALUE), "Halted");
    assert_int_equal(description_row(&d, FLAGS)->number, WHARF_KIND_NO_STATUS_SUBRESOURCE | WHARF_KIND_NEVER_FINISHES);
    assert_int_equal(d.members[PHASES].count, 0);
    assert_int_equal(d.members[PODS].count, 3);
    assert_string_equal(d.members[PODS].list[0].counts[0], "/spec/serverReplicas");
    assert_string_equal(d.members[PODS].list[1].counts[0], "/spec/size");
    assert_string_equal(d.members[PODS].list[2].text, "/spec/migration/pod");
    assert_int_equal(d.members[PODS].list[2].flags, WHARF_PODS_ARE_SPECS);
    assert_int_equal(d.members[PODS].list[1].flags, 0);
    assert_true(has_row(&d, STATUS_REMOVED, "/status/podIP") && has_row(&d, STATUS_REMOVED, "/status/uid"));
    description_cleanup(&d);
}

static void the_sample_has_what_the_schema_requires(void **state) {
    static const char expected[] =
        "{\"apiVersion\":\"games.example.com/v1\",\"kind\":\"Fleet\",\"metadata\":{\"name\":\"sample\",\"namespace\":"
        "\"default\",\"labels\":{\"games.example.com/"
        "managed-by\":\"wharf\"}},\"spec\":{\"region\":\"sample-1\",\"size\":"
        "12,\"ports\":[1024,1024],\"mode\":\"Running\",\"map\":\"samp\",\"serverReplicas\":1,";
    struct description d;
    (void)state;
    guess(CRDS "services.yaml", "fleets", &d);
    AUTO_JSON sample = sample_object(&d);
    AUTO_TEXT text = json_text(sample, NULL);
    assert_non_null(text);
    assert_true(text_has_prefix(text, expected));
    description_cleanup(&d);
}

static void an_enum_gives_the_phases_in_its_own_spelling(void **state) {
    static const struct {
        const char *value;
        uint32_t phase;
    } expected[] = {{"done", WHARF_SUCCEEDED},
                    {"error", WHARF_FAILED},
                    {"queued", WHARF_PENDING},
                    {"running", WHARF_ACTIVE},
                    {"paused", WHARF_SUSPENDED}};
    struct description d;
    (void)state;
    guess(CRDS "services.yaml", "Film", &d);
    assert_int_equal(d.members[PHASES].count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_string_equal(d.members[PHASES].list[i].value, expected[i].value);
        assert_int_equal(d.members[PHASES].list[i].number, expected[i].phase);
    }
    assert_non_null(strstr(d.members[PHASES].note, "cutting"));
    assert_int_equal(d.members[VERSIONS].count, 2);
    assert_string_equal(d.members[VERSIONS].list[1].text, "v1beta1");
    assert_string_equal(d.members[VERSIONS].note, "Also served, and left out: v1alpha1, without /spec/paused.");
    assert_string_equal(text_of(&d, MANAGED_BY_BUILTIN), "example.com/own");
    assert_string_equal(text_of(&d, MANAGED_BY_ALLOWED), "example.com/other");
    assert_string_equal(text_of(&d, FINISHED_AT), "/status/finishTime");
    description_cleanup(&d);
}

static void a_status_without_words_ends_with_its_time_or_never(void **state) {
    struct description d;
    (void)state;
    guess(CRDS "services.yaml", "Export", &d);
    assert_int_equal(d.members[PHASES].count, 1);
    assert_string_equal(text_of(&d, PHASES), "/status/finishedAt");
    assert_int_equal(description_row(&d, PHASES)->flags, WHARF_RULE_EXISTS);
    assert_null(description_row(&d, FLAGS));
    description_cleanup(&d);
    guess(CRDS "services.yaml", "Mount", &d); // no value of the enum is an end
    assert_int_equal(d.members[PHASES].count, 0);
    assert_int_equal(description_row(&d, FLAGS)->number, WHARF_KIND_NEVER_FINISHES);
    description_cleanup(&d);
}

static void only_fields_of_the_schema_are_carried(void **state) {
    struct description d;
    (void)state;
    guess(CRDS "services.yaml", "Export", &d);
    assert_true(has_row(&d, CARRIED, "/spec/template/spec/tolerations"));
    assert_false(has_row(&d, CARRIED, "/spec/template") || has_row(&d, CARRIED, "/spec/template/metadata/labels"));
    assert_int_equal(d.members[CARRIED].count, 2);
    description_cleanup(&d);
}

static void fields_that_name_objects_are_references(void **state) {
    static const struct {
        const char *pointer, *kind, *optional;
        uint32_t flags;
    } expected[] = {
        {"/spec/exporter", NULL, NULL, WHARF_REFERENCE_CONTAINERS},
        {"/spec/volumes/*", NULL, NULL, WHARF_REFERENCE_VOLUMES},
        {"/spec/tlsSecretName", "Secret", NULL, 0},
        {"/spec/settingsConfigMap", "ConfigMap", NULL, 0},
        {"/spec/inputs/*/credentialsSecretRef/name", "Secret", "/spec/inputs/*/credentialsSecretRef/optional", 0},
        {"/spec/inputs/*/priorityClassName", "PriorityClass", NULL, 0},
    };
    struct description d;
    (void)state;
    guess(CRDS "services.yaml", "Report", &d);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct guess_row *row = d.members[REFERENCES].list;
        size_t left = d.members[REFERENCES].count;
        for (; left > 0 && strcmp(row->text, expected[i].pointer) != 0; left--)
            row++;
        if (left == 0)
            fail_msg("did not guess %s", expected[i].pointer);
        assert_true(text_equal(row->refers ? row->refers->kind : NULL, expected[i].kind));
        assert_true(text_equal(row->value, expected[i].optional));
        assert_int_equal(row->flags, expected[i].flags);
        assert_non_null(row->why);
    }
    assert_int_equal(d.members[REFERENCES].count, sizeof expected / sizeof *expected);
    description_cleanup(&d);
}

static void values_of_the_status_get_names(void **state) {
    struct description d;
    (void)state;
    guess(CRDS "services.yaml", "Film", &d);
    const struct guess_rows *rows = &d.members[CONTINUITY];
    assert_int_equal(rows->count, 3);
    assert_string_equal(rows->list[0].text, "/status/lastStep");
    assert_string_equal(rows->list[0].value, "LAST_STEP");
    assert_string_equal(rows->list[1].text, "/status/training/latestCheckpointURI");
    assert_string_equal(rows->list[1].value, "LATEST_CHECKPOINT_URI");
    assert_string_equal(rows->list[2].text, "/status/checkpoint/path");
    assert_string_equal(rows->list[2].value, "CHECKPOINT_PATH");
    AUTO_BUFFER(text, 65536);
    assert_true(write_generic(&d, &text));
    assert_non_null(strstr(text.data, "        continuity:\n        # By its name"));
    assert_non_null(strstr(text.data, "        - {field: /status/lastStep, name: LAST_STEP}\n"));
    static const char *const lists[] = {"    {.pointer = \"/status/lastStep\", .name = \"LAST_STEP\"},\n",
                                        "    {\"/status/lastStep\", \"LAST_STEP\"},\n",
                                        "    Continuity { pointer: text!(\"/status/lastStep\"), name: "
                                        "text!(\"LAST_STEP\"), ..Continuity::NONE },\n"};
    for (size_t language = 0; language < sizeof lists / sizeof *lists; language++) {
        buffer_reset(&text);
        assert_true(write_code(&d, (enum language)language, &text));
        assert_non_null(strstr(text.data, lists[language]));
        assert_non_null(strstr(text.data, language == 0 ? "    WHARF_CONTINUITY(continuity),\n" : "ontinuity"));
    }
    description_cleanup(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guesses_are_the_data_of_the_shipped_adapters),
        cmocka_unit_test(a_service_without_a_manager),
        cmocka_unit_test(the_sample_has_what_the_schema_requires),
        cmocka_unit_test(an_enum_gives_the_phases_in_its_own_spelling),
        cmocka_unit_test(a_status_without_words_ends_with_its_time_or_never),
        cmocka_unit_test(only_fields_of_the_schema_are_carried),
        cmocka_unit_test(fields_that_name_objects_are_references),
        cmocka_unit_test(values_of_the_status_get_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
