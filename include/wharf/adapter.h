// SPDX-License-Identifier: Apache-2.0
//
// wharf/adapter.h - the adapter ABI, version 1.2. The one public header of wharf, and all that an adapter needs.
//
// An adapter teaches the wharf host one or more Kubernetes workload kinds. The host finds the objects ("workloads") in
// the management cluster that the kind's managedBy field delegates to it, creates a copy ("mirror") of each in a worker
// cluster, and copies the mirror's status back. The host has everything that kinds have in common. An adapter has the
// differences, most of them as data (struct wharf_kind). Functions can express the rest; a kind that data describes
// completely needs none of them.
//
// Loading
//   An adapter is a shared object that exports exactly one symbol, the constant `wharf_module_v1` (type wharf_module).
//   The host opens it with RTLD_NOW | RTLD_LOCAL, checks all data before the first call, and never unloads it.
//
// Threads
//   The host may call functions of an adapter from any thread, several at once, also for the same object. Only `start`
//   runs alone, once, before all others. If the configuration adds kinds to an adapter in use, the host loads another
//   instance, with variables of its own. The only mutable state is that of `start`, so an adapter needs no lock, starts
//   no thread, forks no process, installs no signal handler and does no I/O. A function returns within microseconds.
//
// Memory
//   All values and strings that an adapter receives or makes during a call live until that call returns, also those
//   that it replaced or removed; then the host frees them. An adapter frees nothing and keeps nothing between calls.
//   The module, its kinds and their data must stay valid and unchanged until the process ends: static const data.
//
// Failures
//   The host remembers the first service that failed during a call, so an adapter need not check results. Lack of
//   memory makes the result WHARF_RETRY. Bad input (a malformed pointer, a field set below a string, an absent value
//   where one is required) makes it WHARF_REFUSED, with a sentence by the host that names the pointer and the types.
//   Both override the adapter's result and answer; a failure during `start` refuses the adapter. A service that fails
//   returns NULL or 0. All accept NULL for a value or a text, so calls can be chained. Reading never fails.
//
// Determinism
//   The same input gives the same output. Time comes in through struct wharf_call; an adapter reads no clock and no
//   random number. The host may call a function at any time, any number of times, also after a restart.
//
// Compatibility
//   The major version is in the symbol's name. Within major version 1, structs grow only at their end, and nothing else
//   changes. A struct begins with its size, or the struct with a list has the size of its elements: a missing field
//   counts as zero. An adapter that works without a new function of wharf_host checks WHARF_HAS; any other one requires
//   the host's minor version (wharf_module.abi_minor). The host passes a new enumerator to an adapter only where the
//   comment says "unknown values: ...". So an adapter built against 1.0 runs on every host 1.x.
#ifndef WHARF_ADAPTER_H
#define WHARF_ADAPTER_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WHARF_ABI_MAJOR 1
#define WHARF_ABI_MINOR 2
// Keeps wharf_module_v1 visible under -fvisibility=hidden.
#if defined(__GNUC__)
#define WHARF_EXPORT __attribute__((visibility("default")))
#define WHARF_PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#else
#define WHARF_EXPORT
#define WHARF_PRINTF(format_at, first_at)
#endif

// Ends the fields that an adapter fills: without it, C++ compilers warn about a field that an initializer leaves out.
#ifdef __cplusplus
#define WHARF_0 = {}
#else
#define WHARF_0
#endif

// True if the struct that `pointer` points to, as its writer built it, has `field`.
#define WHARF_HAS(type, pointer, field) ((pointer)->size >= offsetof(type, field) + sizeof((pointer)->field))

// Values --------------------------------------------------------------------------------------------------------------

// A JSON value: only the services read it, and change one that is not const. Numbers keep their digits, members order.
typedef struct wharf_value wharf_value;
// The type of a value. Enumerations are 32-bit integers: the size of an enum depends on the compiler.
typedef uint32_t wharf_type;
enum {
    WHARF_ABSENT = 0, // the type of NULL
    WHARF_NULL = 1,
    WHARF_BOOL = 2,
    WHARF_NUMBER = 3,
    WHARF_STRING = 4,
    WHARF_ARRAY = 5,
    WHARF_OBJECT = 6
};

// The result of a function of an adapter.
typedef uint32_t wharf_result;
enum {
    WHARF_OK = 0,     // the output is filled
    WHARF_RETRY = 1,  // not now: the host calls again after wharf_answer.retry_after_ms, and ignores the output
    WHARF_REFUSED = 2 // impossible for the workload in its present form: the host reports wharf_answer.message in an
                      // Event, calls again when the workload or the mirror changes, and ignores the output
};

// Levels of log lines. Unknown values: as WHARF_LOG_INFO.
typedef uint32_t wharf_log_level;
enum { WHARF_LOG_ERROR = 0, WHARF_LOG_WARN = 1, WHARF_LOG_INFO = 2, WHARF_LOG_DEBUG = 3 };

