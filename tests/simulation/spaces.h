// SPDX-License-Identifier: Apache-2.0
// Namespaces in some trials: which ones are permitted, overall and by worker, by name and by label, with rules and
// labels that change. Checks that nothing is placed or created where that is denied by what the host was told, and that
// a workload that stays for that is told so.
#pragma once

#include "core/engine/event.h"
#include "tests/simulation/trial.h"

struct spaces *spaces_new(struct trial *trial);
int64_t spaces_due(const struct trial *trial);
void spaces_act(struct trial *trial);
// In half of the trials everything is permitted then.
void spaces_end(struct trial *trial);

// A process of the host starts: it knows no labels.
void spaces_started(struct trial *trial);
const char *spaces_rule(const struct trial *trial); // of the configuration, for the engine
void spaces_worker(const struct trial *trial, size_t cluster, struct engine_event *event);
void spaces_told(struct trial *trial, const struct engine_event *event); // EVENT_NAMESPACE or EVENT_WORKER

void spaces_command(struct trial *trial, const struct command *command);
void spaces_check_place(struct trial *trial, size_t cluster, const char *namespace_, const char *name);
// A workload without a mirror stays so: its namespace is denied everywhere.
bool spaces_keep(const struct trial *trial, const char *namespace_);

#define SPACES 2 // namespaces that users create workloads in: default, and their own
extern const char *const space_names[SPACES];
size_t space_of(const char *namespace_); // SPACES: none of them
// The users' own.
void spaces_add(struct trial *trial, size_t cluster);
