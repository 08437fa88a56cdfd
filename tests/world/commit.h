// SPDX-License-Identifier: Apache-2.0
// The last step of a write: store it, count it, call the hook. Also counts rejected writes.
#pragma once

#include "tests/world/answer.h"

struct stored *commit_create(const struct op *op, struct json *value);
// `old` is what was stored before when a hook is set, else NULL; not taken. Takes `value`.
void commit_update(const struct op *op, struct stored *object, struct json *value, const struct json *old,
                   bool same_spec);
// As commit_update with what is stored now as `old`.
void commit_replace(const struct op *op, struct stored *object, struct json *value, bool same_spec);
void commit_noop(const struct op *op, struct stored *object);
void commit_remove(const struct op *op, struct stored *object);

// Of the cluster's own controllers.
struct op commit_internal_op(struct kind *kind, const char *namespace_, const char *name, enum world_verb verb,
                             struct world_response *response);
void commit_internal_update(struct stored *object, struct json *value, bool same_spec); // takes `value`
void commit_internal_remove(struct stored *object);
// Of an object that is being deleted: it goes with its last finalizer.
void commit_drop_finalizer(struct stored *object, const char *finalizer);

// Counts a rejected write.
void commit_refused(const struct op *op);