// The reason for a result other than WHARF_OK. With WHARF_OK of `mirror` or `update`, a message, which the host tells
// in an Event, names changes that were left out. All fields after `size` are zero at the begin of a call.
typedef struct wharf_answer {
    size_t size;             // set by the host
    const char *reason;      // CamelCase word, as in Event.reason; NULL: the host's own
    const char *message;     // one sentence, UTF-8; the first 1,024 bytes are used (Event.note); NULL: none
    uint32_t retry_after_ms; // with WHARF_RETRY; 0: the host chooses the delay
} wharf_answer;

// The state of the mirror during a call. Unknown values: as WHARF_MIRROR_NONE.
typedef uint32_t wharf_mirror_state;
enum {
    WHARF_MIRROR_NONE = 0,    // there is none: the workload is not placed yet, or the mirror is known to be gone
    WHARF_MIRROR_PRESENT = 1, // the call has the mirror as last seen
    WHARF_MIRROR_LOST = 2     // given up after workerLostTimeout: the mirror may still run in the worker
};

// The context of a call. Valid during the call.
typedef struct wharf_call {
    size_t size;                   // set by the host
    const struct wharf_kind *kind; // the adapter's own struct; NULL in `score` for a kind of another adapter
    const char *now;      // the present time as metav1.Time, "2026-01-02T03:04:05Z", for a timestamp in a status
    int64_t now_ns;       // the same instant in nanoseconds since 1970-01-01T00:00:00Z
    const char *cluster;  // name of the worker cluster that the workload is placed in, or NULL
    uint32_t attempt;     // number of the present placement, 1 for the first; 0: not placed yet
    const char *version;  // the served API version that the objects are in, e.g. "v1"
    wharf_answer *answer; // to be filled for WHARF_RETRY and WHARF_REFUSED
    void *host_data;      // private to the host
    wharf_mirror_state mirror_state; // for `status`; WHARF_MIRROR_PRESENT in `update`, WHARF_MIRROR_NONE in the others
} wharf_call;

// Services of the host ------------------------------------------------------------------------------------------------

// The host stores a pointer to this table in wharf_module.host; the table is valid until the process ends. A service
// with a parameter `call` works only during that call, on the thread of the call, with the pointer that the host
// passed. During `start`, and only then, `call` is NULL; values and texts made then live as long as the process.
//
// Pointers are JSON pointers (RFC 6901): "/spec/template", "" for the value itself, "~1" for a slash and "~0" for a
// tilde in a name. In a pattern, a segment "*" matches any item of an array and any member of an object ("~2": "*").
typedef struct wharf_host {
    size_t size;         // of this struct, as the host built it
    uint32_t abi_major;  // WHARF_ABI_MAJOR of the host
    uint32_t abi_minor;  // WHARF_ABI_MINOR of the host
    const char *version; // of the host, e.g. "0.1.0"

    // Reading. NULL is accepted everywhere and is WHARF_ABSENT. `find` gives the value at `pointer`, or NULL; a
    // malformed pointer finds nothing.
    wharf_type (*type)(const wharf_value *value);
    const wharf_value *(*find)(const wharf_value *value, const char *pointer);
    // The first object in the array with the string `text` as `key`: (job, "/status/conditions", "type", "Complete").
    const wharf_value *(*find_where)(const wharf_value *value, const char *pointer, const char *key, const char *text);
    // 1 if the value at `pointer` is the string `text`, the boolean "true" or "false", or a number equal to that of
    // `text`. is(job, "/spec/completionMode", "Indexed"), is(job, "/spec/suspend", "true")
    int (*is)(const wharf_value *value, const char *pointer, const char *text);
    // The text of a string (NUL-terminated UTF-8), or NULL: another type, or the string contains U+0000.
    const char *(*string)(const wharf_value *value);
    // `fallback` if the value is not a boolean (0 or 1), not a whole number that fits, not a number.
    int (*boolean)(const wharf_value *value, int fallback);
    int64_t (*integer)(const wharf_value *value, int64_t fallback);
    double (*number)(const wharf_value *value, double fallback);
    // Items of an array, members of an object: their number (0 for other values), the first, the next; NULL at the end.
    size_t (*count)(const wharf_value *value);
    const wharf_value *(*first)(const wharf_value *value);
    const wharf_value *(*next)(const wharf_value *item);
    // The name of a member of an object; NULL for items of arrays and for values that are no members.
    const char *(*name)(const wharf_value *member);
    // 1 if both are the same document: members in any order, numbers by value. Two NULLs are equal.
    int (*equal)(const wharf_value *a, const wharf_value *b);
    // The first one in /status/conditions with this type and status ("True", "False", "Unknown"; NULL: any); or NULL.
    const wharf_value *(*condition)(const wharf_value *object, const char *type, const char *status);
    // Parses RFC 3339 (metav1.Time, metav1.MicroTime) into nanoseconds since 1970. 1, or 0 if that is no time.
    int (*parse_time)(const char *text, int64_t *ns);

    // Making.
    wharf_value *(*new_null)(const wharf_call *call);
    wharf_value *(*new_boolean)(const wharf_call *call, int value);
    wharf_value *(*new_integer)(const wharf_call *call, int64_t value);
    wharf_value *(*new_string)(const wharf_call *call, const char *text);
    wharf_value *(*new_array)(const wharf_call *call);
    wharf_value *(*new_object)(const wharf_call *call);
    wharf_value *(*copy)(const wharf_call *call, const wharf_value *value);      // of NULL: NULL
    wharf_value *(*parse)(const wharf_call *call, const char *text, size_t len); // of `len` bytes of JSON
    // Compact JSON, NUL-terminated; of NULL: NULL. `len` may be NULL.
    const char *(*print)(const wharf_call *call, const wharf_value *value, size_t *len);
    const char *(*format)(const wharf_call *call, const char *format, ...)WHARF_PRINTF(2, 3); // printf
    const char *(*format_time)(const wharf_call *call, int64_t ns);                           // metav1.Time
    // `size` zeroed bytes, aligned for anything; they live as values do.
    void *(*memory)(const wharf_call *call, size_t size);

    // Changing. `root` is a value that may be changed: an argument documented as such, or a value made during the call.
    // `pattern` is a pointer or a pattern; a pattern applies to every existing match of all but its last segment.
    //
    // Sets a copy of `value`; one value may be set in several places. Missing objects above the field are created (not
    // below "*"). An index of an array must exist; "-" as the last segment appends. "" replaces the content of `root`
    // by that of a value of the same type.
    void (*set)(const wharf_call *call, wharf_value *root, const char *pattern, const wharf_value *value);
    // Shorthands for set.
    void (*set_string)(const wharf_call *call, wharf_value *root, const char *pattern, const char *text);
    void (*set_integer)(const wharf_call *call, wharf_value *root, const char *pattern, int64_t value);
    void (*set_boolean)(const wharf_call *call, wharf_value *root, const char *pattern, int value);
    // Returns the number of removed values; later items of an array move up.
    size_t (*remove)(const wharf_call *call, wharf_value *root, const char *pattern);
    // Makes the field in `root` equal to the field in `from`: sets the field, or removes it if `from` has none. In a
    // pattern, "*" pairs each item or member of `root` with the one of the same index or name in `from`.
    void (*take)(const wharf_call *call, wharf_value *root, const wharf_value *from, const char *pattern);
    // The value at `pointer` of `root`, for changes; NULL if there is none, which is not a failure.
    wharf_value *(*edit)(const wharf_call *call, wharf_value *root, const char *pointer);
    // Adds a condition to /status/conditions of `object`, or changes status, reason and message (NULL: unchanged) of
    // the one of this type; returns it, for other changes. If it is new or its status changes, its times
    // (lastTransitionTime and wharf_kind.condition_time) become those of the workload's condition of this type and
    // status, else call->now.
    wharf_value *(*set_condition)(const wharf_call *call, wharf_value *object, const char *type, const char *status,
                                  const char *reason, const char *message);

    // Writes a log line, with the names of adapter and object. The host copies `message`.
    void (*log)(const wharf_call *call, wharf_log_level level, const char *message);
} wharf_host;

