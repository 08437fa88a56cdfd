// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/crds.h"
#include "tests/simulation/rules.h"
#include "tests/world/player.h"

#include <stdlib.h>

enum stage { STAGE_THERE, STAGE_AWAY, STAGE_FOR_GOOD };

struct crds {
    struct {
        enum stage stage;
        int64_t away_ns, back_ns;
    } at[TRIAL_CLUSTERS][TRIAL_KINDS];
};

static void install(struct trial *trial, size_t cluster, size_t kind) {
    trial_trace(trial, "crds: %s comes to %s", trial->kinds[kind]->kind->abi.plural,
                world_name(trial->worlds[cluster]));
    if (!player_install(trial->worlds[cluster], trial->kinds[kind]->fixture))
        abort();
}

static void take_away(struct trial *trial, size_t cluster, size_t kind) {
    const wharf_kind *abi = &trial->kinds[kind]->kind->abi;
    trial_trace(trial, "crds: %s goes from %s", abi->plural, world_name(trial->worlds[cluster]));
    rules_crd_gone(trial, cluster, kind);
    if (!world_unregister(trial->worlds[cluster], abi->group, abi->plural))
        abort();
}

// The management cluster may get a kind late; a worker may also lose it.
static void plan(struct trial *trial, struct crds *crds, size_t cluster, size_t kind) {
    bool management = cluster == ENGINE_MANAGEMENT;
    crds->at[cluster][kind].stage = STAGE_FOR_GOOD;
    if (trial->plan.plain || !trial_chance(trial, management ? 15 : 25)) {
        install(trial, cluster, kind);
        return;
    }
    int64_t half_ns = (trial->plan.trouble_end_ns - trial->now_ns) / 2;
    int64_t away_ns = trial->now_ns + trial_between(trial, 0, half_ns);
    if (management || !trial->plan.faults || trial_chance(trial, 50))
        away_ns = trial->now_ns;
    crds->at[cluster][kind].away_ns = away_ns;
    crds->at[cluster][kind].back_ns = away_ns + trial_between(trial, CLOCK_SECOND, half_ns);
    crds->at[cluster][kind].stage = away_ns > trial->now_ns ? STAGE_THERE : STAGE_AWAY;
    if (away_ns > trial->now_ns)
        install(trial, cluster, kind);
}

struct crds *crds_new(struct trial *trial) {
    struct crds *crds = calloc(1, sizeof *crds);
    for (size_t c = 0; crds && c < trial->plan.n_clusters; c++)
        for (size_t k = 1; k < trial->n_kinds; k++)
            plan(trial, crds, c, k);
    return crds;
}

int64_t crds_from_ns(const struct trial *trial, size_t kind) {
    return trial->crds->at[ENGINE_MANAGEMENT][kind].back_ns;
}

int64_t crds_due(const struct trial *trial) {
    int64_t due = CLOCK_NEVER;
    for (size_t c = 0; c < trial->plan.n_clusters; c++)
        for (size_t k = 1; k < trial->n_kinds; k++) {
            enum stage stage = trial->crds->at[c][k].stage;
            int64_t at = stage == STAGE_THERE  ? trial->crds->at[c][k].away_ns
                         : stage == STAGE_AWAY ? trial->crds->at[c][k].back_ns
                                               : CLOCK_NEVER;
            due = at < due ? at : due;
        }
    return due;
}

void crds_act(struct trial *trial) {
    for (size_t c = 0; c < trial->plan.n_clusters; c++)
        for (size_t k = 1; k < trial->n_kinds; k++) {
            if (trial->crds->at[c][k].stage == STAGE_THERE && trial->crds->at[c][k].away_ns <= trial->now_ns) {
                take_away(trial, c, k);
                trial->crds->at[c][k].stage = STAGE_AWAY;
            }
            if (trial->crds->at[c][k].stage == STAGE_AWAY && trial->crds->at[c][k].back_ns <= trial->now_ns) {
                install(trial, c, k);
                trial->crds->at[c][k].stage = STAGE_FOR_GOOD;
            }
        }
}

void crds_end(struct trial *trial) {
    for (size_t c = 0; c < trial->plan.n_clusters; c++)
        for (size_t k = 1; k < trial->n_kinds; k++) {
            if (trial->crds->at[c][k].stage == STAGE_AWAY)
                install(trial, c, k);
            trial->crds->at[c][k].stage = STAGE_FOR_GOOD;
        }
}
