// SPDX-License-Identifier: Apache-2.0
// Whether the management cluster knows the field managedBy of each kind: an API server whose version of the kind is too
// old drops it from every object, which then runs in the management cluster as if nobody had delegated it. Asked of the
// server's OpenAPI v3 document a moment after a list has begun, and again every few minutes while the field is missing.
// Belongs to the thread of its transport.
#ifndef WHARF_HOST_WATCHERS_FIELD_CHECK_H
#define WHARF_HOST_WATCHERS_FIELD_CHECK_H

#include "core/adapter/adapters.h"
#include "core/base/clock.h"
#include "core/kube/transport/transport.h"

#define FIELD_CHECK_DELAY_NS (5 * CLOCK_SECOND) // lists come first
#define FIELD_CHECK_AGAIN_NS (5 * CLOCK_MINUTE) // while it is missing

struct field_check_options {
    struct transport *transport; // not owned
    struct kind *const *kinds;   // not owned
    size_t n_kinds;
    // Of one kind, each time that it was found or not. On the transport's thread.
    void (*found)(void *ctx, size_t kind, bool lacks);
    void *ctx;
};

struct field_check;
struct error *field_check_new(const struct field_check_options *options, struct field_check **out);
void field_check_free(struct field_check *check); // NULL is allowed

// More kinds; the first ones are the same.
void field_check_set_kinds(struct field_check *check, struct kind *const *kinds, size_t n_kinds);
// The kind is served in this version, one of its own.
void field_check_listing(struct field_check *check, size_t kind, const char *version);
// Does what is due; returns the monotonic time of the next call needed.
int64_t field_check_tick(struct field_check *check, struct moment now);

#endif
