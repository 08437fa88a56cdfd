// SPDX-License-Identifier: Apache-2.0
// Progress that a further attempt is given (docs/lifecycle.md, P1 to P8): Jobs whose pods end one by one, workers that
// do not take a status, and the rules. With plan.progress: in some trials; SIM_PROGRESS: in all.
#pragma once

#include "tests/simulation/rules.h"

#define PROGRESS_INDEXES 16 // completions of a Job, at most

struct progress_rules;

bool progress_is_drawn(const struct trial *trial); // its plan is not made yet
struct progress_rules *progress_new(struct trial *trial);
// What a Job of the trial is made of.
struct progress_job {
    int64_t completions, parallelism, duration_ms, spread_ms;
    bool off; // its user turns it off
};
// False: a Job as in other trials.
bool progress_draw(struct trial *trial, struct progress_job *job);

// A status that the host writes in a worker: how its policies answer, as world_admission.
int progress_admit(struct trial *trial, size_t cluster, struct json *object, char message[256]);
// Whether they may refuse one.
bool progress_is_refused(const struct trial *trial, size_t cluster);
void progress_act(struct trial *trial);
int64_t progress_due(const struct trial *trial);

// The hooks of the clusters: a write that was accepted or refused, of a Job, once the other rules know of it; a pod
// that a Job's controller makes. ctx is a struct side.
void progress_written(struct trial *trial, size_t cluster, const struct world_write *write);
void progress_pod(void *ctx, const struct json *object, int64_t index);
// Of what a mirror's status says: how much it was given.
int64_t progress_failed(struct trial *trial, const struct json *object);
int64_t progress_succeeded(struct trial *trial, const struct json *object);
// The engine receives a mirror; and tells something about a workload.
void progress_told(struct trial *trial, const struct json *object);
void progress_gone(struct trial *trial, const struct json *object);
void progress_event(struct trial *trial, const struct workload_event *event);
