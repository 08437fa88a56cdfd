// SPDX-License-Identifier: Apache-2.0
// What a status patch of a Job is made from: the newest mirror that the host has been told of, however long the patch
// waited, and after at most one other write of the workload.
#pragma once

#include "tests/simulation/trial.h"

struct status_rules *status_rules_new(void);
void status_restarted(struct trial *trial);

// A mirror was written in its worker.
void status_written(struct trial *trial, const struct json *mirror);
// The engine receives a mirror from a watch or list.
void status_told(struct trial *trial, const struct json *mirror);
// The engine has decided to send this to the management cluster, about this Job.
void status_command(struct trial *trial, const struct command *command, const struct json *body);
// Its answer.
void status_answered(struct trial *trial, uint64_t command, bool accepted);
