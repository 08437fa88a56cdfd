// SPDX-License-Identifier: Apache-2.0
// What a further attempt of a Job is given: only what the workload's status states, and only what a server accepts.
#include "tests/unit/plugins/job_harness.h"
#include "tests/unit/plugins/job_rules.h"

#define PLAIN "'completions':6,'parallelism':3,'backoffLimit':6"
#define INDEXED "'completionMode':'Indexed','completions':10,'parallelism':3,'backoffLimit':6"
#define PER_INDEX INDEXED ",'backoffLimitPerIndex':1"
#define QUEUE "'parallelism':3,'backoffLimit':6"
#define ELASTIC(n) "'completionMode':'Indexed','completions':" n ",'parallelism':" n ",'backoffLimit':6"
#define TRUE(type) "'conditions':[{'type':'" type "','status':'True','lastTransitionTime':'" HARNESS_NOW "'}]"
#define GANG "'scheduling':{'schedulingPolicy':{'gang':{'minCount':3}}}"
#define RETRIED "},'metadata':{'annotations':{'wharf.dev/retried':'w1'}" // after a spec
#define MARKED(mark) "'metadata':{'annotations':{'wharf.dev/progress':'" mark "'}}"

struct progress_case {
    const char *name;
    const char *spec, *status; // of the workload, without braces
    const char *mirror;        // whole; NULL: the same spec, and no status; "": none yet
    const char *given;         // without braces; "": nothing
};

