// SPDX-License-Identifier: Apache-2.0
// Third parties that repeatedly do the same to the host's objects: they delete mirrors, change them, strip their marks,
// write the status of workloads, or block mirrors by a finalizer. And a policy that strips the marks from stored
// objects.
#pragma once

#include "tests/simulation/trial.h"

struct pests *pests_new(struct trial *trial);
int64_t pests_due(const struct trial *trial);
void pests_act(struct trial *trial);
void pests_end(struct trial *trial);
// The policy of a worker; `object` is about to be stored.
void pests_admit(struct trial *trial, size_t cluster, struct json *object);
// True where that policy is, or was.
bool pests_rule(const struct trial *trial, size_t cluster);
// A user asks to try this object again at once, which ends the delays (docs/lifecycle.md, the annotation
// wharf.dev/retry), or created it anew.
void pests_retried(struct trial *trial, const char *name);
// The host is about to write about this object.
void pests_count(struct trial *trial, const char *name);