// A kind --------------------------------------------------------------------------------------------------------------

// The phase of a workload. Unknown values (a newer adapter on an older host): as WHARF_ACTIVE.
typedef uint32_t wharf_phase_kind;
enum {
    WHARF_PENDING = 0,   // accepted; no pod runs yet
    WHARF_SUSPENDED = 1, // suspended by its user; no pod runs
    WHARF_ACTIVE = 2,    // runs, starts or stops
    WHARF_SUCCEEDED = 3, // finished; will never run again
    WHARF_FAILED = 4     // finished; will never run again
};

// Output of `phase`, filled by the host before the call.
typedef struct wharf_phase {
    size_t size;
    wharf_phase_kind phase;
    const char *reason;   // CamelCase word from the status (a condition's reason), or NULL
    const char *message;  // a sentence, or NULL
    int64_t since_ns;     // with SUCCEEDED and FAILED: the time of the end, nanoseconds since 1970; 0: unknown
    uint32_t not_started; // since 1.1; with ACTIVE, 1: none of its pods has run yet, and pendingTimeout may withdraw it
} wharf_phase;

// A rule about the phase. The first matching rule of a list decides.
//   {"/status/conditions", "Complete", .phase = WHARF_SUCCEEDED}: the array has a condition of this type that is True
//   {"/status/conditions", "Succeeded", "False", .phase = WHARF_FAILED}: ... that is False
//   {"/status/state", "ready", .phase = WHARF_ACTIVE}: a string, boolean or number is this one (see wharf_host.is)
typedef struct wharf_phase_rule {
    const char *pointer WHARF_0; // to an array of conditions or to a scalar, below /status; NULL ends the list
    const char *value WHARF_0;   // type of a condition, or the scalar as text; WHARF_RULE_EXISTS or `values` need none
    const char *status WHARF_0;  // of the condition; NULL: "True"
    const char *reason WHARF_0;  // of the condition; NULL: any
    wharf_phase_kind phase WHARF_0;
    uint32_t flags WHARF_0;            // WHARF_RULE_...
    const char *const *values WHARF_0; // since 1.2: more values, which match as `value` does; ends with NULL
    const char *key WHARF_0; // since 1.2: the member with the type; NULL: "type". "status" needs WHARF_RULE_EXISTS
} wharf_phase_rule;