static const struct progress_case cases[] = {
    {"nothing has happened", PLAIN, "", NULL, ""},
    {"a Job that runs for the first time has nothing", PLAIN, "'startTime':'x','active':3,'ready':3", NULL, ""},
    // Indexes.
    {"completed indexes, and their number", INDEXED, "'completedIndexes':'0-4,7','succeeded':6", NULL,
     "'completedIndexes':'0-4,7','succeeded':6"},
    {"the same before the create", INDEXED, "'completedIndexes':'0-4,7','succeeded':6", "",
     "'completedIndexes':'0-4,7','succeeded':6"},
    {"failures", INDEXED, "'failed':2", NULL, "'failed':2"},
    {"all indexes", INDEXED, "'completedIndexes':'0-9'", NULL, "'completedIndexes':'0-9','succeeded':10"},
    {"no count without the indexes", INDEXED, "'succeeded':6", NULL, ""},
    {"the number of the indexes, not another one", INDEXED, "'completedIndexes':'1','succeeded':9", NULL,
     "'completedIndexes':'1','succeeded':1"},
    {"failed indexes where an index has a limit", PER_INDEX, "'completedIndexes':'0','failedIndexes':'3,4','failed':4",
     NULL, "'completedIndexes':'0','succeeded':1,'failedIndexes':'3,4','failed':4"},
    {"failed indexes alone", PER_INDEX, "'failedIndexes':'3'", NULL, "'failedIndexes':'3'"},
    {"no failed indexes where none has", INDEXED, "'failedIndexes':'3'", NULL, ""},
    {"an index that has completed is not failed", PER_INDEX, "'completedIndexes':'2-4','failedIndexes':'3,5'", NULL,
     "'completedIndexes':'2-4','succeeded':3,'failedIndexes':'5'"},
    {"no index failed", PER_INDEX, "'failedIndexes':''", NULL, ""},
    // Elastic Jobs.
    {"indexes below the present completions", ELASTIC("4"), "'completedIndexes':'0,2-6'", NULL,
     "'completedIndexes':'0,2,3','succeeded':3"},
    {"below those of the mirror, if it has less", ELASTIC("8"), "'completedIndexes':'0,2-6'",
     "{'spec':{" ELASTIC("4") "}}", "'completedIndexes':'0,2,3','succeeded':3"},
    {"below those of the workload, if it has less", ELASTIC("4"), "'completedIndexes':'0,2-6'",
     "{'spec':{" ELASTIC("8") "}}", "'completedIndexes':'0,2,3','succeeded':3"},
    // Without indexes: the spec of the mirror says what is left.
    {"no successes and failures without indexes", PLAIN, "'succeeded':4,'failed':1", NULL, ""},
    {"nor before the create", PLAIN, "'completedIndexes':'0-2','succeeded':4,'failed':1", "", ""},
    {"nor to a work queue", QUEUE, "'succeeded':2,'failed':1", NULL, ""},
    // backoffLimit.
    {"failures up to the limit: one more ends the Job", INDEXED, "'failed':9", NULL, "'failed':6"},
    {"up to that of the mirror, if it is less", INDEXED, "'failed':5",
     "{'spec':{'completionMode':'Indexed','completions':10,'backoffLimit':4}}", "'failed':4"},
    {"up to that of the workload, if it is less", "'completionMode':'Indexed','completions':6,'backoffLimit':2",
     "'failed':5", "{'spec':{'completionMode':'Indexed','completions':6,'backoffLimit':4}}", "'failed':2"},
    {"none with a limit of 0", "'completionMode':'Indexed','completions':6,'backoffLimit':0", "'failed':1", NULL, ""},
    {"up to the default", "'completionMode':'Indexed','completions':6", "'failed':9", NULL, "'failed':6"},
    {"all where only each index has a limit", "'completionMode':'Indexed','completions':9,'backoffLimitPerIndex':1",
     "'failed':9", NULL, "'failed':9"},
    {"none to a mirror whose limit is less by them", INDEXED, "'failed':2,'completedIndexes':'1'",
     "{'metadata':{'annotations':{'job.wharf.dev/earlier-failed':'2'}},'spec':{" INDEXED "}}",
     "'completedIndexes':'1','succeeded':1"},
    {"no failures of a worker that failed", PER_INDEX RETRIED,
     "'completedIndexes':'0','failedIndexes':'3,4','failed':4", NULL, "'completedIndexes':'0','succeeded':1"},
    // The mirror has it, in part or whole.
    {"nothing twice", INDEXED, "'completedIndexes':'0-4,7','succeeded':6,'failed':1",
     "{'spec':{" INDEXED "},'status':{'completedIndexes':'0-4,7','succeeded':6,'failed':1}}", ""},
    {"nothing to a mirror that has more", PER_INDEX, "'completedIndexes':'1,3','failedIndexes':'5','failed':1",
     "{'spec':{" PER_INDEX "},'status':{'completedIndexes':'0-3','failedIndexes':'5,8','succeeded':4,'failed':3}}", ""},
    {"what is lacking, and nothing is taken", PER_INDEX, "'completedIndexes':'1,3','failedIndexes':'5','failed':1",
     "{'spec':{" PER_INDEX "},'status':{'completedIndexes':'0,1','failedIndexes':'8','succeeded':2,'failed':3}}",
     "'completedIndexes':'0,1,3','succeeded':3,'failedIndexes':'5,8'"},
    {"indexes that a controller has reset", INDEXED, "'completedIndexes':'0-3','failed':2",
     "{'spec':{" INDEXED "},'status':{'active':3,'ready':0,'failed':2}}", "'completedIndexes':'0-3','succeeded':4"},
    {"the controller's own numbers of pods are left alone", INDEXED, "'completedIndexes':'1','active':3,'ready':2",
     "{'spec':{" INDEXED "},'status':{'ready':0,'terminating':0,'uncountedTerminatedPods':{}}}",
     "'completedIndexes':'1','succeeded':1"},
    // The outcome is decided.
    {"nothing after a success", INDEXED, "'completedIndexes':'0-9'," TRUE("SuccessCriteriaMet"), NULL, ""},
    {"nothing after a failure", INDEXED, "'failed':6," TRUE("FailureTarget"), NULL, ""},
    {"nothing after the end", INDEXED, "'failed':6," TRUE("Failed"), "", ""},
    {"a suspended Job keeps its progress", "'suspend':true," INDEXED, "'completedIndexes':'2'," TRUE("Suspended"), NULL,
     "'completedIndexes':'2','succeeded':1"},
    // The scheduling objects of a gang are made for a Job without counts.
    {"a gang that the controller has seen", GANG "," INDEXED, "'failed':2",
     "{" MARKED("owed") ",'spec':{" GANG "," INDEXED "},'status':{" TRUE("Suspended") "}}", "'failed':2"},
    {"a gang that another writer has resumed", GANG "," INDEXED, "'failed':2",
     "{" MARKED("owed") ",'spec':{" GANG "," INDEXED ",'suspend':false}}", "'failed':2"},
    {"a gang before the create", GANG "," INDEXED, "'failed':2", "", "'failed':2"},
    {"a gang that runs", GANG "," INDEXED, "'failed':2", "{" MARKED("given") ",'spec':{" GANG "," INDEXED "}}",
     "'failed':2"},
    {"a gang that the worker's server does not know", GANG "," INDEXED, "'failed':2",
     "{" MARKED("owed") ",'spec':{" INDEXED "}}", "'failed':2"},
    // Malformed statuses.
    {"numbers that are none", INDEXED, "'succeeded':-1,'failed':'7'", NULL, ""},
    {"numbers that are too large", "'completionMode':'Indexed','completions':9,'backoffLimit':2147483647",
     "'succeeded':1e300,'failed':99999999999", NULL, "'failed':2147483647"},
    {"lists that are none", PER_INDEX, "'completedIndexes':7,'failedIndexes':[]", NULL, ""},
    {"intervals that are none", INDEXED, "'completedIndexes':'x,-3,,4,8-,7-6'", NULL,
     "'completedIndexes':'4','succeeded':1"},
    {"a list in another notation", INDEXED, "'completedIndexes':'0,1,2,4-5'", NULL,
     "'completedIndexes':'0-2,4,5','succeeded':5"},
    {"a list without order gives less, never more", INDEXED, "'completedIndexes':'5,1'", NULL,
     "'completedIndexes':'5','succeeded':1"},
    {"indexes beyond all", INDEXED, "'completedIndexes':'8-99999999999999999999'", NULL,
     "'completedIndexes':'8,9','succeeded':2"},
    {"indexes of no completions", "'completionMode':'Indexed','backoffLimit':6", "'completedIndexes':'0'", NULL, ""},
};

