// SPDX-License-Identifier: Apache-2.0
// Jobs of 2 pods with requests, whose mirrors' statuses a test writes by the clock of the worker; and what the accounts
// say.
#pragma once

#include "core/engine/accounts/accounts.h"
#include "tests/unit/engine/stage.h"

#define GPU "nvidia.com/gpu"

static inline void accounts_submit(struct stage *stage, const char *name, const char *spec) {
    AUTO_TEXT text = text_format(
        "{'metadata':{'name':'%s','namespace':'%s'},'spec':{'managedBy':'wharf.dev/host','parallelism':2,"
        "'completions':2,'template':{'spec':{'restartPolicy':'Never',%s'containers':[{'name':'c','image':'i',"
        "'resources':{'requests':{'cpu':'500m','memory':'1Gi'},'limits':{'" GPU "':'1'}}}]}}}}",
        name, stage_space(stage), spec);
    assert_int_equal(stage_apply(stage, 0, "batch", "jobs", text), 201);
}

// `after_ns`: how much later it is by the clock of the worker, or how long ago something was.
static inline void accounts_time(const struct stage *stage, int64_t after_ns, char out[CLOCK_RFC3339_MAX]) {
    clock_rfc3339(stage->now.wall_ns + after_ns, out);
}

static inline void accounts_runs(struct stage *stage, size_t cluster, const char *name, int64_t after_ns) {
    char start[CLOCK_RFC3339_MAX];
    accounts_time(stage, after_ns, start);
    AUTO_TEXT patch = text_format("{'status':{'active':2,'ready':1,'startTime':'%s'}}", start);
    assert_int_equal(stage_patch(stage, cluster, name, "status", patch), 200);
    stage_run(stage, 100 * CLOCK_MS);
}

static inline void accounts_completes(struct stage *stage, size_t cluster, const char *name, int64_t after_ns) {
    char end[CLOCK_RFC3339_MAX];
    accounts_time(stage, after_ns, end);
    AUTO_TEXT patch = text_format("{'status':{'active':0,'ready':0,'succeeded':2,'completionTime':'%s','conditions':"
                                  "[{'type':'SuccessCriteriaMet','status':'True','lastTransitionTime':'%s'},"
                                  "{'type':'Complete','status':'True','lastTransitionTime':'%s'}]}}",
                                  end, end, end);
    assert_int_equal(stage_patch(stage, cluster, name, "status", patch), 200);
    stage_run(stage, 2 * CLOCK_SECOND); // counters are a second old
}

static inline size_t accounts_resource(const struct account_sums *sums, const char *resource) {
    size_t r = 0;
    while (resource && r < sums->n_resources && strcmp(sums->resources[r], resource) != 0)
        r++;
    return resource ? r + 1 : 0;
}

// `resource` NULL: seconds of workloads; `cluster` NULL: all.
static inline double accounts_sum(struct stage *stage, const char *cluster, const char *resource, bool counted) {
    const struct account_sums *sums = engine_stats(stage->engine)->accounts;
    double sum = 0;
    size_t index = sums ? accounts_resource(sums, resource) : 0;
    for (size_t i = 0; sums && index <= sums->n_resources && i < sums->n_rows; i++)
        if (!cluster || strcmp(sums->rows[i].cluster, cluster) == 0)
            sum += counted ? account_counted(sums, &sums->rows[i], index, stage->now.mono_ns)
                           : account_used(sums, &sums->rows[i], index, stage->now.mono_ns);
    return sum;
}

static inline double accounts_used_in(struct stage *stage, const char *cluster, const char *resource) {
    return accounts_sum(stage, cluster, resource, false);
}

static inline double accounts_counted_in(struct stage *stage, const char *cluster, const char *resource) {
    return accounts_sum(stage, cluster, resource, true);
}

static inline void accounts_near(double found, double expected, double by) {
    if (found < expected - by || found > expected + by)
        fail_msg("found %f, expected %f", found, expected);
}
