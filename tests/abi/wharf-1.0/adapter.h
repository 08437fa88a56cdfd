// SPDX-License-Identifier: Apache-2.0
//
// wharf/adapter.h - the adapter ABI, version 1.0. The one public header of wharf, and all that an adapter needs.
//
// An adapter teaches the wharf host one or more Kubernetes workload kinds. The host watches the management cluster,
// finds the objects ("workloads") that are delegated to it through the kind's managedBy field, creates a copy
// ("mirror") of each in a worker cluster, and copies the mirror's status back. All that is the same for every kind is
// in the host. What differs is here: most of it is data (struct wharf_kind). Six functions may add what data cannot
// say; none of them is required where the data says it all.
//
// Loading
//   An adapter is a shared object that exports exactly one symbol, the constant `wharf_module_v1` (type wharf_module).
//   The host opens it with RTLD_NOW | RTLD_LOCAL, checks all of that data before it calls anything, and never unloads
//   it while it runs.
//
// Threads
//   Functions of an adapter may be called from any thread, and several at once, also for the same object. Only loading
//   is alone: `start` is called once, before any other function, and nothing else runs meanwhile. An adapter has no
//   mutable state but what `start` sets up, so it needs no lock. It starts no thread, forks nothing, installs no signal
//   handler, and does no I/O: a call delays every workload of the host, so it should return within microseconds.
//
// Memory
//   Everything that an adapter is given or makes during a call (values, strings) lives until that call returns, also
//   what was replaced or removed in a value meanwhile; then the host frees it. An adapter frees nothing and keeps
//   nothing between calls. The module, its kinds, and all that they point to stay valid and unchanged until the process
//   ends; static const data is the rule.
//
// Failures
//   The host remembers the first service that failed during a call, so an adapter checks nothing. Out of memory makes
//   the call's result WHARF_RETRY. Bad input (a malformed pointer, a field set below a string, a value that is absent
//   where one is required) makes it WHARF_REFUSED, with a sentence by the host that names the pointer and the types.
//   Both override what the adapter returns and answers; a failure during `start` refuses the adapter. A service that
//   fails returns NULL or 0; all services accept NULL where a value or a text is expected, so calls can be chained.
//   Reading never fails: what is not there is absent.
//
// Determinism
//   The same input gives the same output. Time comes in through struct wharf_call; an adapter reads no clock and no
//   random number. Functions are level-triggered: they may be called at any time, any number of times, also after a
//   restart, and look only at what is.
//
// What may change, and what never will
//   The major version is in the symbol's name. Within major version 1:
//     - structs only grow at the end. Each begins with its size, and the elements of lists have theirs in the struct
//       that holds the list: a reader looks at the writer's size before it touches a field, and takes what is not
//       there as zero;
//     - no field changes its meaning, type or offset; no enumerator its number; no function its signature;
//     - new functions come at the end of struct wharf_host; an adapter that can do without one checks that
//       `host->size` reaches it (WHARF_HAS), one that cannot asks for the host's minor version
//       (wharf_module.abi_minor);
//     - new enumerators may be passed to an adapter only where its comment says "unknown values: ...".
//   So an adapter built against 1.0 runs on any host 1.x, and one built against 1.x says what it needs.

#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WHARF_ABI_MAJOR 1
#define WHARF_ABI_MINOR 0

// Keeps wharf_module_v1 visible under -fvisibility=hidden.
#if defined(__GNUC__)
#define WHARF_EXPORT __attribute__((visibility("default")))
#define WHARF_PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#else
#define WHARF_EXPORT
#define WHARF_PRINTF(format_at, first_at)
#endif

// True if the struct that `pointer` points to, as its writer built it, has `field`.
#define WHARF_HAS(type, pointer, field) ((pointer)->size >= offsetof(type, field) + sizeof((pointer)->field))

// Enumerations are 32-bit integers, whatever the compiler makes of an enum.

// ---------------------------------------------------------------------------------------------------------------------
// Values --------------------------------------------------------------------------------------------------------------

// A JSON value. Opaque: only the services look inside. A `const wharf_value *` must not be changed; the services that
// change take a non-const one. Faithful: numbers keep their digits, members their order.
typedef struct wharf_value wharf_value;