// The rule applies only while the kind's `suspend` field suspends the object. A controller that reports "suspended" for
// a while after the object was resumed needs two rules: one with this flag, and one for WHARF_PENDING.
#define WHARF_RULE_WHILE_SUSPENDED UINT32_C(1)
// Since 1.2. With `value` or `values`: the array has such a condition, of any status. Without: the field, which may be
// any one, exists and is not null.
#define WHARF_RULE_EXISTS UINT32_C(2)
// Since 1.2. The rule matches only if the next one matches as well, so several rules in a row are one. The phase is
// that of the last one, which has no such flag; reason, message and time are those of the first one.
#define WHARF_RULE_AND UINT32_C(4)

// The condition for carrying a spec field from the workload to an existing mirror: always; or only while the object is
// suspended: while the mirror is, and in the patch that resumes the mirror.
enum { WHARF_CARRY_ALWAYS = 0, WHARF_CARRY_WHILE_SUSPENDED = 1 };

// A field that may change after creation. The host sets the field as in the workload, and removes a field that was
// carried before once the workload no longer has it. A change of any other field of the spec is only told in an Event.
typedef struct wharf_carried {
    // A pattern, "/spec/replicatedJobs/*/replicas". Items of arrays correspond by their member `key`; without that by
    // the index, in arrays of the same length. NULL ends the list.
    const char *pointer WHARF_0;
    const char *key WHARF_0; // "groupName"; NULL: "name"
    uint32_t when WHARF_0;   // WHARF_CARRY_...
} wharf_carried;

// Carried fields of a PodTemplateSpec: those that affect scheduling and may change while the pods do not run. `pattern`
// and `item_key` are string literals for `pointer` and `key`; `item_key` may be NULL.
#define WHARF_CARRIED_POD_TEMPLATE(pattern, item_key)                                                                  \
    {pattern "/metadata/labels", item_key, WHARF_CARRY_WHILE_SUSPENDED},                                               \
        {pattern "/metadata/annotations", item_key, WHARF_CARRY_WHILE_SUSPENDED},                                      \
        {pattern "/spec/nodeSelector", item_key, WHARF_CARRY_WHILE_SUSPENDED},                                         \
        {pattern "/spec/tolerations", item_key, WHARF_CARRY_WHILE_SUSPENDED}, {                                        \
        pattern "/spec/schedulingGates", item_key, WHARF_CARRY_WHILE_SUSPENDED                                         \
    }

// The location of pod templates, and the number of their pods.
typedef struct wharf_pods {
    const char *templates WHARF_0; // a pattern; each match is a PodTemplateSpec. NULL ends the list
    // Pointers to integers, ends with NULL: the number of pods is their product; an absent field is 1. A "*" is the
    // same item as at this place of `templates`. NULL: one pod.
    const char *const *counts WHARF_0;
    const char *fallback WHARF_0; // since 1.2: a pattern for the templates of pods that have none at `templates`, with
                                  // the same path up to the last "*". NULL: without a template, there are no pods
    int32_t offset WHARF_0;       // added to the last of `counts`: -1 for a size that includes a leader with other pods
    uint32_t flags WHARF_0;       // WHARF_PODS_...
} wharf_pods;

// A bit of wharf_pods.flags, since 1.2: each match is a PodSpec, or has its fields. A host refuses unknown bits.
#define WHARF_PODS_ARE_SPECS UINT32_C(1)

// Since 1.2. Other objects that an object needs, which the host copies into the worker, or checks there: a runtime, a
// Pipeline. Those of PodSpecs, ServiceAccounts and claims (ConfigMaps, classes, ...) the host finds by itself.
typedef struct wharf_reference {
    // A pattern of strings that name objects; others, like variables, do not count. NULL ends the list.
    const char *name WHARF_0;
    // In which objects: "pipelines.tekton.dev", of this list or of a PodSpec. NULL: in the workload, and its mirror.
    const char *of WHARF_0;
    const char *group WHARF_0, *version WHARF_0; // of the named object: "tekton.dev", "v1"
    const char *resource WHARF_0, *kind WHARF_0; // "tasks", "Task"
    // Patterns, in which a "*" is the same item as at this place of `name`; or NULL.
    const char *kind_at WHARF_0;    // of a string: the row counts only where it is `kind`. NULL: always
    const char *namespace_ WHARF_0; // of a string. NULL, or absent: that of the referring object, or of the workload
    const char *optional WHARF_0;   // of a boolean: true where the object may be missing
    uint32_t flags WHARF_0;         // WHARF_REFERENCE_...
} wharf_reference;

