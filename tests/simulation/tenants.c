// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/tenants.h"

#include "core/base/text.h"
#include "core/engine/mirror/mirror.h"
#include "core/kube/object/object.h"
#include "tests/simulation/cuts.h"
#include "tests/simulation/spaces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACTS 12
#define NEXT_TRY_NS (10 * CLOCK_MINUTE + CLOCK_SECOND) // at most, after a denial
#define OTHER "00000000-0000-4000-8000-000000000000"

enum change { CHANGE_WITHDRAW, CHANGE_CONSENT, CHANGE_DENY, CHANGE_ALLOW, CHANGES };
static const char *const words[] = {"a consent is withdrawn", "a namespace consents",
                                    "the host may not act as a tenant", "the host may act as all tenants"};

struct tenants_play {
    struct random random;
    bool consents[TRIAL_CLUSTERS][SPACES];
    int64_t denied_ns[TRIAL_CLUSTERS][SPACES]; // until then the host might not act; CLOCK_NEVER: it may not
    struct heard {                             // by a replica of the host
        struct {
            bool listed, lost, seen[SPACES];
            char uids[SPACES][64];
        } of[TRIAL_CLUSTERS];
    } heard[TRIAL_HOSTS];
    struct {
        int64_t at_ns;
        enum change change;
    } acts[ACTS];
    size_t n_acts;
};

// Not with clusters that are wiped, which then have other uids, nor with namespaces that nobody owns.
void tenants_choose(struct trial *trial) {
    struct trial_plan *plan = &trial->plan;
    struct random random = {.state = trial->seed * 71 + 13};
    (void)random_next(&random);
    plan->tenants = plan->faults && !plan->steady && plan->back == TRIAL_BACK_NONE &&
                    (random_below(&random, 8) == 0 || getenv("SIM_TENANTS"));
    plan->removes = plan->tenants && random_below(&random, 2) == 0;
    if (!plan->tenants)
        return;
    plan->create_namespaces = plan->spaces = plan->places = plan->fields = false;
}

struct tenants_play *tenants_new(struct trial *trial) {
    struct tenants_play *play = calloc(1, sizeof *play);
    if (!play || !trial->plan.tenants)
        return play;
    play->random.state = trial->seed * 59 + 7;
    (void)random_next(&play->random);
    for (size_t c = 1; c < trial->plan.n_clusters; c++)
        for (size_t s = 0; s < SPACES; s++)
            play->consents[c][s] = random_below(&play->random, 4) > 0;
    play->n_acts = random_below(&play->random, ACTS + 1);
    uint64_t length_ns = (uint64_t)(trial->plan.trouble_end_ns - trial->now_ns);
    for (size_t i = 0; i < play->n_acts; i++) {
        play->acts[i].at_ns = trial->now_ns + (int64_t)random_below(&play->random, length_ns);
        play->acts[i].change = (enum change)random_below(&play->random, CHANGES);
        if (!cuts_has(trial, "%.3f owner: %s", (double)(play->acts[i].at_ns - TRIAL_START_NS) / 1e9,
                      words[play->acts[i].change]))
            play->acts[i].at_ns = CLOCK_NEVER;
    }
    trial->tenants = play;
    for (size_t c = 1; c < trial->plan.n_clusters; c++)
        tenants_namespace(trial, c);
    return play;
}

struct tenancy_options tenants_options(const struct trial *trial) {
    return (struct tenancy_options){.impersonate = trial->plan.tenants, .remove_withdrawn = trial->plan.removes};
}

static const char *uid_here(const struct trial *trial, size_t space) {
    return object_uid(world_object(trial->worlds[ENGINE_MANAGEMENT], "", "namespaces", "", space_names[space]));
}

static void write_consent(struct trial *trial, size_t cluster, size_t space) {
    bool consents = trial->tenants->consents[cluster][space];
    AUTO_TEXT patch = text_format("{\"metadata\":{\"annotations\":{\"" MARK_TENANT "\":\"%s\"}}}",
                                  consents ? uid_here(trial, space) : OTHER);
    bool acted = trial->user_acts;
    trial->user_acts = true;
    if (patch && world_object(trial->worlds[cluster], "", "namespaces", "", space_names[space]))
        (void)world_patch(trial->worlds[cluster], "", "namespaces", "", space_names[space], NULL, patch, trial->now_ns);
    trial->user_acts = acted;
}

void tenants_namespace(struct trial *trial, size_t cluster) {
    for (size_t s = 0; trial->plan.tenants && trial->tenants && cluster != ENGINE_MANAGEMENT && s < SPACES; s++)
        write_consent(trial, cluster, s);
}

int64_t tenants_due(const struct trial *trial) {
    int64_t due = CLOCK_NEVER;
    for (size_t i = 0; i < trial->tenants->n_acts; i++)
        due = clock_earlier(due, trial->tenants->acts[i].at_ns);
    return due;
}

void tenants_allow(struct trial *trial, size_t cluster) {
    world_allow_all(trial->worlds[cluster]);
    for (size_t s = 0; trial->tenants && s < SPACES; s++)
        if (trial->tenants->denied_ns[cluster][s] == CLOCK_NEVER)
            trial->tenants->denied_ns[cluster][s] = trial->now_ns;
}

bool tenants_are_denied(const struct trial *trial, size_t cluster, const char *namespace_) {
    size_t space = space_of(namespace_);
    int64_t denied_ns = space < SPACES ? trial->tenants->denied_ns[cluster][space] : 0;
    return denied_ns && (denied_ns == CLOCK_NEVER || trial->now_ns - denied_ns < NEXT_TRY_NS);
}

