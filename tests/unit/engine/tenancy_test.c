// SPDX-License-Identifier: Apache-2.0
// Tenants: whose the writes in workers are, and which namespaces consent.
#include "core/engine/placement/placing.h"
#include "tests/unit/engine/stage.h"

#include <string.h>

#define UID "11111111-1111-4111-8111-111111111111" // of the management cluster's namespace
#define OTHER "22222222-2222-4222-8222-222222222222"

struct writes {
    unsigned tenant, host; // in workers
    unsigned management;   // with a user
};

static void count(struct stage *stage, size_t cluster, const struct world_write *write) {
    struct writes *writes = stage->ctx;
    if (!writes || write->internal)
        return;
    if (cluster == ENGINE_MANAGEMENT)
        writes->management += write->user ? 1 : 0;
    else if (write->user && strcmp(write->user, "wharf:default") == 0)
        writes->tenant++;
    else
        writes->host++;
}

static void tell(struct stage *stage, size_t cluster, enum tenant_news news, const char *name, const char *uid) {
    stage_step(stage, &(struct engine_event){.type = EVENT_TENANT,
                                             .cluster = cluster,
                                             .tenant = {.news = news, .name = name, .uid = uid}});
}

static void list(struct stage *stage, size_t cluster, const char *uid) {
    tell(stage, cluster, TENANTS_LISTING, NULL, NULL);
    tell(stage, cluster, TENANT_SEEN, "default", uid);
    tell(stage, cluster, TENANT_SEEN, "kube-system", cluster ? NULL : OTHER);
    tell(stage, cluster, TENANTS_LISTED, NULL, NULL);
    tell(stage, cluster, TENANTS_OPEN, NULL, NULL);
}

// The workers w1 and w2 with these annotations.
static void begin(struct stage *stage, bool removes, const char *w1, const char *w2) {
    stage_init(stage);
    stage->options.settings.tenancy = (struct tenancy_options){.impersonate = true, .remove_withdrawn = removes};
    stage->wrote = count;
    stage_start(stage);
    list(stage, ENGINE_MANAGEMENT, UID);
    list(stage, 1, w1);
    list(stage, 2, w2);
}

static void consent(struct stage *stage, size_t cluster, const char *uid) {
    tell(stage, cluster, TENANT_SEEN, "default", uid);
}

static void submit(struct stage *stage, const char *name) {
    stage_submit(stage, name, "");
    stage_run(stage, 2 * CLOCK_SECOND);
}

static void take_reason(void *ctx, const char *name, const struct worker_reason *reason, int64_t until_ns,
                        int64_t since_ns) {
    (void)until_ns, (void)since_ns;
    ((struct worker_reason *)ctx)[strcmp(name, "w1") == 0 ? 1 : 2] = *reason;
}

static void explain(struct stage *stage, const char *name, struct worker_reason reasons[3]) {
    struct explain_view view;
    assert_true(inspect_explain(stage->engine, stage->now, stage->kind, "default", name, &view, take_reason, reasons));
}

static void a_workload_goes_where_its_namespace_consents(void **state) {
    (void)state;
    static const struct {
        const char *annotation;
        bool consents;
    } cases[] = {{NULL, false},    {"", false},           {OTHER, false},         {UID, true},
                 {UID UID, false}, {OTHER "," UID, true}, {OTHER ", " UID, true}, {"1111", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stage stage;
        struct worker_reason reasons[3];
        begin(&stage, false, cases[i].annotation, NULL);
        submit(&stage, "a");
        assert_int_equal(stage_where(&stage, "a"), cases[i].consents ? 1 : 0);
        explain(&stage, "a", reasons);
        assert_string_equal(reasons[2].brief, "namespace does not consent");
        assert_non_null(strstr(reasons[2].text, "annotation wharf.dev/tenant: " UID " on namespace default"));
        stage_end(&stage);
    }
}

static void a_new_consent_places_what_waits_within_a_second(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, false, NULL, NULL);
    submit(&stage, "a");
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_told(&stage, "0/2 workers accept it: w1 namespace does not consent"), 1);
    consent(&stage, 2, UID);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 2);
    assert_non_null(stage_job(&stage, 2, "a"));
    stage_end(&stage);
}

