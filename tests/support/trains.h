// SPDX-License-Identifier: Apache-2.0
// A kind for tests, trains.example.com, and what core/engine/mirror/mirror.h computes for its objects, as origin
// "here".
#pragma once

#include "core/engine/mirror/mirror.h"

#include <stddef.h>

#define TRAIN_NAMES                                                                                                    \
    WHARF_KIND_SIZES, .group = "example.com", .versions = (const char *const[]){"v1", NULL}, .kind = "Train",          \
                      .plural = "trains", .managed_by = "/spec/managedBy", .suspend = "/spec/suspend"

extern const wharf_kind train_given; // defined by the test: TRAIN_NAMES and the rest of its data
extern struct kind *train;           // made of it by train_setup

int train_setup(void **state); // cmocka's setup and teardown of a group
int train_teardown(void **state);

// mirror_make, mirror_patch, or train_status.
typedef wharf_result train_question(const struct mirror_context *context, struct json **out);
train_question train_status; // mirror_status without the hash

// Asks for the workload, mirror, attempt and record in `about`; the rest is filled in. The call's message goes to
// `said`, "" without one; NULL: not wanted.
wharf_result train_ask(train_question *question, const struct mirror_context *about, struct json **out, char *said,
                       size_t said_size);
