// SPDX-License-Identifier: Apache-2.0
// A mirror that this host suspended, or keeps suspended, while its workload is to run: `wharf explain` says why, and
// after a minute an Event does.
#include "core/engine/history/inspect.h"
#include "tests/unit/engine/stage.h"

#define SUSPENDED                                                                                                      \
    "{'status':{'active':0,'ready':0,'startTime':null,'conditions':[{'type':'Suspended','status':'True',"              \
    "'lastTransitionTime':'" HARNESS_NOW "'}]}}"

static const char *unwanted; // the worker rejects a patch that has this in it

static int reject(struct stage *stage, const struct command *command) {
    (void)stage;
    bool patch = command->cluster != 0 && command->request.verb == VERB_MERGE_PATCH;
    return patch && unwanted && strstr(command->request.body, unwanted) ? 422 : STAGE_PASS;
}

static void change(struct stage *stage, size_t cluster, const char *subresource, const char *patch) {
    assert_int_equal(stage_patch(stage, cluster, "a", subresource, patch), 200);
    stage_run(stage, CLOCK_SECOND / 2);
}

static void start_suspended(struct stage *stage) {
    unwanted = NULL;
    stage_init(stage);
    stage->meddle = reject;
    stage_start(stage);
    stage_submit(stage, "a", "");
    stage_run(stage, CLOCK_SECOND);
    stage_runs(stage, 1, "a");
    change(stage, 0, NULL, "{'spec':{'suspend':true}}");
}

static void assert_explained(struct stage *stage, const char *text) {
    struct explain_view view;
    stage_explain(stage, "a", &view);
    if (!strstr(view.waiting_text, text))
        fail_msg("found \"%s\", expected \"%s\" in it", view.waiting_text, text);
}

static void assert_told(struct stage *stage, const char *text) {
    assert_explained(stage, text);
    assert_int_equal(stage_told(stage, "Waiting: "), 0);
    stage_run(stage, 65 * CLOCK_SECOND);
    assert_int_equal(stage_told(stage, "Waiting: "), 1);
    assert_int_equal(stage_told(stage, text), 1);
}

static void its_adapter_waits_for_the_pods_to_go(void **state) {
    (void)state;
    struct stage stage;
    start_suspended(&stage);
    change(&stage, 1, "status", SUSPENDED);
    assert_int_equal(stage_patch(&stage, 1, "a", "status", "{'status':{'active':1}}"), 200); // and a pod after all
    change(&stage, 0, NULL, "{'spec':{'suspend':false,'template':{'spec':{'nodeSelector':{'zone':'a'}}}}}");
    assert_told(&stage, "the adapter");
    change(&stage, 1, "status", "{'status':{'active':0}}");
    assert_false(json_bool(pointer_find(stage_job(&stage, 1, "a"), "/spec/suspend"), true));
    assert_explained(&stage, "");
    stage_end(&stage);
}

static void the_worker_rejects_it(void **state) {
    (void)state;
    struct stage stage;
    start_suspended(&stage);
    unwanted = "\"suspend\":false";
    change(&stage, 0, NULL, "{'spec':{'suspend':false}}");
    assert_told(&stage, "the worker rejects the change: meddled");
    stage_end(&stage);
}

static void another_writer_suspends_it_again_and_again(void **state) {
    (void)state;
    struct stage stage;
    start_suspended(&stage);
    for (int i = 0; i < 600; i++) { // somebody suspends it whenever it is resumed
        if (i == 0)
            change(&stage, 0, NULL, "{'spec':{'suspend':false}}");
        change(&stage, 1, NULL, "{'metadata':{'annotations':{'" MARK_CARRIED "':'v2:s:::'}},'spec':{'suspend':true}}");
    }
    assert_in_range(stage_told(&stage, "Waiting: "), 1, 3);
    assert_explained(&stage, "another writer");
    stage_end(&stage);
}

static void what_the_worker_suspended_is_no_concern_of_it(void **state) {
    (void)state;
    struct stage stage;
    start_suspended(&stage);
    change(&stage, 0, NULL, "{'spec':{'suspend':false}}");
    change(&stage, 1, NULL, "{'spec':{'suspend':true}}");
    stage_run(&stage, 5 * CLOCK_MINUTE);
    assert_int_equal(stage_told(&stage, "Waiting: "), 0);
    assert_int_equal(stage_told(&stage, "SuspendedInWorker"), 1);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_adapter_waits_for_the_pods_to_go),
        cmocka_unit_test(the_worker_rejects_it),
        cmocka_unit_test(another_writer_suspends_it_again_and_again),
        cmocka_unit_test(what_the_worker_suspended_is_no_concern_of_it),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