// The type of a value. Unknown values: none will come, JSON has no more.
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

// What a function of an adapter returns.
typedef uint32_t wharf_result;
enum {
    WHARF_OK = 0,     // the output is filled
    WHARF_RETRY = 1,  // not now: call again after wharf_answer.retry_after_ms (0: the host chooses); output is ignored
    WHARF_REFUSED = 2 // impossible as the workload is: wharf_answer.message is reported in an Event on the workload;
                      // called again when the workload or the mirror changes; output is ignored
};

// Levels of log lines. Unknown values are logged as WHARF_LOG_INFO.
typedef uint32_t wharf_log_level;
enum { WHARF_LOG_ERROR = 0, WHARF_LOG_WARN = 1, WHARF_LOG_INFO = 2, WHARF_LOG_DEBUG = 3 };

// Why a call is not WHARF_OK; or, with WHARF_OK of mirror or update and a message, what was left out, reported in an
// Event. The host zeroes it before each call; the adapter may leave it so.
typedef struct wharf_answer {
    size_t size;             // set by the host
    const char *reason;      // CamelCase word, as in Event.reason; NULL: the host's own
    const char *message;     // one sentence, UTF-8; the first 1,024 bytes are used (Event.note); NULL: none
    uint32_t retry_after_ms; // with WHARF_RETRY
} wharf_answer;

// What is known of the mirror during a call. Unknown values are to be taken as WHARF_MIRROR_NONE.
typedef uint32_t wharf_mirror_state;
enum {
    WHARF_MIRROR_NONE = 0,    // there is none: not placed yet, suspended before it was, or known to be gone
    WHARF_MIRROR_PRESENT = 1, // it is given to the call, as last seen
    WHARF_MIRROR_LOST = 2     // given up: its cluster has been unreachable for longer than workerLostTimeout, and it
                              // may still run there
};

// What every call is given. Valid during the call.
typedef struct wharf_call {
    size_t size;                   // set by the host
    const struct wharf_kind *kind; // the kind that is called, as the adapter gave it
    const char *now;      // the present time as metav1.Time, "2026-01-02T03:04:05Z", for a timestamp in a status
    int64_t now_ns;       // the same instant in nanoseconds since 1970-01-01T00:00:00Z
    const char *cluster;  // name of the worker cluster that the workload is placed in, or NULL
    uint32_t attempt;     // number of the present placement, 1 for the first; 0: not placed yet
    const char *version;  // the served API version that the objects are in, e.g. "v1"
    wharf_answer *answer; // to be filled for WHARF_RETRY and WHARF_REFUSED
    void *host_data;      // the host's own; leave it
    wharf_mirror_state mirror_state; // for `status`; WHARF_MIRROR_PRESENT in `update`, WHARF_MIRROR_NONE in the others
} wharf_call;

// ---------------------------------------------------------------------------------------------------------------------
// Services of the host ------------------------------------------------------------------------------------------------