static void change(struct trial *trial, enum change what) {
    struct tenants_play *play = trial->tenants;
    size_t cluster = 1 + random_below(&play->random, trial->plan.n_clusters - 1);
    size_t space = random_below(&play->random, SPACES);
    trial_trace(trial, "owner: %s: %s in %s", words[what], space_names[space], world_name(trial->worlds[cluster]));
    if (what == CHANGE_DENY) {
        AUTO_TEXT user = text_format(TENANT_USER_PREFIX "%s", space_names[space]);
        world_deny_user(trial->worlds[cluster], user, "impersonate", "users");
        play->denied_ns[cluster][space] = CLOCK_NEVER;
    } else if (what == CHANGE_ALLOW) {
        tenants_allow(trial, cluster);
    } else {
        play->consents[cluster][space] = what == CHANGE_CONSENT;
        write_consent(trial, cluster, space);
    }
}

void tenants_act(struct trial *trial) {
    struct tenants_play *play = trial->tenants;
    for (size_t i = 0; i < play->n_acts; i++) {
        if (play->acts[i].at_ns > trial->now_ns)
            continue;
        play->acts[i].at_ns = CLOCK_NEVER;
        change(trial, play->acts[i].change);
    }
}

void tenants_end(struct trial *trial) {
    if (!trial->plan.tenants)
        return;
    trial_trace(trial, "owner: all namespaces consent");
    trial->tenants->n_acts = 0;
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        tenants_allow(trial, c);
        for (size_t s = 0; s < SPACES; s++)
            trial->tenants->consents[c][s] = true;
        tenants_namespace(trial, c);
    }
}

void tenants_started(struct trial *trial) {
    trial->tenants->heard[trial->host->index] = (struct heard){.of[0].listed = false};
}

void tenants_told(struct trial *trial, const struct engine_event *event) {
    struct heard *heard = &trial->tenants->heard[trial->host->index];
    size_t c = event->cluster, space = event->tenant.name ? space_of(event->tenant.name) : SPACES;
    switch (event->tenant.news) {
    case TENANTS_LISTING:
        memset(heard->of[c].seen, 0, sizeof heard->of[c].seen);
        break;
    case TENANTS_LISTED:
        for (size_t s = 0; s < SPACES; s++)
            if (!heard->of[c].seen[s])
                heard->of[c].uids[s][0] = '\0';
        heard->of[c].listed = true;
        heard->of[c].lost = false;
        break;
    case TENANT_SEEN:
    case TENANT_GONE:
        if (space == SPACES)
            break;
        heard->of[c].seen[space] = true;
        text_copy(heard->of[c].uids[space], sizeof heard->of[c].uids[space],
                  event->tenant.news == TENANT_SEEN && event->tenant.uid ? event->tenant.uid : "");
        break;
    case TENANTS_LOST:
    case TENANTS_OPEN:
        heard->of[c].lost = event->tenant.news == TENANTS_LOST;
        break;
    case TENANTS_OFF:
        memset(&heard->of[c], 0, sizeof heard->of[c]);
        break;
    }
}

static bool is_known(const struct heard *heard, size_t cluster) {
    return heard->of[ENGINE_MANAGEMENT].listed && !heard->of[ENGINE_MANAGEMENT].lost && heard->of[cluster].listed &&
           !heard->of[cluster].lost;
}

static bool consents(const struct heard *heard, size_t cluster, size_t space) {
    const char *here = heard->of[ENGINE_MANAGEMENT].uids[space];
    return is_known(heard, cluster) && *here && strcmp(heard->of[cluster].uids[space], here) == 0;
}

bool tenants_leave(const struct trial *trial, size_t cluster, const char *namespace_) {
    const struct heard *heard = &trial->tenants->heard[trial->host->index];
    size_t space = space_of(namespace_);
    return trial->plan.removes && space < SPACES && is_known(heard, cluster) && !consents(heard, cluster, space);
}

// T1 and T2.
void tenants_command(struct trial *trial, const struct command *command) {
    const struct request *request = &command->request;
    bool writes = request->verb != VERB_GET && request->verb != VERB_RAW_GET;
    bool acts = trial->plan.tenants && command->cluster != ENGINE_MANAGEMENT && writes && *request->namespace_;
    if (!text_equal(request->tenant, acts ? request->namespace_ : NULL))
        trial_fail(trial, "T1: a request for %s/%s has tenant %s", request->namespace_, request->name,
                   request->tenant ? request->tenant : "none");
    size_t space = space_of(request->namespace_);
    if (acts && request->verb == VERB_CREATE && space < SPACES &&
        !consents(&trial->tenants->heard[trial->host->index], command->cluster, space))
        trial_fail(trial, "T2: %s %s/%s is created in %s, which does not consent as far as the host knows",
                   request->resource.plural, request->namespace_, request->name,
                   world_name(trial->worlds[command->cluster]));
}

// T1, where a request arrives. Leases are the host's own.
void tenants_written(struct trial *trial, size_t cluster, const struct world_write *write) {
    bool own = cluster == ENGINE_MANAGEMENT || !*write->namespace_ || strcmp(write->plural, "leases") == 0;
    AUTO_TEXT user = text_format(TENANT_USER_PREFIX "%s", write->namespace_);
    if (!text_equal(write->user, trial->plan.tenants && !own ? user : NULL))
        trial_fail(trial, "T1: %s %s/%s in %s was written as %s", write->plural, write->namespace_, write->name,
                   world_name(trial->worlds[cluster]), write->user ? write->user : "the host");
}