static struct json *make(const struct progress_case *c, struct json **mirror) {
    AUTO_TEXT text = text_format("{'spec':{%s},'status':{%s}}", c->spec, c->status);
    AUTO_TEXT unmade = text_format("{'spec':{%s}}", c->spec);
    *mirror = c->mirror && !*c->mirror ? NULL : harness_json(c->mirror ? c->mirror : unmade);
    return harness_json(text);
}

// The merge patch of the status subresource, and the validation of the server.
static const char *give(struct json *mirror, const struct json *given) {
    AUTO_JSON before = json_copy(json_get(mirror, "status"));
    AUTO_JSON patch = json_new_object();
    assert_true(json_set(patch, "status", json_copy(given)));
    assert_true(patch_apply(&mirror, patch));
    AUTO_JSON seen = json_copy(json_get(mirror, "status"));
    json_remove(seen, "uncountedTerminatedPods"); // a rule of the workload's status alone
    return rules_status(json_get(mirror, "spec"), before, seen);
}

static void progress_is_what_the_status_states_and_the_mirror_lacks(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct progress_case *c = &cases[i];
        AUTO_JSON mirror = NULL;
        AUTO_JSON workload = make(c, &mirror);
        AUTO_TEXT text = text_format("{%s}", c->given);
        AUTO_JSON expected = *c->given ? harness_json(text) : NULL;
        AUTO_TEXT a = NULL;
        AUTO_TEXT b = NULL;
        wharf_result result;
        AUTO_JSON given = harness_progress(workload, mirror, &result);
        assert_int_equal(result, WHARF_OK);
        if (!json_equal(given, expected))
            fail_msg("%s: given %s, not %s", c->name, harness_text(given, &a), harness_text(expected, &b));
        if (!given || !mirror)
            continue;
        const char *broken = give(mirror, given);
        if (broken)
            fail_msg("%s: refused: %s", c->name, broken);
        AUTO_JSON again = harness_progress(workload, mirror, &result);
        if (again)
            fail_msg("%s: given again: %s", c->name, harness_text(again, &a));
    }
}