// Bits of wharf_reference.flags; a host refuses unknown ones.
#define WHARF_REFERENCE_CLUSTER_SCOPED UINT32_C(1) // the named object has no namespace
#define WHARF_REFERENCE_MADE UINT32_C(2)           // by the kind's controller: neither copied nor checked
#define WHARF_REFERENCE_KIND_DEFAULT UINT32_C(4)   // the row also counts where nothing is at `kind_at`
#define WHARF_REFERENCE_OPTIONAL UINT32_C(8)       // the object may be missing
// Each match of `name` is no name, but this, or has its fields: the row has only `name`, `of` and one of these bits.
#define WHARF_REFERENCE_PODS UINT32_C(16)       // a PodTemplateSpec
#define WHARF_REFERENCE_POD_SPECS UINT32_C(32)  // a PodSpec
#define WHARF_REFERENCE_CONTAINERS UINT32_C(64) // a Container: its environment
#define WHARF_REFERENCE_VOLUMES UINT32_C(128)   // a Volume

// The action of a status change. The members `name` and `value` of struct wharf_status_change depend on it:
//   change                `name`                        `value`                        `when`
//   WHARF_SET_CONDITION   the type of a condition       "True", "False" or "Unknown"   any
//   WHARF_SET_TEXT        a pointer below /status       the string                     WHARF_ALWAYS, WHARF_IF_ABSENT
//   WHARF_SET_ZERO        a pattern below /status       NULL                           WHARF_ALWAYS
//   WHARF_REMOVE          a pattern below /status       NULL                           WHARF_ALWAYS
enum {
    WHARF_SET_CONDITION = 0, // adds the condition, or changes its status, reason and message
    WHARF_SET_TEXT = 1,      // sets the field to the string
    WHARF_SET_ZERO = 2,      // sets each matching number that is not 0 to 0
    WHARF_REMOVE = 3         // removes each matching field
};

// When a status change applies: always; the workload has the condition as True; it has no such condition, or no field.
enum { WHARF_ALWAYS = 0, WHARF_IF_TRUE = 1, WHARF_IF_ABSENT = 2 };

// A change of the status of a workload that has no mirror. The WHARF_CHANGE_... macros below make one.
typedef struct wharf_status_change {
    uint32_t change WHARF_0;   // WHARF_SET_..., WHARF_REMOVE
    uint32_t when WHARF_0;     // WHARF_ALWAYS, WHARF_IF_...
    const char *name WHARF_0;  // see above; NULL ends the list
    const char *value WHARF_0; // see above
    // Of a condition, else NULL. The host replaces "{kind}", "{namespace}" and "{name}" by those of the workload; in
    // gave_up_status also "{message}" by the reason why no cluster accepts it, and "{now}" by the present time, these
    // two also in `value` of WHARF_SET_TEXT.
    const char *reason WHARF_0, *message WHARF_0;
} wharf_status_change;

// Elements of a list of status changes, in C and C++.
#define WHARF_CHANGE_CONDITION(when, type, status, reason, message)                                                    \
    { WHARF_SET_CONDITION, when, type, status, reason, message }
#define WHARF_CHANGE_TEXT(when, pointer, text)                                                                         \
    { WHARF_SET_TEXT, when, pointer, text, NULL, NULL }
#define WHARF_CHANGE_ZERO(pattern)                                                                                     \
    { WHARF_SET_ZERO, WHARF_ALWAYS, pattern, NULL, NULL, NULL }
#define WHARF_CHANGE_REMOVE(pattern)                                                                                   \
    { WHARF_REMOVE, WHARF_ALWAYS, pattern, NULL, NULL, NULL }

// Bits of wharf_kind.flags. A host refuses an adapter with unknown bits. The CRD has no status subresource: the host
// patches the status with the object. Excludes observed_generation, since each such write is a new generation.
#define WHARF_KIND_NO_STATUS_SUBRESOURCE UINT32_C(1)
// A service: the host takes SUCCEEDED and FAILED as ACTIVE.
#define WHARF_KIND_NEVER_FINISHES UINT32_C(2)

// Since 1.2. A value that the application left in the status, such as the path of a checkpoint: an environment variable
// WHARF_PREVIOUS_<name> of the next mirror's pods.
typedef struct wharf_continuity {
    const char *pointer WHARF_0; // below /status: of a string, number or boolean; NULL ends the list
    const char *name WHARF_0;    // "CHECKPOINT": upper-case letters, digits and "_", at most 40
} wharf_continuity;

// Since 1.2. Objects that the kind's controller makes for a suspended mirror, such as a JobSet's Jobs, with the same
// names in each attempt.
typedef struct wharf_child {
    const char *group WHARF_0, *version WHARF_0, *plural WHARF_0; // "batch", "v1", "jobs"; plural NULL ends the list
    const char *label WHARF_0;                                    // of a child: its value is the mirror's name
} wharf_child;

