// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/pests.h"
#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "tests/simulation/cuts.h"
#include "tests/simulation/rules.h"
#include "tests/simulation/steady.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PESTS 3
#define EVERY_NS (200 * CLOCK_MS)
#define WRITES_FREE                                                                                                    \
    60 // of the host to one object that is being reverted, as many after a retry, and one more per second

enum pest { PEST_DELETES, PEST_CHANGES, PEST_STRIPS, PEST_STATUS, PEST_HOLDS, PEST_KINDS };

static const char *const pest_words[] = {"keeps deleting", "keeps changing", "keeps stripping",
                                         "keeps writing the status of", "keeps holding"};

struct pests {
    struct {
        enum pest pest;
        int64_t next_ns, begin_ns, end_ns;
        unsigned writes, retries;
        char name[16];
    } pests[PESTS];
    size_t n, policy; // worker with a policy; 0: none
    const char *taken;
    bool over;
};

static const char *const policies[] = {"/metadata/labels/wharf.dev~1origin", "/metadata/labels/wharf.dev~1uid",
                                       "/metadata/annotations/wharf.dev~1attempt", "/metadata/labels"};

struct pests *pests_new(struct trial *trial) {
    struct pests *pests = calloc(1, sizeof *pests);
    if (!pests || trial->plan.plain || trial->plan.gentle_users || !trial->plan.faults || trial->seed % 3)
        return pests;
    pests->n = 1 + trial_below(trial, PESTS);
    for (size_t i = 0; i < pests->n; i++) {
        int64_t end_ns = trial->plan.trouble_end_ns - CLOCK_SECOND;
        pests->pests[i].pest = (enum pest)trial_below(trial, PEST_KINDS);
        pests->pests[i].begin_ns = pests->pests[i].next_ns = trial_between(trial, trial->now_ns, end_ns);
        pests->pests[i].end_ns = trial_between(trial, pests->pests[i].begin_ns, end_ns);
        snprintf(pests->pests[i].name, sizeof pests->pests[i].name, "job-%u", (unsigned)trial_below(trial, 6));
        if (!cuts_has(trial, "%.3f somebody %s %s", (double)(pests->pests[i].begin_ns - TRIAL_START_NS) / 1e9,
                      pest_words[pests->pests[i].pest], pests->pests[i].name))
            pests->pests[i].next_ns = CLOCK_NEVER;
    }
    if (trial_chance(trial, 40))
        pests->policy = trial->plan.n_clusters - 1;
    pests->taken = policies[trial_below(trial, sizeof policies / sizeof *policies)];
    return pests;
}

int64_t pests_due(const struct trial *trial) {
    int64_t due = CLOCK_NEVER;
    for (size_t i = 0; i < trial->pests->n; i++)
        if (trial->pests->pests[i].next_ns < due)
            due = trial->pests->pests[i].next_ns;
    return due;
}

static void patch(struct trial *trial, size_t cluster, const char *name, const char *subresource, const char *text) {
    world_patch(trial->worlds[cluster], "batch", "jobs", "default", name, subresource, text, trial->now_ns);
}

static void pester_mirror(struct trial *trial, size_t cluster, const char *name, enum pest pest, bool last) {
    AUTO_TEXT change =
        text_format("{\"metadata\":{\"labels\":{\"example.com/l\":\"%llu\"}},\"spec\":{\"parallelism\":1}}",
                    (unsigned long long)trial_below(trial, 3));
    if (pest == PEST_DELETES)
        world_delete(trial->worlds[cluster], "batch", "jobs", "default", name, "Background", trial->now_ns);
    else if (pest == PEST_CHANGES)
        patch(trial, cluster, name, NULL, change);
    else if (pest == PEST_STRIPS)
        patch(trial, cluster, name, NULL, "{\"metadata\":{\"labels\":{\"wharf.dev/origin\":null}}}");
    else if (pest == PEST_HOLDS)
        patch(trial, cluster, name, NULL,
              last ? "{\"metadata\":{\"finalizers\":null}}" : "{\"metadata\":{\"finalizers\":[\"example.com/held\"]}}");
}

