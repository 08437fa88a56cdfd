// SPDX-License-Identifier: Apache-2.0
// Values of earlier attempts for the pods of the next one: environment variables of each container of a mirror, set at
// the create, at the places that `pods` and `references` name. wharf_kind.continuity names the values. The workload's
// annotation wharf.dev/previous keeps them; the mirror's marks say which variables the host set, so that a carried pod
// template keeps them.
#pragma once

#include "core/adapter/adapters.h"

#define MARK_CONTINUE "wharf.dev/continue" // annotation of a workload, "false": each attempt starts from nothing
#define MARK_PREVIOUS "wharf.dev/previous" // annotation of both: JSON, values of earlier attempts (wharf_continuity)
#define VALUES_UID "uid" // member in that of a workload: its uid. Names of values have no small letters
// Annotation of both, "true": the pods have VALUES_ATTEMPT.
#define MARK_ATTEMPT_ENV "wharf.dev/attempt-env"

#define VALUES_ATTEMPT "WHARF_ATTEMPT"    // the number of the attempt
#define VALUES_PREFIX "WHARF_PREVIOUS_"   // of the other variables
#define VALUES_ONE_MAX ((size_t)4 * 1024) // bytes of a value

// Neither the configuration nor the workload has turned off that attempts go on where the former one was.
bool continuity_is_wanted(const struct kind *kind, const struct json *workload);
// Which of the two turned it off; NULL: none, or the kind has nothing that goes on.
const char *continuity_off(const struct kind *kind, const struct json *workload);

// An annotation of the workload with a value that the host ignores.
struct values_ignored {
    const char *key, *value, *expected;
};
// The next one, from the *index-th annotation on, which advances. False: no more.
bool values_next_ignored(const struct json *workload, size_t *index, struct values_ignored *out);

// The source of a mirror: the workload, or a copy in *own with the variables in its pods. `mirror`: the present one,
// whose variables stay; NULL: before the create. NULL: out of memory.
const struct json *values_source(const struct kind *kind, const struct json *workload, const struct json *mirror,
                                 uint32_t attempt, struct json **own);
// Marks a new mirror with these variables. False: out of memory.
bool values_mark(const struct kind *kind, const struct json *workload, uint32_t attempt, struct json *mirror);

// For the placement of `attempt`: appends `,"wharf.dev/previous":"..."` with the values of the workload's status, or of
// earlier attempts where the status has none; nothing where the annotation stays as it is. Appends to `left_out` the
// names of values that cannot be environment variables. False: out of memory.
bool values_keep(const struct kind *kind, const struct json *workload, uint32_t attempt, struct buffer *out,
                 struct buffer *left_out);
