// SPDX-License-Identifier: Apache-2.0
// Accounts of other kinds than Jobs, with the times that their controllers write; and device classes of claims.
#include "tests/support/shipped.h"
#include "tests/unit/engine/accounts_play.h"
#include "tests/unit/engine/needs_play.h"
#include "tests/world/custom.h"

#define POD "{'spec':{'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':'2'}}}]}}"

static struct shipped shipped;

struct sample {
    const char *plural, *spec; // with the place of managedBy as '@'
    const char *runs, *over;   // statuses, with the time as '@'
    double cpu;                // cores of all pods
    bool start_is_creation;    // no status tells the start
};

static const struct sample samples[] = {
    {"jobsets",
     "'managedBy':'@','replicatedJobs':[{'name':'r','replicas':2,'template':{'spec':{'parallelism':3,'completions':3,"
     "'template':" POD "}}}]",
     "{'replicatedJobsStatus':[{'name':'r','ready':2,'active':2,'succeeded':0,'failed':0,'suspended':0}]}",
     "{'terminalState':'Completed','conditions':[{'type':'Completed','status':'True','lastTransitionTime':'@'}]}", 12,
     true},
    {"pytorchjobs",
     "'runPolicy':{'managedBy':'@'},'pytorchReplicaSpecs':{'Master':{'replicas':1,'template':" POD
     "},'Worker':{'replicas':3,'template':" POD "}}",
     "{'startTime':'@','replicaStatuses':{'Master':{'active':1}},'conditions':[{'type':'Running','status':'True'}]}",
     "{'completionTime':'@','conditions':[{'type':'Succeeded','status':'True'}]}", 8, false},
    {"rayjobs",
     "'managedBy':'@','entrypoint':'x','submissionMode':'HTTPMode','rayClusterSpec':{'headGroupSpec':{'rayStartParams':"
     "{},'template':" POD "},'workerGroupSpecs':[{'groupName':'g','replicas':2,'minReplicas':2,'maxReplicas':2,"
     "'rayStartParams':{},'template':" POD "}]}",
     "{'jobDeploymentStatus':'Running','jobStatus':'RUNNING','startTime':'@'}",
     "{'jobDeploymentStatus':'Complete','jobStatus':'SUCCEEDED','endTime':'@'}", 6, false},
    {"pipelineruns", "'managedBy':'@','pipelineSpec':{'tasks':[]}",
     "{'startTime':'@','conditions':[{'type':'Succeeded','status':'Unknown','reason':'Running'}]}",
     "{'completionTime':'@','conditions':[{'type':'Succeeded','status':'True','reason':'Succeeded'}]}", 0, false},
};

// The text with `value` for each @.
static char *fill(const char *text, const char *value) {
    AUTO_BUFFER(out, 8192);
    for (; *text; text++)
        if (*text == '@')
            buffer_text(&out, value);
        else
            buffer_char(&out, *text);
    assert_false(out.failed);
    return strdup(out.data);
}

static void write_status(struct stage *stage, const char *plural, size_t cluster, const char *text) {
    char now[CLOCK_RFC3339_MAX];
    accounts_time(stage, 0, now);
    AUTO_TEXT status = fill(text, now);
    AUTO_TEXT patch = text_format("{'status':%s}", status);
    int code = stage_patch(stage, cluster, "a", "status", patch);
    if (code != 200)
        fail_msg("%s: %d for %s", plural, code, patch);
    stage_run(stage, CLOCK_SECOND);
}

static void assert_used(struct stage *stage, const struct sample *sample, double seconds, double by) {
    double used = accounts_used_in(stage, NULL, NULL);
    if (used < seconds - by || used > seconds + by)
        fail_msg("%s: found %f s, expected %f", sample->plural, used, seconds);
    accounts_near(accounts_used_in(stage, NULL, "cpu"), used * sample->cpu, 0.01);
}