// One workload kind. Lists end with NULL, or with a struct whose first pointer is NULL; NULL is an empty list. Strings
// are UTF-8. The initializer begins with WHARF_KIND_SIZES.
typedef struct wharf_kind {
    size_t size WHARF_0; // sizeof(wharf_kind)
    // sizeof of the elements of the lists: carried; pods; phases; suspended_status, resumed_status and gave_up_status
    uint32_t carried_size WHARF_0, pods_size WHARF_0, phase_rule_size WHARF_0, status_change_size WHARF_0;
    // -- Names (required) --
    const char *group WHARF_0; // "batch"; "" for the core group
    // API versions that the adapter understands, best first: used is the first one that management cluster and worker
    // both serve.
    const char *const *versions WHARF_0;
    const char *kind WHARF_0;   // "Job"
    const char *plural WHARF_0; // "jobs", the resource's name in URLs
    uint32_t flags WHARF_0;     // WHARF_KIND_...
    // -- managedBy (required) --
    const char *managed_by WHARF_0; // pointer to the field, "/spec/managedBy"; a string
    // The value for the kind's own controller, which the host leaves alone, or NULL.
    const char *managed_by_builtin WHARF_0;
    // The closed set that the API accepts besides the built-in value; NULL: a domain-prefixed path of up to 63 bytes.
    const char *const *managed_by_allowed WHARF_0;
    // Managed unless the configuration says otherwise; NULL: the first of managed_by_allowed, or else controllerName.
    const char *managed_by_default WHARF_0;
    // -- Suspending --
    const char *suspend WHARF_0; // pointer to the field that suspends; since 1.2 also a label or annotation; NULL: none
    const char *suspend_value WHARF_0; // the value that means suspended, see wharf_host.is; NULL: "true"
    // -- The mirror --
    // Spec fields that are carried to an existing mirror: `suspend` must be one, unless it is a label or an annotation.
    const wharf_carried *carried WHARF_0;
    // Patterns of fields that a mirror must not have: self-deletion (TTLs), inner managedBy fields, fields that an API
    // server sets. The host itself removes managedBy, and all metadata but name, namespace, labels and annotations.
    const char *const *removed WHARF_0;
    const wharf_pods *pods WHARF_0; // see also the function pod_sets
    // -- The status --
    // Patterns of fields below /status that the host does not copy, since they have a meaning in the worker only.
    const char *const *status_removed WHARF_0;
    // Pointer to the field with the generation that the status describes: the host writes the workload's. NULL: none.
    const char *observed_generation WHARF_0;
    // A member that set_condition sets as lastTransitionTime: "lastUpdateTime", "lastProbeTime". NULL: none.
    const char *condition_time WHARF_0;
    // The status changes of the kind's own controller when an object is suspended, and resumed. The host makes them to
    // an unfinished workload without a mirror: suspended_status while the `suspend` field suspends it; resumed_status
    // while it does not, but the first of `phases` that matches is for WHARF_SUSPENDED (with or without
    // WHARF_RULE_WHILE_SUSPENDED).
    const wharf_status_change *suspended_status WHARF_0, *resumed_status WHARF_0;

    // The phase by the status; without a match SUSPENDED by `suspend`, else ACTIVE if there is a status, else PENDING.
    const wharf_phase_rule *phases WHARF_0;
    // Pointer to the time of the end. NULL, or an absent field: lastTransitionTime of the matching rule's condition.
    const char *finished_at WHARF_0;
    // -- Functions: from any thread, several at once; `call` and all values end with the call --

    // Reports the phase by the status of a workload or mirror, of any age and any content: fields may be missing or of
    // the wrong type. The host fills `out` by `phases` and `finished_at`, with reason and message of the matching
    // condition or text; the function may change `out`. Must return WHARF_OK for any object. Finished must stay
    // finished: after SUCCEEDED or FAILED, the function reports the same for every later state that the kind's API
    // allows. NULL, with `phases` or for a service: sufficient.
    wharf_result (*phase)(const wharf_call *call, const wharf_value *object, wharf_phase *out) WHARF_0;
    // Whether a workload can run in another cluster at all. Called before the first placement; after a refusal (only
    // told in an Event) when the workload has changed, and after growing waits. NULL: all can.
    wharf_result (*accept)(const wharf_call *call, const wharf_value *workload) WHARF_0;
    // Completes a mirror before its creation, after the host has applied the data above. `mirror` is the whole object
    // to be created; the function may change spec, labels and annotations. Name, namespace and marks (wharf.dev/)
    // belong to the host, which sets them again. An adapter may add annotations of its own, with a prefix that ends in
    // .wharf.dev or that the workload does not use: these stay with the mirror, and `status` can read them. NULL:
    // nothing to add.
    wharf_result (*mirror)(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) WHARF_0;
    // Completes a change of an existing mirror. `mirror` is the mirror as last seen; `desired` is a copy with the
    // carried fields, labels and annotations of the workload, and may be changed. The host sends the smallest merge
    // patch from `mirror` to `desired`, if any; after WHARF_REFUSED nothing. Called when spec, labels or annotations of
    // workload or mirror changed, and whenever a suspended mirror changed. NULL: nothing to add.
    wharf_result (*update)(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) WHARF_0;
    // Determines the workload's status. `mirror` is the present mirror, or NULL when there is none (not placed yet,
    // suspended before placement, lost). `object` has /status alone, as a draft that the function may change; the host
    // writes the result if it differs. With a mirror that has a status, the draft is a copy of that status without
    // status_removed and with the workload's observed_generation; otherwise of the workload's own status, if any, after
    // suspended_status or resumed_status. The result must be a status that the kind's API accepts after the workload's
    // present one, or the nearest such status. For the resulting status, calling again must change nothing: write each
    // field as the server stores it (a Go field with omitempty that is zero is absent). NULL: nothing to add.
    wharf_result (*status)(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *object) WHARF_0;
    // Changes the list of pods by `pods`, of any object. `sets` is an array, each item {"template": <PodTemplateSpec>,
    // "count": <integer>}. NULL: `pods` is sufficient.
    wharf_result (*pod_sets)(const wharf_call *call, const wharf_value *workload, wharf_value *sets) WHARF_0;
    // Since 1.1. The status changes of the kind's own controller for an object that failed before any pod ran. The host
    // makes them once to a workload that no cluster has accepted within giveUpAfter and that has no mirror, and then
    // calls `status` without a mirror. The phase that follows must be FAILED, or the host writes nothing. NULL: none;
    // the host reports an Event, and the workload waits for the annotation wharf.dev/retry.
    const wharf_status_change *gave_up_status WHARF_0;
    // Since 1.2. More values of the `suspend` field that mean suspended; the host itself writes suspend_value.
    const char *const *suspend_values WHARF_0;
    // Since 1.2. The reason why `start` cannot make this kind of the settings, a sentence like its result: the host
    // refuses the kind, reads only its `kind`, and uses the adapter's other kinds. NULL: none.
    const char *refused WHARF_0;
    // Since 1.2. The type of suspend_value as the host writes it: WHARF_BOOL, WHARF_NUMBER or WHARF_STRING (of a
    // label). WHARF_ABSENT: that of the object's value, or else boolean or number if the text is one, or string.
    wharf_type suspend_type WHARF_0;
    // Since 1.2. The objects that a workload needs besides those of its pods. See WHARF_REFERENCES.
    uint32_t reference_size WHARF_0;
    const wharf_reference *references WHARF_0;
    // Since 1.2. Changes the list of objects by `references`, at most 64. Items: {"resource": "tasks.tekton.dev",
    // "namespace": "team", "name": "build", "where": "/spec/taskRef/name", "optional": false, "made": false}; an added
    // one needs "resource" (as in `of`) and "name". The objects themselves are never seen. NULL: nothing to change.
    wharf_result (*dependencies)(const wharf_call *call, const wharf_value *workload, wharf_value *list) WHARF_0;
    // Since 1.2. The status that a new mirror needs so that the kind's controller goes on where a former mirror was.
    // `workload` has the status of the former attempts. `mirror` is the new one, which is suspended and never ran;
    // NULL: before its creation. The function sets in `object`, an empty object, the fields of /status that the mirror
    // lacks: only progress that the workload's status states, only a status that the API accepts; nothing: there is
    // nothing to give, or the mirror has it. The host writes the fields by the status subresource, and resumes the
    // mirror once this function sets nothing. Called for second and later attempts until then, and once more for the
    // first status after that. Requires `suspend` and a status subresource. NULL: each attempt starts from nothing.
    wharf_result (*progress)(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                             wharf_value *object) WHARF_0;
    // Since 1.2. Objects that the kind's controller makes for a mirror, with progress of their own: WHARF_CHILDREN.
    uint32_t child_size WHARF_0, continuity_size WHARF_0;
    const wharf_child *children WHARF_0;
    // Since 1.2. As `progress`, for `child`, a new mirror's one; NULL: before the creation. `former` is what was kept
    // of the former child of this name, if anything, with the workload as member "workload". Without that member,
    // `former` is a child of `child`, the former mirror: all of `object` is kept.
    wharf_result (*child_progress)(const wharf_call *call, const wharf_value *former, const wharf_value *child,
                                   wharf_value *object) WHARF_0;
    // Since 1.2. Values of the last status for the pods of the next attempt. See WHARF_CONTINUITY.
    const wharf_continuity *continuity WHARF_0;
} wharf_kind;

