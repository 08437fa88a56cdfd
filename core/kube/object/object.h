// SPDX-License-Identifier: Apache-2.0
// A Kubernetes object received from a server: parsed for immediate use, and as compact text for storage. Fields that
// the host never needs (managedFields, kubectl's last-applied annotation) are stripped.
#pragma once

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/json.h"

#include <stdatomic.h>

// The memory limits of one cluster. docs/memory.md has the table.

#define BUDGET_DEFAULT ((size_t)64 << 20)
#define BUDGET_LEAST ((size_t)32 << 20)
#define BUDGET_OBJECT_SIZE ((size_t)2 << 20) // more than etcd stores
#define BUDGET_OBJECT_NODES ((size_t)100000)
#define BUDGET_STATUS_SIZE ((size_t)256 << 10)

// One cluster's limits, owned by its thread. NULL means the defaults, without `stop`.
struct budget {
    size_t max_object_size;  // bytes of an object's JSON text after stripping
    size_t max_object_nodes; // JSON values in an object
    size_t max_status_size;  // bytes of an object's status (status_limit); 0, which is so at first: any
    size_t max_answer;       // decoded bytes of one response body
    size_t max_frame;        // bytes of one event of a watch
    size_t max_buffered;     // bytes of all incomplete responses and frames together
    size_t max_queued;       // bytes queued for the engine, see turn.h
    size_t max_kept;         // bytes kept about other objects than workloads and mirrors: nodes, pods
    const atomic_bool *stop; // once true, parsing stops; may be NULL
    size_t buffered, kept;   // currently
};

// Divides `per_cluster` bytes among the limits; 0 selects the default for each argument.
void budget_init(struct budget *budget, size_t per_cluster, size_t max_object_size, size_t max_object_nodes,
                 const atomic_bool *stop);

// The same for a budget in use: buffered and kept bytes stay counted. A message keeps a maximum that was set before.
void budget_resize(struct budget *budget, size_t per_cluster, size_t max_object_size, size_t max_object_nodes);

// The defaults if `budget` is NULL.
const struct budget *budget_or_default(const struct budget *budget);

// Counts `bytes` as buffered. False: over the maximum; counts nothing then. NULL: no limit.
bool budget_take(struct budget *budget, size_t bytes);
void budget_give(struct budget *budget, size_t bytes);

// Kept data of `before` counted bytes now has `bytes`. False: all kept data together would exceed the maximum; counts
// nothing then. A decrease always counts. NULL: no limit.
bool budget_keep(struct budget *budget, size_t before, size_t bytes);

struct object {
    struct json *value; // an object with metadata.name
    char *text;         // `value` as compact JSON, NUL-terminated
    size_t len;
    size_t size; // of the received text, before stripping
    // Not NULL: a stub of an object over maxObjectSize or maxObjectNodes, and this is the reason ("it has 9000000
    // bytes, and maxObjectSize is 2097152"). `value` has apiVersion, kind, and of metadata name, namespace, uid,
    // resourceVersion, generation, deletionTimestamp, the first ownerReferences, labels and annotations with the prefix
    // wharf.dev/, and the fields in object_limits.kept.
    char *too_large;
    bool sensitive; // made in a section of sensitive.h: `text` is overwritten before it is freed, like `value`
    char *reduced;  // not NULL: the status was reduced (status_limit), and this says why and how
};

#define OBJECT_OWN_PREFIX "wharf.dev/"

extern const char *const object_stub_fields[]; // patterns of the fields of a stub but for object_limits.kept

// Limits up to which an object is parsed completely.
struct object_limits {
    const struct budget *budget;    // NULL: the defaults
    const char *const *kept;        // JSON pointers of short values kept in stubs, NULL-terminated; may be NULL
    const char *const *only;        // patterns of the fields to parse, others are cut off first (span.h); NULL: all
    const char *api_version, *kind; // filled in if missing (items of a list); may be NULL
};

