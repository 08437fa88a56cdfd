// SPDX-License-Identifier: Apache-2.0
// The workload kinds that come with a CRD: what their API server and webhooks reject, and controller behaviour that is
// a rule of the kind rather than a story (player.h). A kind that is not in the table is checked for metadata only.
#pragma once

#include "tests/world/world.h"

struct field_problems;

enum custom_change {
    CUSTOM_MAY_CHANGE,
    CUSTOM_SET_ONCE, // changing the value is rejected; adding and removing is allowed (CEL: a rule with oldSelf on a
                     // field)
    CUSTOM_IMMUTABLE
};

struct custom {
    struct world_kind kind;
    const char *managed_by; // pointer; NULL: not known, and nothing below is
    const char *builtin;    // the kind's own controller; NULL: none has a name
    bool closed;            // only `builtin` and kueue.x-k8s.io/multikueue are allowed
    bool domain_prefixed;   // checked for its form
    bool defaulted;         // the server sets `builtin` where it is absent
    enum custom_change managed_by_change;
    const char *suspend, *suspend_value;    // pointer, and the string that means suspended; NULL: a boolean
    const char *const *set_once;            // pointers, as CUSTOM_SET_ONCE
    const char *frozen;                     // pointer: below it nothing changes
    const char *const *loose;               // but these patterns
    const char *const *loose_suspended;     // and these while it is suspended, before or after the write
    const char *active;                     // and none of these counts is more than 0
    bool done_is_done;                      // once condition Succeeded says True or False, nothing of the spec changes
    const char *ttl_succeeded, *ttl_failed; // pointers to the TTL of a finished object, in seconds
};

// NULL if it is not in the table.
const struct custom *custom_find(const char *group, const char *plural);
const struct custom *custom_by_plural(const char *plural);

void custom_defaults(const struct custom *custom, struct json *value);
void custom_check(const struct custom *custom, const struct json *value, struct field_problems *problems);
void custom_check_update(const struct custom *custom, const struct json *value, const struct json *old,
                         struct field_problems *problems);

// A status from outside.
void custom_check_status(const struct custom *custom, const struct json *value, struct field_problems *problems);

// managedBy names another manager than the kind's own controller.
bool custom_delegated(const struct custom *custom, const struct json *value);

// TTL of a finished object in seconds; -1: none.
int64_t custom_ttl_s(const struct custom *custom, const struct json *value, bool succeeded);