// The first initializer of a wharf_kind.
#define WHARF_KIND_SIZES                                                                                               \
    .size = sizeof(wharf_kind), .carried_size = (uint32_t)sizeof(wharf_carried),                                       \
    .pods_size = (uint32_t)sizeof(wharf_pods), .phase_rule_size = (uint32_t)sizeof(wharf_phase_rule),                  \
    .status_change_size = (uint32_t)sizeof(wharf_status_change)

// Set lists of a kind; `list` is an array that ends with an element whose first pointer (of a child, `plural`) is NULL.
#define WHARF_REFERENCES(list) .reference_size = (uint32_t)sizeof(wharf_reference), .references = (list)
#define WHARF_CHILDREN(list) .child_size = (uint32_t)sizeof(wharf_child), .children = (list)
#define WHARF_CONTINUITY(list) .continuity_size = (uint32_t)sizeof(wharf_continuity), .continuity = (list)

// The module ----------------------------------------------------------------------------------------------------------

// The contents of one shared object.
typedef struct wharf_module {
    size_t size WHARF_0;                    // sizeof(wharf_module)
    uint32_t abi_major WHARF_0;             // WHARF_ABI_MAJOR that it was built against
    uint32_t abi_minor WHARF_0;             // the least minor version of a host that the adapter needs
    const char *name WHARF_0;               // short name, RFC 1123 label: "job"
    const char *version WHARF_0;            // of the adapter: "1.2.0"
    const wharf_kind *const *kinds WHARF_0; // ends with NULL. May be NULL or empty with `start` or `score`
    // A variable of the adapter in which the host stores its services before the first call. NULL: it uses none.
    const wharf_host **host WHARF_0;
    // Names of the adapter's settings, ends with NULL; NULL: none. The host rejects a configuration with other ones.
    const char *const *settings WHARF_0;
    // Called once in each instance, before any other function. `settings` is the adapter's `settings` from the
    // configuration file (an object, maybe empty) and lives as long as the process. `*kinds` is the module's `kinds`;
    // the function may replace the list. Returns NULL, or a sentence (static, or made with host->format and a NULL
    // call) why the host cannot load the adapter. A sentence about a setting begins with its pointer in `settings` and
    // a colon, "/kinds/0/plural: found 7, expected a string"; the host adds file and line. NULL: no setup is needed.
    const char *(*start)(const wharf_host *host, const wharf_value *settings, const wharf_kind *const **kinds)WHARF_0;

    // Since 1.2. Rates the workers that may get a workload, by the rules for functions of a kind. Called before a
    // placement with a choice: two or more eligible workers, and no annotation wharf.dev/cluster-names. An adapter with
    // kinds is asked for these alone, an adapter without kinds for every kind.
    //   pod_sets  the pods of the workload, as in wharf_kind.pod_sets; NULL: unknown
    //   workers   an array of the eligible workers, ordered by name. Later versions may add members:
    //               {"name": "w1",
    //                "labels": {"gpu": "h100"},              of the worker, see docs/placement.md
    //                "active": 12, "activeOfKind": 3,        unfinished workloads: of all kinds; of this kind
    //                "free": {"cpu": 61.5, "memory": 4096}}  sums over the nodes that accept pods, less reservations:
    //                                                        cpu in cores, memory in bytes, others as in Kubernetes;
    //                                                        absent without `capacity` or while unknown
    //   scores    an empty object. The function adds members "name of a worker": integer from 0 to 100; higher is
    //             better. An absent worker has 0: no opinion
    // The worker with the highest sum of the scores of all adapters gets the workload; the configured policy decides
    // between equal sums. Workers that are full, cordoned or excluded are not in `workers`. Another name, or a value
    // that is no integer from 0 to 100, makes the whole answer invalid. Without a valid answer and WHARF_OK, the host
    // places the workload at once without this adapter's scores (WHARF_RETRY delays nothing), and `wharf explain` tells
    // wharf_answer.message. The calls for all placements of one second may take 200 ms together. NULL: rates none.
    wharf_result (*score)(const wharf_call *call, const wharf_value *workload, const wharf_value *pod_sets,
                          const wharf_value *workers, wharf_value *scores) WHARF_0;
} wharf_module;