// Where the host puts it, see wharf_module.host; valid until the process ends. Services that take a `call` work only
// during that call, on the thread that was called, with the pointer that the adapter was given. During `start`, and
// only then, `call` is NULL; what is made with it lives as long as the process.
//
// Pointers are JSON pointers (RFC 6901): "/spec/template", "" for the value itself, "~1" for a slash and "~0" for a
// tilde in a name. Where a pattern is accepted, a segment "*" stands for every item of an array and every member of an
// object; a member whose name is "*" is written "~2".
typedef struct wharf_host {
    size_t size;         // of this struct, as the host built it
    uint32_t abi_major;  // WHARF_ABI_MAJOR of the host
    uint32_t abi_minor;  // WHARF_ABI_MINOR of the host
    const char *version; // of the host, e.g. "0.1.0"

    // Reading. NULL is accepted everywhere and is WHARF_ABSENT. A malformed pointer finds nothing.
    wharf_type (*type)(const wharf_value *value);
    // The value at `pointer`, or NULL.
    const wharf_value *(*find)(const wharf_value *value, const char *pointer);
    // In the array at `pointer`: the first item, an object, whose member `key` is the string `text`; or NULL.
    // find_where(job, "/status/conditions", "type", "Complete")
    const wharf_value *(*find_where)(const wharf_value *value, const char *pointer, const char *key, const char *text);
    // 1 if the value at `pointer` is the string `text`, the boolean "true" or "false", or a number equal to that of
    // `text`. is(job, "/spec/completionMode", "Indexed"), is(job, "/spec/suspend", "true")
    int (*is)(const wharf_value *value, const char *pointer, const char *text);
    // The text of a string (NUL-terminated UTF-8), or NULL: another type, or the string contains U+0000.
    const char *(*string)(const wharf_value *value);
    // `fallback` if the value is not a boolean; else 0 or 1.
    int (*boolean)(const wharf_value *value, int fallback);
    // `fallback` if the value is not a whole number that fits.
    int64_t (*integer)(const wharf_value *value, int64_t fallback);
    // `fallback` if the value is not a number.
    double (*number)(const wharf_value *value, double fallback);
    // Items of an array, members of an object; 0 for others.
    size_t (*count)(const wharf_value *value);
    // First item or member, then the next one; NULL at the end.
    const wharf_value *(*first)(const wharf_value *value);
    const wharf_value *(*next)(const wharf_value *item);
    // The name of a member of an object; NULL for items of arrays and for values that are no members.
    const char *(*name)(const wharf_value *member);
    // 1 if both are the same document: members in any order, numbers by value. Two NULLs are equal.
    int (*equal)(const wharf_value *a, const wharf_value *b);
    // In the array /status/conditions of `object`: the first condition of this type whose status is `status` ("True",
    // "False", "Unknown"; NULL: any); or NULL.
    const wharf_value *(*condition)(const wharf_value *object, const char *type, const char *status);
    // Reads RFC 3339 (metav1.Time, metav1.MicroTime) into nanoseconds since 1970; 0 if `text` is none or NULL.
    int (*parse_time)(const char *text, int64_t *ns);

    // Making.
    wharf_value *(*new_null)(const wharf_call *call);
    wharf_value *(*new_boolean)(const wharf_call *call, int value);
    wharf_value *(*new_integer)(const wharf_call *call, int64_t value);
    wharf_value *(*new_string)(const wharf_call *call, const char *text);
    wharf_value *(*new_array)(const wharf_call *call);
    wharf_value *(*new_object)(const wharf_call *call);
    wharf_value *(*copy)(const wharf_call *call, const wharf_value *value); // of NULL: NULL
    // `len` bytes of JSON.
    wharf_value *(*parse)(const wharf_call *call, const char *text, size_t len);
    // Compact JSON, NUL-terminated; of NULL: NULL. `len` may be NULL.
    const char *(*print)(const wharf_call *call, const wharf_value *value, size_t *len);
    // printf.
    const char *(*format)(const wharf_call *call, const char *format, ...)WHARF_PRINTF(2, 3);
    // metav1.Time.
    const char *(*format_time)(const wharf_call *call, int64_t ns);
    // `size` zeroed bytes, aligned for anything; they live as values do.
    void *(*memory)(const wharf_call *call, size_t size);

    // Changing. `root` is a value that may be changed: an argument documented as such, or made during the call.
    // `pattern` is a pointer, or a pattern, which changes every match of all but its last segment that is there.
    //
    // Sets a copy of `value`; one value may be set in several places. Objects on the way are made (not below "*"); in
    // an array, an index must exist, and "-" as the last segment appends. "" replaces the content of `root` by that of
    // a value of the same type.
    void (*set)(const wharf_call *call, wharf_value *root, const char *pattern, const wharf_value *value);
    // Shorthands for set.
    void (*set_string)(const wharf_call *call, wharf_value *root, const char *pattern, const char *text);
    void (*set_integer)(const wharf_call *call, wharf_value *root, const char *pattern, int64_t value);
    void (*set_boolean)(const wharf_call *call, wharf_value *root, const char *pattern, int value);
    // How many values were there and are now gone; later items of an array move up.
    size_t (*remove)(const wharf_call *call, wharf_value *root, const char *pattern);
    // Makes the field in `root` what it is in `from`: sets it, or removes it if `from` has none. In a pattern, "*"
    // takes each item or member of `root` together with that of the same index or name in `from`.
    void (*take)(const wharf_call *call, wharf_value *root, const wharf_value *from, const char *pattern);
    // The value at `pointer` of a `root` that may be changed, for change; NULL if nothing is there, which is no
    // failure.
    wharf_value *(*edit)(const wharf_call *call, wharf_value *root, const char *pointer);
    // Puts a condition into /status/conditions of `object`, made if missing, and returns it, for changes to its other
    // members. One of this type that is there is changed: status, reason, message (NULL: as it is); a new one goes to
    // the end. If it is new or its status changes, its times become those of the workload's condition of this type and
    // status if there is one, else call->now. Times are lastTransitionTime and wharf_kind.condition_time.
    wharf_value *(*set_condition)(const wharf_call *call, wharf_value *object, const char *type, const char *status,
                                  const char *reason, const char *message);

    // A log line with the adapter's and the object's name added. `message` is copied.
    void (*log)(const wharf_call *call, wharf_log_level level, const char *message);
} wharf_host;

