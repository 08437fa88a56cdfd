// SPDX-License-Identifier: Apache-2.0
// placement.requireFields (scheduling or true) in some trials: API servers of some workers do not know a field that
// most Jobs have, or drop it from time to time. Checks that no mirror runs without it.
#pragma once

#include "tests/simulation/trial.h"

struct tracked_mirror;
struct fields *fields_new(struct trial *trial);
// A worker gets the PriorityClass that Jobs name.
void fields_set_up(struct trial *trial, size_t cluster);
void fields_ask(struct trial *trial, struct json *job);                      // a new Job, of a user's
void fields_admit(struct trial *trial, size_t cluster, struct json *object); // a Job that the host creates, or would
void fields_sent(struct trial *trial, const struct json *mirror);            // a create, or a trial of one
void fields_created(struct trial *trial, size_t cluster, const struct json *mirror);
void fields_answered(struct trial *trial, const struct object *object); // to the host; NULL: without an object
bool fields_keeps(const struct trial *trial, size_t cluster);           // whatever is created there
// It was created without the field that its workload has, so its deletion is in order.
bool fields_lacked(const struct trial *trial, const struct tracked_mirror *mirror);
void fields_check(struct trial *trial); // often