// Takes ownership of `value`, also on failure. `api_version` and `kind`, which may be NULL, are filled in if missing
// (items of a list). Errors name the missing part: not an object, no metadata, no name, no uid, no resourceVersion.
struct error *object_new(struct json *value, const char *api_version, const char *kind, struct object **out);
// The same from text: stripped fields are not even parsed. `text` need not be NUL-terminated and may be surrounded by
// white space. Also returns the errors of json_parse.
struct error *object_parse(const char *text, size_t len, const char *api_version, const char *kind,
                           struct object **out);
// The same within limits, which apply after stripping: an object over them becomes a stub.
struct error *object_parse_bounded(const char *text, size_t len, const struct object_limits *limits,
                                   struct object **out);
// A stub, see `too_large`, of the text of an object. `kept` is as in the limits; `why` NULL means out of memory.
struct error *object_stub(const char *text, size_t len, const char *api_version, const char *kind,
                          const char *const *kept, const char *why, struct object **out);
// Approximate upper bound of the memory that the object takes, in bytes.
size_t object_cost(const struct object *object);
// The same for a text and the value parsed from it.
size_t object_text_cost(const char *text, size_t len);
void object_free(struct object *object);

// A copy of the text of an object, or a patch of one, with another metadata.namespace (an RFC 1123 label) if the text
// has one. NULL: out of memory; free().
char *object_text_in(const char *text, size_t len, const char *namespace_, size_t *out_len);
// The same for an object. False: out of memory; nothing has changed.
bool object_move(struct object *object, const char *namespace_);

// metadata fields; "" if absent, never NULL.
const char *object_name(const struct json *value);
const char *object_namespace(const struct json *value);
const char *object_uid(const struct json *value);
const char *object_version(const struct json *value);                     // resourceVersion
int64_t object_generation(const struct json *value);                      // 0 if absent
const char *object_label(const struct json *value, const char *key);      // NULL if absent
const char *object_annotation(const struct json *value, const char *key); // NULL if absent
bool object_is_list(const struct json *value);                            // with items; null: none
bool object_is_being_deleted(const struct json *value);                   // has a deletionTimestamp

// True: the kind is a list's ("JobList", "List"); also returns the length of the prefix that is the kind of its items.
bool object_kind_is_list(const char *kind, size_t *item_kind_len);

// The ownerReference with controller: true, or NULL.
const struct json *object_controller(const struct json *value);

// Compares two resourceVersions of one object: <0, 0, >0 if a is older, equal, newer. Versions are opaque; decimal ones
// compare as unbounded decimals (apimachinery util/resourceversion). *comparable is false for versions that are not
// decimal and differ.
int object_version_compare(const char *a, const char *b, bool *comparable);
bool object_version_is_older(const char *a, const char *b); // certainly

// The limit of a copied status. A larger status of a worker is reduced before the engine gets the object: neither the
// management cluster's etcd nor the engine's thread pays for the size. Fields that describe the state stay: conditions,
// counts and other short values.

// One JSON value counts at least as many bytes: short values take the time.
#define STATUS_VALUE_BYTES 16

// Reduces the status of an object to `max` bytes, and to one value for each STATUS_VALUE_BYTES of `max`; `reduced` then
// names the omitted parts. Until the status is small enough, in this order: cuts long messages; omits the largest lists
// and mappings, then the longest texts, short members beyond the first 64, and the largest conditions. Whole members of
// a status are optional in the API of every kind except for a few short texts. 0: no limit.
struct error *status_limit(struct object *object, size_t max);

// Kubernetes quantities ("500m", "1.5Gi", "1e3"; apimachinery pkg/api/resource), exactly.

#define QUANTITY_MAX 128 // characters of one that is read

// The quantity in units of 1, or of a thousandth if `milli`, rounded away from 0 as by Quantity.Value() and
// MilliValue(); beyond the range of an int64_t it is INT64_MAX or -INT64_MAX. False: not a quantity.
bool quantity_parse(const char *text, bool milli, int64_t *value);

// The scheduler counts cpu in thousandths and everything else in units.
bool quantity_is_milli(const char *resource);

// Appends a readable amount of a resource: "3", "1500m", "1.5Gi" (rounded up to a tenth).
void quantity_put(struct buffer *out, const char *resource, int64_t amount);