static void a_gang_gets_its_progress_after_its_scheduling_objects(void **state) {
    (void)state;
    AUTO_JSON workload = harness_json("{'spec':{" GANG "," INDEXED "},'status':{'failed':2}}");
    AUTO_JSON mirror = harness_json("{" MARKED("owed") ",'spec':{" GANG "," INDEXED ",'suspend':true}}");
    wharf_result result;
    assert_null(harness_progress(workload, mirror, &result));
    assert_int_equal(result, WHARF_RETRY);
}

// The patch that starts a mirror: the mark says whether the mirror has its progress.
static const struct {
    const char *name, *workload, *mirror, *mark, *patch;
} start_cases[] = {
    {"a mirror that goes on has the limits of the workload; its pods so far have not run here",
     "{'spec':{" INDEXED ",'suspend':false},'status':{'succeeded':3,'failed':1}}",
     "{" MARKED("owed") ",'spec':{" INDEXED ",'suspend':true},'status':{'succeeded':3,'failed':1}}", "given",
     "{'metadata':{'annotations':{'wharf.dev/progress':'given','job.wharf.dev/given-pods':'4'}},"
     "'spec':{'suspend':false}}"},
    {"one from nothing has less of backoffLimit",
     "{'spec':{" INDEXED ",'suspend':false},'status':{'succeeded':3,'failed':2}}",
     "{" MARKED("owed") ",'spec':{" INDEXED ",'suspend':true}}", "refused",
     "{'metadata':{'annotations':{'wharf.dev/progress':'refused','job.wharf.dev/earlier-failed':'2'}},"
     "'spec':{'suspend':false,'backoffLimit':4}}"},
    {"but for what it counts itself", "{'spec':{" INDEXED ",'suspend':false},'status':{'failed':2}}",
     "{" MARKED("owed") ",'spec':{" INDEXED ",'suspend':true},'status':{'failed':1}}", "refused",
     "{'metadata':{'annotations':{'wharf.dev/progress':'refused','job.wharf.dev/earlier-failed':'1',"
     "'job.wharf.dev/given-pods':'1'}},'spec':{'suspend':false,'backoffLimit':5}}"},
    {"and for failures of a worker that failed",
     "{'metadata':{'annotations':{'wharf.dev/retried':'w1'}},'spec':{" INDEXED
     ",'suspend':false},'status':{'failed':2}}",
     "{" MARKED("owed") ",'spec':{" INDEXED ",'suspend':true}}", "refused",
     "{'metadata':{'annotations':{'wharf.dev/progress':'refused'}},'spec':{'suspend':false}}"},
    {"pods of a mirror that runs already are its own", "{'spec':{" INDEXED ",'suspend':false},'status':{'failed':2}}",
     "{" MARKED("owed") ",'spec':{" INDEXED ",'suspend':false},'status':{'failed':1}}", "refused",
     "{'metadata':{'annotations':{'wharf.dev/progress':'refused','job.wharf.dev/earlier-failed':'1'}},"
     "'spec':{'backoffLimit':5}}"},
    {"the gang of a mirror that starts from nothing is whole",
     "{'spec':{" GANG "," INDEXED ",'suspend':false},'status':{'completedIndexes':'0-7','succeeded':8}}",
     "{" MARKED("owed") ",'spec':{'scheduling':{'schedulingPolicy':{'gang':{'minCount':2}}}," INDEXED
                        ",'suspend':true}}",
     "refused",
     "{'metadata':{'annotations':{'wharf.dev/progress':'refused'}},'spec':{'suspend':false,'scheduling':"
     "{'schedulingPolicy':{'gang':{'minCount':3}}}}}"},
};

