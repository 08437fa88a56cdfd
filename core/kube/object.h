// SPDX-License-Identifier: Apache-2.0
// A Kubernetes object as it came from a server: parsed for looking at now, and as compact text for keeping. What the
// host never needs (managedFields, kubectl's last-applied annotation) is stripped on the way in.
#ifndef WHARF_KUBE_OBJECT_H
#define WHARF_KUBE_OBJECT_H

#include "core/base/error.h"
#include "core/json/json.h"
#include "core/kube/budget.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object {
    struct json *value; // an object with metadata.name
    char *text;         // `value` as compact JSON, NUL-terminated
    size_t len;
    // Not NULL: a stub of an object beyond maxObjectSize or maxObjectNodes, and this says so in words ("it has 9000000
    // bytes, and maxObjectSize is 2097152"). The object exists, and that is all that is known: `value` has apiVersion,
    // kind, and of metadata name, namespace, uid, resourceVersion, generation, deletionTimestamp, the first
    // ownerReferences, labels and annotations with the prefix wharf.dev/; besides what object_limits.kept names.
    char *too_large;
};

#define OBJECT_OWN_PREFIX "wharf.dev/"

// What an object may be like to be read whole.
struct object_limits {
    const struct budget *budget; // NULL: the defaults
    const char *const *kept;     // JSON pointers of short values that stubs have too, NULL at the end; may be NULL
};

// Takes `value` (also on failure). `api_version` and `kind` are filled in if the object lacks them (items of a list);
// may be NULL. Errors say what is missing: not an object, no metadata, no name, no uid, no resourceVersion.
struct error *object_new(struct json *value, const char *api_version, const char *kind, struct object **out);
// The same from a text: what is stripped is not even parsed. `text` need not end with NUL and may have white space
// around it. Besides, whatever json_parse says.
struct error *object_parse(const char *text, size_t len, const char *api_version, const char *kind,
                           struct object **out);
// The same within limits, for which what is stripped does not count: an object beyond them comes as a stub.
struct error *object_parse_bounded(const char *text, size_t len, const char *api_version, const char *kind,
                                   const struct object_limits *limits, struct object **out);
// Bytes of memory that the object takes, at most about so many.
size_t object_cost(const struct object *object);
// The same for a text and what is parsed from it.
size_t object_text_cost(const char *text, size_t len);
void object_free(struct object *object);

// metadata fields; "" if absent, never NULL.
const char *object_name(const struct json *value);
const char *object_namespace(const struct json *value);
const char *object_uid(const struct json *value);
const char *object_version(const struct json *value);                     // resourceVersion
int64_t object_generation(const struct json *value);                      // 0 if absent
const char *object_label(const struct json *value, const char *key);      // NULL if absent
const char *object_annotation(const struct json *value, const char *key); // NULL if absent
bool object_is_list(const struct json *value);                            // with items
bool object_is_being_deleted(const struct json *value);                   // has a deletionTimestamp

// Whether the kind is that of a list ("JobList", "List"), and how much of it names the kind of its items.
bool object_kind_is_list(const char *kind, size_t *item_kind_len);

// The ownerReference with controller: true, or NULL.
const struct json *object_controller(const struct json *value);

// Order of two resourceVersions of one object: <0, 0, >0 as a is older, same, newer. Versions are opaque; decimal ones
// are compared as unbounded decimals (apimachinery util/resourceversion). *comparable is false when they are not
// decimal and differ.
int object_version_compare(const char *a, const char *b, bool *comparable);

#endif