// ---------------------------------------------------------------------------------------------------------------------
// A kind --------------------------------------------------------------------------------------------------------------

// Where a workload stands. Unknown values (a newer adapter on an older host) are taken as WHARF_ACTIVE.
typedef uint32_t wharf_phase_kind;
enum {
    WHARF_PENDING = 0,   // accepted, nothing of it runs yet
    WHARF_SUSPENDED = 1, // nothing of it runs because it was asked to be suspended
    WHARF_ACTIVE = 2,    // runs, or is being started or stopped
    WHARF_SUCCEEDED = 3, // finished; will never run again
    WHARF_FAILED = 4     // finished; will never run again
};

// Output of `phase`; the host fills it before the call.
typedef struct wharf_phase {
    size_t size;
    wharf_phase_kind phase;
    const char *reason;  // CamelCase word from the status (a condition's reason), or NULL
    const char *message; // a sentence, or NULL
    int64_t since_ns;    // with SUCCEEDED and FAILED: when it finished, nanoseconds since 1970; 0: unknown
} wharf_phase;

// A rule about the phase. The first rule of a list that matches counts.
//   {"/status/conditions", "Complete", .phase = WHARF_SUCCEEDED}: the array has a condition of this type that is True
//   {"/status/conditions", "Succeeded", "False", .phase = WHARF_FAILED}: ... that is False
//   {"/status/state", "ready", .phase = WHARF_ACTIVE}: a string, boolean or number is this one (see wharf_host.is)
typedef struct wharf_phase_rule {
    const char *pointer; // to an array of conditions or to a scalar, below /status; NULL ends the list
    const char *value;   // type of a condition, or the scalar as text; required
    const char *status;  // of the condition; NULL: "True"
    const char *reason;  // of the condition; NULL: any
    wharf_phase_kind phase;
    uint32_t flags; // WHARF_RULE_...
} wharf_phase_rule;

// The rule counts only while the kind's `suspend` field says that the object is suspended. A controller that says
// "suspended" until it has noticed that the object was resumed has two rules: this one, and one for WHARF_PENDING.
#define WHARF_RULE_WHILE_SUSPENDED UINT32_C(1)

// When a spec field is carried from the workload to an existing mirror.
enum {
    WHARF_CARRY_ALWAYS = 0,
    // The API allows the change only while the object is suspended: carried only while the mirror's `suspend` field
    // says that it is, and in the patch that resumes it.
    WHARF_CARRY_WHILE_SUSPENDED = 1
};

// A field that may change after creation. It is set as the workload has it, and removed again when the workload no
// longer has it and it was carried before. A change of any other field of the spec is not carried, and an Event on the
// workload says so.
typedef struct wharf_carried {
    const char *pointer; // a pattern, "/spec/replicatedJobs/*/replicas". Items of an array are matched by their member
                         // `key`; items without one by their index, and only if both sides have as many. NULL ends the
                         // list
    const char *key;     // "groupName"; NULL: "name"
    uint32_t when;       // WHARF_CARRY_...
} wharf_carried;