static void without_a_list_there_is_no_consent(void **state) {
    (void)state;
    for (size_t unknown = 0; unknown < 2; unknown++) {
        struct stage stage;
        struct worker_reason reasons[3];
        stage_init(&stage);
        stage.options.settings.tenancy.impersonate = true;
        stage_start(&stage);
        list(&stage, 1 - unknown, UID); // of the other cluster
        submit(&stage, "a");
        assert_int_equal(stage_where(&stage, "a"), 0);
        explain(&stage, "a", reasons);
        assert_string_equal(reasons[1].brief, "consent unknown");
        list(&stage, unknown, UID);
        stage_run(&stage, CLOCK_SECOND);
        assert_int_equal(stage_where(&stage, "a"), 1);
        stage_end(&stage);
    }
}

static void a_lost_watch_stops_new_work_and_nothing_else(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true, UID, NULL);
    submit(&stage, "a");
    assert_int_equal(stage_where(&stage, "a"), 1);
    tell(&stage, 1, TENANTS_LOST, NULL, NULL);
    submit(&stage, "b");
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "b"), 0);
    assert_non_null(stage_job(&stage, 1, "a"));
    tell(&stage, 1, TENANTS_OPEN, NULL, NULL);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "b"), 1);
    stage_end(&stage);
}

static void a_consent_that_is_gone_keeps_what_runs(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, false, UID, NULL);
    submit(&stage, "a");
    stage_runs(&stage, 1, "a");
    consent(&stage, 1, NULL);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_told(&stage, "ConsentWithdrawn: the consent of namespace default in cluster w1 is gone"), 1);
    submit(&stage, "b");
    consent(&stage, 2, UID);
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "b"), 2);
    assert_non_null(stage_job(&stage, 1, "a"));
    stage_completes(&stage, 1, "a");
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(stage_finished(&stage, "a"));
    assert_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage_told(&stage, "ConsentWithdrawn"), 1);
    stage_end(&stage);
}

static void a_consent_that_is_gone_removes_what_runs_if_the_configuration_says_so(void **state) {
    (void)state;
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        struct stage stage;
        begin(&stage, true, UID, NULL);
        submit(&stage, "a");
        stage_runs(&stage, 1, "a");
        if (elsewhere)
            consent(&stage, 2, UID);
        consent(&stage, 1, OTHER);
        stage_run(&stage, CLOCK_SECOND);
        assert_null(stage_job(&stage, 1, "a"));
        assert_int_equal(stage_where(&stage, "a"), elsewhere ? 2 : 1);
        if (elsewhere)
            assert_int_equal(stage_told(&stage, "Rescheduled: w1 has no consent"), 1);
        consent(&stage, 1, UID);
        stage_run(&stage, CLOCK_SECOND);
        assert_non_null(stage_job(&stage, elsewhere ? 2 : 1, "a"));
        assert_int_equal(stage_attempt(&stage, "a"), 2);
        stage_end(&stage);
    }
}

static void a_finished_mirror_is_not_removed_before_its_status_is_copied(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true, UID, NULL);
    submit(&stage, "a");
    stage_runs(&stage, 1, "a");
    stage_completes(&stage, 1, "a");
    consent(&stage, 1, NULL);
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(stage_finished(&stage, "a"));
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    stage_end(&stage);
}

static void nothing_is_created_when_the_consent_ends_after_the_placement(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, false, UID, NULL);
    stage.latency_ns = CLOCK_SECOND;
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND / 2); // the placement is in flight
    assert_int_equal(stage_where(&stage, "a"), 1);
    consent(&stage, 1, NULL);
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage.sent[1][VERB_CREATE], 0);
    consent(&stage, 2, UID);
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_non_null(stage_job(&stage, 2, "a"));
    stage_end(&stage);
}

static void a_namespace_made_anew_needs_another_consent(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, false, UID, NULL);
    tell(&stage, ENGINE_MANAGEMENT, TENANT_GONE, "default", NULL);
    tell(&stage, ENGINE_MANAGEMENT, TENANT_SEEN, "default", OTHER);
    submit(&stage, "a");
    assert_int_equal(stage_where(&stage, "a"), 0);
    consent(&stage, 1, OTHER);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 1);
    stage_end(&stage);
}

static void a_namespace_that_a_list_lacks_no_longer_consents(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, false, UID, NULL);
    tell(&stage, 1, TENANTS_LISTING, NULL, NULL);
    tell(&stage, 1, TENANT_SEEN, "kube-system", NULL);
    tell(&stage, 1, TENANTS_LISTED, NULL, NULL);
    submit(&stage, "a");
    assert_int_equal(stage_where(&stage, "a"), 0);
    stage_end(&stage);
}

