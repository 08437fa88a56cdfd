// SPDX-License-Identifier: Apache-2.0
// The checks of an adapter's data about a kind: missing, malformed and contradictory fields. An adapter is third-party
// code: the only assumption is that pointers have valid targets of the declared types. The checked kind has lists of
// the host's own element sizes. Internal to core/adapter.
#pragma once

#include "core/base/error.h"

#include <wharf/adapter.h>

#define KIND_LIST_MAX 1024 // a longer list lacks its terminator

// Whether all of the struct can be read; and whether its texts and lists can be, of a struct of at least ABI 1.0: the
// end of a list may be missing.
bool kind_is_struct(const wharf_kind *given);
struct error *kind_readable(const wharf_kind *given);

// Group, kind, plural, versions, flags.
struct error *kind_check_names(const wharf_kind *kind);
struct error *kind_check_group(const char *field, const char *group); // each of these also refuses NULL
struct error *kind_check_kind(const char *field, const char *kind);
struct error *kind_check_plural(const char *field, const char *plural);
struct error *kind_check_version(const char *field, const char *version);

// managed_by and the values. `configured` is the value in the configuration, or NULL; `value` the one that the host
// manages.
struct error *kind_check_managed_by(const wharf_kind *kind, const char *configured, const char *controller_name,
                                    const char **value);

// suspend, carried, removed, pods.
struct error *kind_check_mirror(const wharf_kind *kind);

// status_removed, observed_generation, finished_at, condition_time, phases.
struct error *kind_check_status(const wharf_kind *kind);

// progress, continuity.
struct error *kind_check_continuity(const wharf_kind *kind);

// suspended_status, resumed_status, gave_up_status.
struct error *kind_check_changes(const wharf_kind *kind);

// references.
struct error *kind_check_references(const wharf_kind *kind);

// children, with child_progress.
struct error *kind_check_children(const wharf_kind *kind);

struct error *kind_missing(const char *field); // a required one
// "<field>: found "<found>", expected <expected>".
struct error *kind_wrong(const char *field, const char *found, const char *expected);
// "<field>: found ..., expected ..."; `about` is the text of the adapter that is wrong (see struct error), or NULL.
struct error *kind_error(const char *about, const char *format, ...) __attribute__((format(printf, 2, 3)));

enum kind_place {
    PLACE_SPEC = 1,   // a field of the spec, or any other that is neither metadata nor status
    PLACE_LABELS = 2, // one label or annotation
    PLACE_STATUS = 4, // below /status
    PLACE_PATTERN = 8 // "*" may stand for a segment
};

// Checks for a pointer to one of the given places; `places` is a combination of the above.
struct error *kind_check_pointer(const char *field, const char *pointer, unsigned places);
// The same for all items of a list, which must be distinct.
struct error *kind_check_pointers(const char *field, const char *const *list, unsigned places);
// Checks that a list has a terminator and no duplicates.
struct error *kind_check_list(const char *field, const char *const *list, size_t *count);

// Checks that a pattern has the same path as `like` up to the last "*" of `until`, one of both.
struct error *kind_check_path(const char *field, const char *pattern, const char *like, const char *until);

// True if the fields that `outer` matches are or contain all fields that `inner` matches. False if one is NULL.
bool kind_covers(const char *outer, const char *inner);
// The first of the patterns that covers `pointer`, or NULL.
const char *kind_covering(const char *const *patterns, const char *pointer);