// Elements of a list of carried fields: what decides where the pods of a template go, and may change while they do not
// run. `pattern` and `item_key` are string literals (`item_key` may be NULL), see `pointer` and `key` above.
#define WHARF_CARRIED_POD_TEMPLATE(pattern, item_key)                                                                  \
    {pattern "/metadata/labels", item_key, WHARF_CARRY_WHILE_SUSPENDED},                                               \
        {pattern "/metadata/annotations", item_key, WHARF_CARRY_WHILE_SUSPENDED},                                      \
        {pattern "/spec/nodeSelector", item_key, WHARF_CARRY_WHILE_SUSPENDED},                                         \
        {pattern "/spec/tolerations", item_key, WHARF_CARRY_WHILE_SUSPENDED}, {                                        \
        pattern "/spec/schedulingGates", item_key, WHARF_CARRY_WHILE_SUSPENDED                                         \
    }

// Where pods are described, and how many of them there are.
typedef struct wharf_pods {
    const char *templates;     // a pattern; each match is a PodTemplateSpec. NULL ends the list
    const char *const *counts; // pointers whose integers are multiplied for the number of pods, ends with NULL; a "*"
                               // takes the same item as the one in `templates` at that place; an absent field counts as
                               // 1. NULL: one pod
} wharf_pods;

// What a change of a status does.
enum {
    WHARF_SET_CONDITION = 0, // the condition `name` has `value` as its status, with reason and message
    WHARF_SET_TEXT = 1,      // the field `name` (a pointer) is the string `value`
    WHARF_SET_ZERO = 2,      // each field `name` (a pattern) that is a number other than 0 is 0
    WHARF_REMOVE = 3         // fields `name` (a pattern) are removed
};

// When it is done.
enum {
    WHARF_ALWAYS = 0,
    WHARF_IF_TRUE = 1,  // only if the workload has the condition with status True
    WHARF_IF_ABSENT = 2 // only if there is no such condition, no such field
};

// A change of the status of a workload that has no mirror.
typedef struct wharf_status_change {
    uint32_t change;   // WHARF_SET_..., WHARF_REMOVE
    uint32_t when;     // WHARF_ALWAYS, WHARF_IF_...
    const char *name;  // type of a condition, or pointer or pattern below /status; NULL ends the list
    const char *value; // "True", "False", "Unknown"; or the string
    // Of a condition; "{kind}", "{namespace}" and "{name}" stand for the workload's.
    const char *reason, *message;
} wharf_status_change;

// Bits of wharf_kind.flags. A host refuses an adapter with a bit that it does not know.
//
// The CRD has no status subresource: the status is patched with the object. Not together with observed_generation: each
// such write is a new generation.
#define WHARF_KIND_NO_STATUS_SUBRESOURCE UINT32_C(1)
// A service: SUCCEEDED and FAILED are taken as ACTIVE.
#define WHARF_KIND_NEVER_FINISHES UINT32_C(2)