WHARF_EXPORT extern const wharf_module wharf_module_v1; // the one symbol

// The minor version of a host that WHARF_MODULE asks for: that of this header, unless defined before it is included.
#ifndef WHARF_NEEDS_MINOR
#define WHARF_NEEDS_MINOR WHARF_ABI_MINOR
#endif

// Defines the symbol. The rest are the fields of wharf_module that the adapter has, from `name` on, in their order:
//   static const wharf_host *host;
//   WHARF_MODULE(.name = "train", .version = "1.0.0", .kinds = WHARF_KINDS(&train, &plan), .host = &host);
#define WHARF_MODULE(...)                                                                                              \
    const wharf_module wharf_module_v1 = {                                                                             \
        .size = sizeof(wharf_module), .abi_major = WHARF_ABI_MAJOR, .abi_minor = WHARF_NEEDS_MINOR, __VA_ARGS__}
#define WHARF_KINDS(...) ((const wharf_kind *const[]){__VA_ARGS__, NULL}) // C only: in C++ the list is an array
#ifdef __cplusplus
}

// For C++17, which has no designated initializers: a kind with its sizes, and a module with its versions.
inline constexpr wharf_kind wharf_new_kind() {
    wharf_kind kind = {sizeof(wharf_kind), sizeof(wharf_carried), sizeof(wharf_pods), sizeof(wharf_phase_rule),
                       sizeof(wharf_status_change)};
    kind.reference_size = sizeof(wharf_reference);
    kind.child_size = sizeof(wharf_child);
    kind.continuity_size = sizeof(wharf_continuity);
    return kind;
}
inline constexpr wharf_module wharf_new_module() {
    return {sizeof(wharf_module), WHARF_ABI_MAJOR, WHARF_NEEDS_MINOR};
}
#endif
#endif