static void pester(struct trial *trial, const char *name, enum pest pest, bool last) {
    const struct json *workload = trial_object(trial, ENGINE_MANAGEMENT, 0, "default", name);
    struct tracked_workload *job =
        workload ? rules_workload(trial, rules_text(workload, "metadata", NULL, "uid")) : NULL;
    if (job)
        job->touched = job->scaled = true;
    if (job && pest == PEST_STRIPS)
        job->tampered = true;
    if (job && job->ours && pest == PEST_STATUS && !sim_finished(trial->kinds[0], workload))
        patch(trial, ENGINE_MANAGEMENT, name, "status", "{\"status\":{\"active\":7}}");
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        const struct json *object = trial_object(trial, c, 0, "default", name);
        if (object && rules_mirror(trial, rules_text(object, "metadata", NULL, "uid")))
            pester_mirror(trial, c, name, pest, last);
    }
}

void pests_act(struct trial *trial) {
    struct pests *pests = trial->pests;
    for (size_t i = 0; i < pests->n; i++) {
        if (pests->pests[i].next_ns > trial->now_ns)
            continue;
        bool last = trial->now_ns >= pests->pests[i].end_ns;
        trial->user_acts = true;
        pester(trial, pests->pests[i].name, pests->pests[i].pest, last);
        trial->user_acts = false;
        pests->pests[i].next_ns = last ? CLOCK_NEVER : trial->now_ns + EVERY_NS;
    }
}

void pests_end(struct trial *trial) {
    for (size_t i = 0; i < trial->pests->n; i++)
        if (trial->pests->pests[i].next_ns != CLOCK_NEVER)
            trial->pests->pests[i].end_ns = trial->pests->pests[i].next_ns = trial->now_ns;
    pests_act(trial);
    trial->user_acts = true;
    for (size_t i = 0; i < trial->pests->n; i++)
        for (size_t c = 1; c < trial->plan.n_clusters; c++)
            if (trial->pests->pests[i].pest == PEST_HOLDS &&
                trial_object(trial, c, 0, "default", trial->pests->pests[i].name))
                pester_mirror(trial, c, trial->pests->pests[i].name, PEST_HOLDS, true);
    trial->user_acts = false;
    trial->pests->over = true;
}

void pests_admit(struct trial *trial, size_t cluster, struct json *object) {
    if (pests_rule(trial, cluster) && !trial->pests->over)
        pointer_remove(object, trial->pests->taken);
}

bool pests_rule(const struct trial *trial, size_t cluster) {
    return (trial->pests->policy != 0 && trial->pests->policy == cluster) || steady_strips(trial, cluster);
}

void pests_retried(struct trial *trial, const char *name) {
    for (size_t i = 0; i < trial->pests->n; i++)
        if (strcmp(trial->pests->pests[i].name, name) == 0 && trial->pests->pests[i].begin_ns <= trial->now_ns)
            trial->pests->pests[i].retries++;
}

void pests_count(struct trial *trial, const char *name) {
    for (size_t i = 0; i < trial->pests->n; i++) {
        int64_t since_ns = trial->now_ns - trial->pests->pests[i].begin_ns;
        if (strcmp(trial->pests->pests[i].name, name) != 0 || since_ns < 0 || trial->pests->over ||
            trial->now_ns > trial->pests->pests[i].end_ns)
            continue;
        if (++trial->pests->pests[i].writes >
            WRITES_FREE * (trial->host->number + trial->pests->pests[i].retries) + (unsigned)(since_ns / CLOCK_SECOND))
            trial_fail(trial, "rule 10: %u writes about %s, which somebody keeps reverting",
                       trial->pests->pests[i].writes, name);
    }
}