// A create, an update, and a deletion.
static void live(struct stage *stage) {
    submit(stage, "a");
    stage_runs(stage, stage_where(stage, "a"), "a");
    assert_int_equal(stage_patch(stage, 0, "a", NULL, "{'metadata':{'labels':{'colour':'red'}}}"), 200);
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_int_equal(stage_delete(stage, 0, "a"), 200);
    stage_run(stage, CLOCK_MINUTE);
}

static void every_write_in_a_worker_is_the_tenants(void **state) {
    (void)state;
    for (int with = 0; with < 2; with++) {
        struct stage stage;
        struct writes writes = {0};
        if (with) {
            begin(&stage, false, UID, UID);
        } else {
            stage_init(&stage);
            stage.wrote = count;
            stage_start(&stage);
        }
        stage.ctx = &writes;
        live(&stage);
        assert_int_equal(with ? writes.host : writes.tenant, 0);
        assert_int_equal(with ? writes.tenant : writes.host, 3);
        assert_int_equal(writes.management, 0);
        stage_end(&stage);
    }
}

static void workers_where_the_host_may_not_act_as_the_tenant_are_left_alone(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, false, UID, UID);
    world_deny_user(stage.clusters[1], "wharf:default", "impersonate", "users");
    unsigned warnings = stage.warnings;
    for (int i = 0; i < 8; i++) {
        char name[2] = {(char)('a' + i), '\0'};
        stage_submit(&stage, name, "");
        stage_run(&stage, CLOCK_SECOND / 2);
    }
    stage_run(&stage, CLOCK_SECOND);
    for (int i = 0; i < 8; i++) {
        char name[2] = {(char)('a' + i), '\0'};
        assert_non_null(stage_job(&stage, 2, name));
    }
    assert_int_equal(stage.warnings - warnings, 1);
    assert_true(stage.sent[1][VERB_CREATE] <= 2);
    struct worker_reason reasons[3];
    explain(&stage, "a", reasons);
    assert_string_equal(reasons[1].brief, "host may not act as the tenant");
    world_allow_all(stage.clusters[1]);
    stage_run(&stage, CLOCK_MINUTE);
    submit(&stage, "z");
    assert_int_equal(stage_where(&stage, "z"), 1); // the least active
    stage_end(&stage);
}

static void denials_are_tried_again_slowly(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, false, UID, NULL);
    world_deny_user(stage.clusters[1], "wharf:default", "impersonate", "users");
    unsigned warnings = stage.warnings;
    submit(&stage, "a");
    stage_run(&stage, 10 * CLOCK_MINUTE);
    assert_in_range(stage.sent[1][VERB_CREATE], 3, 12);
    assert_int_equal(stage.warnings - warnings, 1);
    world_allow_all(stage.clusters[1]);
    stage_run(&stage, 21 * CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, 1, "a"));
    stage_end(&stage);
}

static void the_setting_takes_effect_when_the_configuration_changes(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, false, NULL, NULL);
    struct engine_settings settings = stage.options.settings;
    submit(&stage, "a");
    assert_int_equal(stage_where(&stage, "a"), 0);
    settings.tenancy.impersonate = false;
    assert_null(engine_configure(stage.engine, &settings));
    stage_step(&stage, &(struct engine_event){.type = EVENT_TIME});
    stage_run(&stage, CLOCK_SECOND);
    assert_int_not_equal(stage_where(&stage, "a"), 0);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_workload_goes_where_its_namespace_consents),
        cmocka_unit_test(a_new_consent_places_what_waits_within_a_second),
        cmocka_unit_test(without_a_list_there_is_no_consent),
        cmocka_unit_test(a_lost_watch_stops_new_work_and_nothing_else),
        cmocka_unit_test(a_consent_that_is_gone_keeps_what_runs),
        cmocka_unit_test(a_consent_that_is_gone_removes_what_runs_if_the_configuration_says_so),
        cmocka_unit_test(a_finished_mirror_is_not_removed_before_its_status_is_copied),
        cmocka_unit_test(nothing_is_created_when_the_consent_ends_after_the_placement),
        cmocka_unit_test(a_namespace_made_anew_needs_another_consent),
        cmocka_unit_test(a_namespace_that_a_list_lacks_no_longer_consents),
        cmocka_unit_test(every_write_in_a_worker_is_the_tenants),
        cmocka_unit_test(workers_where_the_host_may_not_act_as_the_tenant_are_left_alone),
        cmocka_unit_test(denials_are_tried_again_slowly),
        cmocka_unit_test(the_setting_takes_effect_when_the_configuration_changes),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