static void a_mirror_starts_with_what_is_left(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof start_cases / sizeof *start_cases; i++) {
        AUTO_JSON workload = harness_json(start_cases[i].workload);
        AUTO_JSON mirror = harness_json(start_cases[i].mirror);
        AUTO_JSON expected = harness_json(start_cases[i].patch);
        AUTO_JSON desired = harness_marked_update(workload, mirror, start_cases[i].mark);
        AUTO_JSON patch = patch_diff(mirror, desired, NULL);
        AUTO_TEXT a = NULL;
        if (!json_equal(patch, expected))
            fail_msg("%s: %s, not %s", start_cases[i].name, harness_text(patch, &a), start_cases[i].patch);
        AUTO_JSON again = harness_update(workload, desired);
        if (!json_equal(again, desired))
            fail_msg("%s: another patch follows", start_cases[i].name);
    }
}

// Random Jobs --------------------------------------------------------------------------------------------------------

#define MOST 14

static void random_list(struct random *random, struct json *status, const char *key) {
    AUTO_BUFFER(text, 1024);
    buffer_text(&text, "");
    for (int64_t at = 0; at < MOST; at++) {
        int64_t to = at + (int64_t)random_below(random, 4);
        uint64_t form = random_below(random, 9);
        if (form < 3) {
            buffer_printf(&text, "%s%lld", text.len ? "," : "", (long long)at);
        } else if (form < 5 && to > at) {
            buffer_printf(&text, "%s%lld-%lld", text.len ? "," : "", (long long)at, (long long)to);
            at = to;
        } else if (form == 8 && random_below(random, 12) == 0) {
            buffer_text(&text, ",9-3");
        }
    }
    if (random_below(random, 4) > 0)
        assert_true(json_set(status, key, json_new_string(text.data)));
}

static void random_count(struct random *random, struct json *object, const char *key, uint64_t most) {
    if (random_below(random, 4) > 0)
        assert_true(json_set(object, key, json_new_int64((int64_t)random_below(random, most))));
}

static struct json *random_spec(struct random *random) {
    struct json *spec = json_new_object();
    random_count(random, spec, "completions", MOST);
    random_count(random, spec, "parallelism", MOST);
    random_count(random, spec, "backoffLimit", 8);
    if (json_get(spec, "completions") && random_below(random, 3) > 0) {
        assert_true(json_set(spec, "completionMode", json_new_string("Indexed")));
        random_count(random, spec, "backoffLimitPerIndex", 3);
    }
    return spec;
}

static struct json *random_status(struct random *random) {
    struct json *status = json_new_object();
    random_list(random, status, "completedIndexes");
    random_list(random, status, "failedIndexes");
    random_count(random, status, "succeeded", MOST + 3);
    random_count(random, status, "failed", 12);
    return status;
}

// The mirror's spec may be behind; a part of the progress may be there already.
static struct json *random_mirror(struct random *random, const struct json *workload) {
    struct json *mirror = json_new_object();
    assert_true(json_set(mirror, "spec", json_copy(json_get(workload, "spec"))));
    struct json *spec = json_get(mirror, "spec");
    if (json_get(spec, "completionMode") && random_below(random, 3) == 0)
        assert_true(json_set(spec, "completions", json_new_int64((int64_t)random_below(random, MOST))));
    if (random_below(random, 4) == 0)
        random_count(random, spec, "backoffLimit", 8);
    AUTO_JSON former = json_copy(workload);
    assert_true(json_set(former, "spec", json_copy(spec)));
    random_list(random, json_get(former, "status"), "completedIndexes");
    random_list(random, json_get(former, "status"), "failedIndexes");
    wharf_result result;
    AUTO_JSON part = random_below(random, 2) ? harness_progress(former, NULL, &result) : NULL;
    if (part)
        assert_true(json_set(mirror, "status", json_copy(part)));
    return mirror;
}

static bool lists(const struct json *status, const char *key, bool *in) {
    return rules_indexes(json_string_or(json_get(status, key), ""), RULES_MAX_INDEXES, in);
}