static void play(const struct sample *sample) {
    struct stage stage;
    const struct custom *custom = custom_by_plural(sample->plural);
    const struct kind *kind = shipped_kind(&shipped, sample->plural);
    assert_non_null(kind);
    stage_init_kind(&stage, (struct kind *)(uintptr_t)kind, &custom->kind);
    stage_start(&stage);
    stage_run(&stage, 3 * CLOCK_SECOND);
    AUTO_TEXT spec = fill(sample->spec, kind->managed_by);
    AUTO_TEXT object = text_format("{'metadata':{'name':'a','namespace':'default'},'spec':{%s}}", spec);
    assert_int_equal(stage_apply(&stage, 0, custom->kind.group, sample->plural, object), 201);
    stage_run(&stage, 2 * CLOCK_SECOND);
    size_t cluster = stage_where(&stage, "a");
    assert_int_not_equal(cluster, 0);
    write_status(&stage, sample->plural, cluster, sample->runs);
    stage_run(&stage, 59 * CLOCK_SECOND);
    double early = sample->start_is_creation ? 2 : 0;
    assert_used(&stage, sample, 60, 1.2);
    stage_restart(&stage);
    stage_run(&stage, 10 * CLOCK_SECOND);
    assert_used(&stage, sample, 70 + early, 1.2);
    write_status(&stage, sample->plural, cluster, sample->over);
    assert_used(&stage, sample, 70 + early, 1.2);
    stage_run(&stage, 20 * CLOCK_MINUTE);
    stage_restart(&stage);
    stage_run(&stage, CLOCK_SECOND);
    assert_null(stage_job(&stage, cluster, "a"));
    assert_used(&stage, sample, 70 + early, 2.2);
    stage_end(&stage);
}

static void each_kind_counts_by_the_times_of_its_controller(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        play(&samples[i]);
}

static void claims_count_by_the_classes_of_their_template(void **state) {
    (void)state;
    struct needs_play *needs = calloc(1, sizeof *needs);
    needs_init(needs);
    struct stage *stage = &needs->stage;
    stage->options.settings.dependencies.check = "resourceclaimtemplates.resource.k8s.io";
    stage_start(stage);
    static const struct world_kind templates = {.group = "resource.k8s.io",
                                                .versions = {"v1"},
                                                .plural = "resourceclaimtemplates",
                                                .kind = "ResourceClaimTemplate"};
    for (size_t c = 0; c < STAGE_CLUSTERS; c++) {
        assert_true(world_register(stage->clusters[c], &templates));
        assert_int_equal(
            stage_apply(stage, c, "resource.k8s.io", "resourceclaimtemplates",
                        "{'apiVersion':'resource.k8s.io/v1','kind':'ResourceClaimTemplate','metadata':"
                        "{'name':'t','namespace':'default'},'spec':{'spec':{'devices':{'requests':[{'name':"
                        "'d','exactly':{'deviceClassName':'gpu.example.com'}}]}}}}"),
            201);
    }
    accounts_submit(stage, "a", "'resourceClaims':[{'name':'x','resourceClaimTemplateName':'t'}],");
    stage_run(stage, 5 * CLOCK_SECOND);
    accounts_runs(stage, stage_where(stage, "a"), "a", 0);
    stage_run(stage, 30 * CLOCK_SECOND);
    double used = accounts_used_in(stage, NULL, NULL);
    accounts_near(used, 30, 1.2);
    accounts_near(accounts_used_in(stage, NULL, "resourceclaims/gpu.example.com"), 2 * used, 0.001);
    assert_true(accounts_used_in(stage, NULL, "resourceclaims") == 0);
    needs_end(needs);
    free(needs);
}

static int load(void **state) {
    shipped_load(&shipped, false);
    return stage_load(state);
}

static int unload(void **state) {
    (void)state;
    shipped_free(&shipped);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_counts_by_the_times_of_its_controller),
        cmocka_unit_test(claims_count_by_the_classes_of_their_template),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