// One workload kind. Lists end with NULL (strings) or with an element whose first pointer is NULL (structs); a list
// that is NULL is empty. Strings are UTF-8. Begin it with WHARF_KIND_SIZES.
typedef struct wharf_kind {
    size_t size; // sizeof(wharf_kind)
    // sizeof of the elements of its lists: carried; pods; phases; suspended_status and resumed_status
    uint32_t carried_size, pods_size, phase_rule_size, status_change_size;

    // -- What it is called (required) --
    const char *group;           // "batch"; "" for the core group
    const char *const *versions; // API versions that this adapter understands, best first: the first one that a cluster
                                 // serves is used there. Management and worker cluster of a workload use the same one
    const char *kind;            // "Job"
    const char *plural;          // "jobs", the resource's name in URLs
    uint32_t flags;              // WHARF_KIND_...

    // -- Who manages it (required) --
    const char *managed_by;         // pointer to the field, "/spec/managedBy"; a string
    const char *managed_by_builtin; // the value that names the kind's own controller; the host never answers to it.
                                    // NULL: the kind has none
    const char *const *managed_by_allowed; // the closed set that the API accepts besides the built-in value. NULL: any
                                           // domain-prefixed path of at most 63 characters; then the host's own name
                                           // (controllerName) is the default
    const char *managed_by_default; // the value to answer to when the configuration names none; NULL: the first of
                                    // managed_by_allowed, or else controllerName

    // -- Suspending --
    const char *suspend;       // pointer to the field that suspends; NULL: the kind cannot be suspended
    const char *suspend_value; // the value that means suspended, see wharf_host.is; NULL: "true"

    // -- The mirror --
    const wharf_carried *carried; // spec fields that may change after creation and are carried to an existing mirror;
                                  // `suspend` must be among them
    const char *const *removed; // patterns of fields that a mirror must not have: self-deletion (TTLs), inner managedBy
                                // fields, what the worker's API server fills in. They are not carried later either.
                                // managedBy itself is always removed, as is all of metadata but name, namespace,
                                // labels and annotations
    const wharf_pods *pods;     // see also the function pod_sets

    // -- The status --
    const char *const *status_removed; // patterns below /status that only make sense in the worker cluster and are not
                                       // copied ("/status/uncountedTerminatedPods")
    const char *observed_generation;   // pointer to the field that holds the generation that the status is about
                                       // ("/status/observedGeneration"): the host writes the workload's own. NULL: none
    const char *condition_time;        // a member of conditions besides lastTransitionTime that set_condition sets with
                                       // it: "lastUpdateTime", "lastProbeTime". NULL: none
    // What the kind's own controller writes about an object that is suspended, and about one that is resumed. The host
    // does it for a workload that has no mirror and has not finished: suspended_status while its `suspend` field says
    // that it is suspended, resumed_status when that does not but a rule for WHARF_SUSPENDED is the first of `phases`
    // that its status matches (here WHARF_RULE_WHILE_SUSPENDED does not matter).
    const wharf_status_change *suspended_status, *resumed_status;

    const wharf_phase_rule *phases; // what the status says about the phase. Where no rule matches: SUSPENDED if the
                                    // suspend field says so, else ACTIVE if there is a status, else PENDING
    const char *finished_at; // pointer to the time at which it finished ("/status/completionTime"). NULL, or nothing
                             // there: lastTransitionTime of the condition that `phases` found

    // -- Functions: from any thread, several at once; `call` and all values end with the call --

    // Says where an object stands, from its status. Called for workloads and for mirrors, of any age and any content:
    // fields may be missing or of the wrong type, /status may be absent. `out` is filled with what `phases` and
    // `finished_at` say, reason and message too (of the condition that matched, or the text that did), and may be
    // changed. Must return WHARF_OK for any object. Finished must stay finished: if it says SUCCEEDED or FAILED for an
    // object, it does so for every later state that the kind's API allows. NULL: the data says it all; required if
    // there are no `phases`, but for a kind that never finishes.
    wharf_result (*phase)(const wharf_call *call, const wharf_value *object, wharf_phase *out);

    // Says whether a workload can run in another cluster at all. Called before it is first placed; if it is refused,
    // again when it has changed and after growing waits. With WHARF_REFUSED nothing is written to any cluster but the
    // Event. NULL: every one can.
    wharf_result (*accept)(const wharf_call *call, const wharf_value *workload);

    // Finishes the copy that will be created. Called when a mirror is about to be created, after the host has done
    // what the data above says. `mirror` is the whole object to be sent, and may be changed: spec, labels, annotations;
    // name, namespace and the marks that begin with wharf.dev/ belong to the host and are set again after the call.
    // Annotations of the adapter's own, with a prefix that ends in .wharf.dev or that the workload does not use, are
    // kept with the mirror and can be read back in `status`: that is where to record something about the workload as it
    // was when the mirror was made. NULL: nothing to add.
    wharf_result (*mirror)(const wharf_call *call, const wharf_value *workload, wharf_value *mirror);

    // Finishes a change to an existing mirror. `mirror` is the mirror as last seen, `desired` a copy of it in which the
    // carried fields, labels and annotations already are as in the workload; `desired` may be changed. The host sends
    // the smallest merge patch from one to the other, or nothing if they are equal. WHARF_REFUSED: a change of the
    // workload cannot be carried; nothing is sent. Called when spec, labels or annotations of either side changed, and
    // whenever a suspended mirror changed, so that what had to wait can follow. NULL: nothing to add.
    wharf_result (*update)(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired);

    // Says what the workload's status should be. `mirror` is the present mirror, or NULL when there is none (not placed
    // yet, suspended before it was placed, lost). `object` has at /status what will be written if it differs from the
    // workload's, and nothing else; that may be changed. With a mirror that has a status, it is a copy of that without
    // status_removed and with observed_generation rewritten; otherwise a copy of the workload's own, absent if there is
    // none, after suspended_status or resumed_status. The result must be a status that the kind's API accepts after the
    // one that the workload has now; when that is not possible yet, the nearest one that is (fields unchanged), so that
    // no write is ever rejected. For the status that results, calling again must change nothing: write it as the server
    // stores it (a Go field with omitempty that is zero is absent). NULL: nothing to add.
    wharf_result (*status)(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *object);

    // Lists the pods that an object asks for where `pods` cannot say it. `sets` is an array with what `pods` says, each
    // item {"template": <PodTemplateSpec>, "count": <integer>}, and may be changed. Called for any object of the kind.
    // NULL: `pods` says it all.
    wharf_result (*pod_sets)(const wharf_call *call, const wharf_value *workload, wharf_value *sets);
} wharf_kind;

