// SPDX-License-Identifier: Apache-2.0
// The texts of Events: bodies, names, keys.
#ifndef WHARF_KUBE_API_EVENTS_INTERNAL_H
#define WHARF_KUBE_API_EVENTS_INTERNAL_H

#include "core/base/text.h"
#include "core/kube/api/events.h"

// Limits of pkg/apis/core/validation/events.go.
#define EVENT_NOTE_MAX 1024
#define EVENT_WORD_MAX 128

// Occurrences with the same key form a series. NULL when out of memory.
char *event_key(const struct event *event);
// The key of the rate limit: object and reason. NULL when out of memory.
char *event_bucket_key(const struct event *event);

// "<object>.<hex>"; a random UUID if that is not a valid object name. NULL when out of memory.
char *event_name(const struct event *event, int64_t stamp_ns, struct random *random);

// The Event as JSON, without "series" and the closing brace. NULL when out of memory.
char *event_body(const struct event *event, const char *name, const char *controller, const char *instance,
                 int64_t wall_ns);

// "series":{...}, without braces around it.
bool event_series(struct buffer *out, int64_t count, int64_t wall_ns);

// Where Events about an object live: its namespace, or "default".
const char *event_namespace(const struct event *event);

#endif