// Each given index and number is in the workload's status, or was in the mirror's.
static const char *invented(const struct json *workload, const struct json *before, const struct json *given) {
    static const char *const keys[] = {"completedIndexes", "failedIndexes"};
    const struct json *stated = json_get(workload, "status");
    bool all[RULES_MAX_INDEXES] = {false};
    for (size_t k = 0; k < 2; k++) {
        bool in[RULES_MAX_INDEXES] = {false}, known[RULES_MAX_INDEXES] = {false};
        if (!lists(given, keys[k], in))
            return "a malformed list";
        (void)lists(before, keys[k], known);
        bool whole = lists(stated, keys[k], known);
        for (size_t i = 0; i < RULES_MAX_INDEXES && whole; i++)
            if (in[i] && !known[i])
                return keys[k];
        for (size_t i = 0; i < RULES_MAX_INDEXES && k == 0; i++)
            all[i] = in[i];
    }
    int64_t completed = 0;
    for (size_t i = 0; i < RULES_MAX_INDEXES; i++)
        completed += all[i];
    if (json_get(given, "completedIndexes") && rules_count(given, "succeeded") > completed)
        return "more succeeded than indexes";
    if (!json_get(json_get(workload, "spec"), "completionMode"))
        return "without indexes";
    return rules_count(given, "failed") > rules_count(stated, "failed") ? "failed" : NULL;
}

static void no_progress_is_refused_or_invented_or_given_twice(void **state) {
    (void)state;
    size_t gave = 0, nothing = 0;
    for (uint64_t seed = 1; seed <= 20000; seed++) {
        struct random random = {seed};
        AUTO_JSON workload = json_new_object();
        assert_true(json_set(workload, "spec", random_spec(&random)));
        assert_true(json_set(workload, "status", random_status(&random)));
        AUTO_JSON mirror = random_mirror(&random, workload);
        AUTO_JSON before = json_copy(json_get(mirror, "status"));
        wharf_result result;
        AUTO_JSON given = harness_progress(workload, mirror, &result);
        assert_int_equal(result, WHARF_OK);
        *(given ? &gave : &nothing) += 1;
        if (!given)
            continue;
        AUTO_TEXT a = NULL;
        AUTO_TEXT b = NULL;
        AUTO_TEXT c = NULL;
        const char *broken = give(mirror, given);
        broken = broken ? broken : invented(workload, before, given);
        AUTO_JSON again = harness_progress(workload, mirror, &result);
        if (broken || again)
            fail_msg("seed %llu: %s: workload %s, mirror then %s, given %s", (unsigned long long)seed,
                     broken ? broken : "given again", harness_text(workload, &a), harness_text(mirror, &b),
                     harness_text(given, &c));
    }
    print_message("%zu times something was given, %zu times nothing\n", gave, nothing);
    assert_true(gave > 5000 && nothing > 1000);
}

static void ten_thousand_indexes_are_given_as_they_are(void **state) {
    (void)state;
    AUTO_BUFFER(list, 1 << 20);
    for (int i = 0; i < 10000; i += 2)
        buffer_printf(&list, "%s%d", i ? "," : "", i);
    AUTO_JSON workload = harness_json("{'spec':{'completionMode':'Indexed','completions':10000,'backoffLimit':6}}");
    assert_true(pointer_set(workload, "/status/completedIndexes", json_new_string(list.data)));
    wharf_result result;
    AUTO_JSON given = harness_progress(workload, NULL, &result);
    assert_string_equal(json_string(json_get(given, "completedIndexes")), list.data);
    assert_int_equal(rules_count(given, "succeeded"), 5000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_is_what_the_status_states_and_the_mirror_lacks),
        cmocka_unit_test(a_gang_gets_its_progress_after_its_scheduling_objects),
        cmocka_unit_test(a_mirror_starts_with_what_is_left),
        cmocka_unit_test(no_progress_is_refused_or_invented_or_given_twice),
        cmocka_unit_test(ten_thousand_indexes_are_given_as_they_are),
    };
    return cmocka_run_group_tests(tests, harness_load, NULL);
}