// The first initializer of a wharf_kind.
#define WHARF_KIND_SIZES                                                                                               \
    .size = sizeof(wharf_kind), .carried_size = (uint32_t)sizeof(wharf_carried),                                       \
    .pods_size = (uint32_t)sizeof(wharf_pods), .phase_rule_size = (uint32_t)sizeof(wharf_phase_rule),                  \
    .status_change_size = (uint32_t)sizeof(wharf_status_change)

// ---------------------------------------------------------------------------------------------------------------------
// The module ----------------------------------------------------------------------------------------------------------

// All that one shared object brings.
typedef struct wharf_module {
    size_t size;                    // sizeof(wharf_module)
    uint32_t abi_major;             // WHARF_ABI_MAJOR that it was built against
    uint32_t abi_minor;             // the least minor version of a host that it can work with
    const char *name;               // short name, RFC 1123 label: "job"
    const char *version;            // of the adapter: "1.2.0"
    const wharf_kind *const *kinds; // ends with NULL. NULL or empty only if `start` brings them
    // A variable of the adapter in which the host puts the pointer to its services, before it calls anything. NULL: the
    // adapter uses none.
    const wharf_host **host;
    // Names of the settings that it knows, ends with NULL; NULL: none. The host rejects a configuration with others
    // before it calls anything.
    const char *const *settings;
    // Called once, alone, before any other function. `settings` is the adapter's `settings` from the configuration file
    // (an object, empty if there is none) and lives as long as the process. `*kinds` is the module's `kinds`, and may
    // be replaced by kinds that depend on settings. Returns NULL, or a sentence that says why the adapter cannot work
    // (static, or made with host->format and a NULL call): it is not loaded then. A sentence about a setting begins
    // with a pointer to it in `settings` and a colon, "/kinds/0/plural: found 7, expected a string": the host adds file
    // and line. NULL: there is nothing to set up.
    const char *(*start)(const wharf_host *host, const wharf_value *settings, const wharf_kind *const **kinds);
} wharf_module;

// The one symbol.
WHARF_EXPORT extern const wharf_module wharf_module_v1;

// The minor version of a host that WHARF_MODULE asks for: that of this header, unless defined before it is included.
#ifndef WHARF_NEEDS_MINOR
#define WHARF_NEEDS_MINOR WHARF_ABI_MINOR
#endif

// Defines the symbol. The rest are the fields of wharf_module that the adapter has, from `name` on, in their order:
//   static const wharf_host *host;
//   WHARF_MODULE(.name = "train", .version = "1.0.0", .kinds = WHARF_KINDS(&train, &plan), .host = &host);
// WHARF_KINDS is C; in C++ the list is an array of its own.
#define WHARF_MODULE(...)                                                                                              \
    const wharf_module wharf_module_v1 = {                                                                             \
        .size = sizeof(wharf_module), .abi_major = WHARF_ABI_MAJOR, .abi_minor = WHARF_NEEDS_MINOR, __VA_ARGS__}
#define WHARF_KINDS(...)                                                                                               \
    (const wharf_kind *const[]) {                                                                                      \
        __VA_ARGS__, NULL                                                                                              \
    }

#ifdef __cplusplus
}
#endif
