// SPDX-License-Identifier: Apache-2.0
//
// wharf/adapter.h - the adapter ABI, version 1.0. The one public header of wharf, and all that an adapter needs.
//
// An adapter teaches the wharf host one or several Kubernetes workload kinds. The host watches the management cluster,
// finds the objects ("workloads") that are delegated to it through the kind's managedBy field, makes a copy
// ("mirror") of each in a worker cluster, and copies the mirror's status back. All that is the same for every
// kind is in the host. What differs is here: most of it is data (struct wharf_kind), and five functions may add what
// data cannot say; none of them is required where the data says it all.
//
// How an adapter is loaded
//   It is a shared object that exports exactly one symbol, `wharf_adapters_v1` (type wharf_adapters_v1_fn). The host
//   opens it with RTLD_NOW | RTLD_LOCAL, calls that function once, and never unloads it while it runs.
//
// Threads
//   Every function of an adapter is called from one thread, the same for all adapters, never two at a time. An adapter
//   needs no lock and no atomics. It starts no thread, forks nothing, installs no signal handler, and does no I/O: a
//   call blocks every workload of the host, so it should return within microseconds.
//
// Memory
//   Values (wharf_value) that an adapter gets or makes during a call live until that call returns, and the host frees
//   them. So do strings that the host returns. An adapter frees nothing, and keeps nothing between calls
//   but what it made at load. All data that wharf_adapters_v1 returns (structs, strings, arrays) must stay valid and
//   unchanged until the process ends; static const data is the rule.
//   What a change of a value replaces or removes is gone at once, with the strings in it.
//
// Determinism
//   The same input must give the same output. Time comes in through struct wharf_call; an adapter reads no clock and no
//   random number. Functions are level-triggered: they may be called at any time, any number of times, after a
//   restart too, and look only at what is.
//
// What may change (and what never will)
//   The major version is in the symbol's name. Within major version 1:
//     - structs only grow at the end, and each begins with its size: a reader looks at the writer's `size` before it
//       touches a field, and takes what is not there as zero (elements of lists, wharf_carried and wharf_pods, have no
//       size and never grow);
//     - no field changes its meaning, type or offset; no enumerator its number; no function its signature;
//     - new functions come at the end of struct wharf_host; an adapter that can do without one checks that
//       `host->size` reaches it (WHARF_HAS), one that cannot returns NULL from wharf_adapters_v1;
//     - new enumerators may be passed to an adapter only where its comment says "unknown values: ...".
//   So an adapter built against 1.0 runs on any host 1.x, and one built against 1.x says with `abi_minor` what it
//   needs.

#ifndef WHARF_ADAPTER_H
#define WHARF_ADAPTER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WHARF_ABI_MAJOR 1
#define WHARF_ABI_MINOR 0

// Put before the definition of wharf_adapters_v1, so that -fvisibility=hidden keeps it visible.
#if defined(__GNUC__)
#define WHARF_EXPORT __attribute__((visibility("default")))
#else
#define WHARF_EXPORT
#endif

// True if the struct that `pointer` points to, as its writer built it, has `field`.
#define WHARF_HAS(type, pointer, field) ((pointer)->size >= offsetof(type, field) + sizeof((pointer)->field))

// ---------------------------------------------------------------------------------------------------------------------
// Values
// ---------------------------------------------------------------------------------------------------------------------

// A JSON value. Opaque: only the functions of struct wharf_host look inside. A `const wharf_value *` must not be
// changed; the host's functions that change take a non-const one, which only the arguments documented as such are.
// Faithful: numbers keep their digits, members their order.
typedef struct wharf_value wharf_value;

// The type of a value. Unknown values: none will come, JSON has no more.
typedef enum wharf_type {
    WHARF_ABSENT = 0, // the type of NULL
    WHARF_NULL = 1,
    WHARF_BOOL = 2,
    WHARF_NUMBER = 3,
    WHARF_STRING = 4,
    WHARF_ARRAY = 5,
    WHARF_OBJECT = 6
} wharf_type;

// What a function of an adapter answers.
typedef enum wharf_result {
    WHARF_OK = 0,    // the output is filled
    WHARF_RETRY = 1, // not now: call again after wharf_answer.retry_after_ms (0: the host chooses); outputs are ignored
    WHARF_REFUSED = 2 // cannot be done as the workload stands: wharf_answer.message is told to people as an Event on
                      // the workload; called again when the workload or the mirror changes; outputs are ignored
} wharf_result;

// Levels of log lines. Unknown values are written as WHARF_LOG_INFO.
typedef enum wharf_log_level {
    WHARF_LOG_ERROR = 0,
    WHARF_LOG_WARN = 1,
    WHARF_LOG_INFO = 2,
    WHARF_LOG_DEBUG = 3
} wharf_log_level;

// Why a call is not WHARF_OK; or, with WHARF_OK of mirror or update and a message, what people should know of a part
// that was left out, told as an Event. The host zeroes it before each call; the adapter may leave it so.
typedef struct wharf_answer {
    size_t size;             // set by the host
    const char *reason;      // CamelCase word, as in Event.reason; NULL: the host's own
    const char *message;     // one sentence for people, UTF-8, at most 1,024 bytes are used (Event.note); NULL: none
    uint32_t retry_after_ms; // with WHARF_RETRY
} wharf_answer;

// What is known of the mirror during a call. Unknown values are to be taken as WHARF_MIRROR_NONE.
typedef enum wharf_mirror_state {
    WHARF_MIRROR_NONE = 0,    // there is none: not placed yet, suspended before it was, or known to be gone
    WHARF_MIRROR_PRESENT = 1, // it is given to the call, as it was last seen
    WHARF_MIRROR_LOST = 2     // given up: its cluster has been out of reach for longer than workerLostTimeout, where it
                              // may still run
} wharf_mirror_state;

// What every call is given. Valid during the call.
typedef struct wharf_call {
    size_t size;                   // set by the host
    const struct wharf_kind *kind; // the kind that is called, as the adapter gave it
    const char *now;      // the present time as metav1.Time, "2026-01-02T03:04:05Z", for a timestamp in a status
    int64_t now_ns;       // the same instant in nanoseconds since 1970-01-01T00:00:00Z
    const char *cluster;  // name of the worker cluster the workload is placed in, or NULL
    uint32_t attempt;     // number of the present placement, 1 for the first; 0 when there was none yet
    const char *version;  // the served API version that the objects are in, e.g. "v1"
    wharf_answer *answer; // to be filled for WHARF_RETRY and WHARF_REFUSED
    void *host_data;      // the host's own; leave it
    wharf_mirror_state mirror_state; // for `status`; WHARF_MIRROR_PRESENT in `update`, WHARF_MIRROR_NONE in the others
} wharf_call;

// ---------------------------------------------------------------------------------------------------------------------
// Services of the host
// ---------------------------------------------------------------------------------------------------------------------

// Given to wharf_adapters_v1 and valid until the process ends. Functions that take a `call` work only during that
// call, with the pointer that the adapter was given; during wharf_adapters_v1 itself, `call` is NULL and what is made
// lives as long as the process.
//
// Pointers are RFC 6901 JSON pointers: "/spec/template", "" for the value itself, "~1" for a slash and "~0" for a tilde
// in a name. A malformed pointer finds nothing.
//
// Functions that make a value return NULL when out of memory or for bad input, and functions that change return 0 then
// (1 when done); both accept NULL where a value is expected and answer NULL or 0, so that calls can be chained and
// checked once at the end.
typedef struct wharf_host {
    size_t size;         // of this struct, as the host built it
    uint32_t abi_major;  // WHARF_ABI_MAJOR of the host
    uint32_t abi_minor;  // WHARF_ABI_MINOR of the host
    const char *version; // of the host, e.g. "0.1.0"

    // Looking. NULL is accepted everywhere and is WHARF_ABSENT.
    wharf_type (*type)(const wharf_value *value);
    // The value at `pointer`, or NULL.
    const wharf_value *(*find)(const wharf_value *value, const char *pointer);
    // In the array at `pointer`: the first item, an object, whose member `key` is the string `text`; or NULL.
    // find_where(job, "/status/conditions", "type", "Complete")
    const wharf_value *(*find_where)(const wharf_value *value, const char *pointer, const char *key, const char *text);
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

    // Making. Made values live until the call returns.
    wharf_value *(*new_null)(const wharf_call *call);
    wharf_value *(*new_boolean)(const wharf_call *call, int value);
    wharf_value *(*new_integer)(const wharf_call *call, int64_t value);
    wharf_value *(*new_string)(const wharf_call *call, const char *text);
    wharf_value *(*new_array)(const wharf_call *call);
    wharf_value *(*new_object)(const wharf_call *call);
    wharf_value *(*copy)(const wharf_call *call, const wharf_value *value);
    // `len` bytes of JSON; NULL if it is none.
    wharf_value *(*parse)(const wharf_call *call, const char *text, size_t len);
    // Compact JSON text, NUL-terminated; lives until the call returns. `len` may be NULL.
    const char *(*print)(const wharf_call *call, const wharf_value *value, size_t *len);

    // Changing. `value` is copied in: it stays usable, and one value may be set in several places.
    // Sets the value at `pointer`; objects on the way are made; in an array, an index must exist and "-" as the last
    // segment appends. "" as the pointer replaces the content of `root` by that of a value of the same type.
    int (*set)(wharf_value *root, const char *pointer, const wharf_value *value);
    // 1 if something was there and is now gone; later items of an array move up.
    int (*remove)(wharf_value *root, const char *pointer);
    // Shorthands for set.
    int (*set_string)(wharf_value *root, const char *pointer, const char *text);
    int (*set_integer)(wharf_value *root, const char *pointer, int64_t value);
    int (*set_boolean)(wharf_value *root, const char *pointer, int value);

    // Times. Reads RFC 3339 (metav1.Time, metav1.MicroTime) into nanoseconds since 1970; 0 if `text` is none or NULL.
    int (*parse_time)(const char *text, int64_t *ns);
    // Writes metav1.Time; lives until the call returns.
    const char *(*format_time)(const wharf_call *call, int64_t ns);
    // printf into memory that lives until the call returns; for wharf_answer.message. NULL when out of memory.
    const char *(*format)(const wharf_call *call, const char *format, ...)
#if defined(__GNUC__)
        __attribute__((format(printf, 2, 3)))
#endif
        ;
    // A log line with the adapter's and the object's name added. `message` is copied.
    void (*log)(const wharf_call *call, wharf_log_level level, const char *message);

    // Conditions (metav1.Condition, and the kinds' own types that look like it).
    // In the array /status/conditions of `object`: the first whose `type` is this and whose `status` is `status`
    // ("True", "False", "Unknown"; NULL: any); or NULL.
    const wharf_value *(*condition)(const wharf_value *object, const char *type, const char *status);
    // Puts a condition into the array at /conditions of `status_value` (a status, as in wharf_kind.status), which is
    // made if it is missing. One of this type that is there already is changed: its lastTransitionTime only if its
    // status changes, its other members not at all. A new one goes to the end, with lastTransitionTime call->now.
    // In `status` with a mirror the draft is the mirror's each time: a condition that the adapter adds there has to be
    // copied from the workload's status first, or its time is another one at each call.
    int (*set_condition)(const wharf_call *call, wharf_value *status_value, const char *type, const char *status,
                         const char *reason, const char *message);
} wharf_host;

// ---------------------------------------------------------------------------------------------------------------------
// A kind
// ---------------------------------------------------------------------------------------------------------------------

// What `phase` tells. Unknown values (a newer adapter on an older host) are taken as WHARF_ACTIVE.
typedef enum wharf_phase_kind {
    WHARF_PENDING = 0,   // accepted, nothing of it runs yet
    WHARF_SUSPENDED = 1, // nothing of it runs because it was asked to be suspended
    WHARF_ACTIVE = 2,    // runs, or is being started or stopped
    WHARF_SUCCEEDED = 3, // finished; will never run again
    WHARF_FAILED = 4     // finished; will never run again
} wharf_phase_kind;

// Output of `phase`; the host fills it before the call.
typedef struct wharf_phase {
    size_t size;
    wharf_phase_kind phase;
    const char *reason;  // CamelCase word from the status (a condition's reason), or NULL. Lives as values do.
    const char *message; // for people, or NULL
    int64_t
        since_ns; // with SUCCEEDED and FAILED: when it finished, nanoseconds since 1970; 0 if the status does not say
} wharf_phase;

// When a spec field is carried from the workload to an existing mirror.
typedef enum wharf_carry_when {
    WHARF_CARRY_ALWAYS = 0,
    // The API allows the change only while the object is suspended: carried only while the mirror's `suspend` field
    // says that it is. In the same patch that resumes the mirror, it still is.
    WHARF_CARRY_WHILE_SUSPENDED = 1
} wharf_carry_when;

// A field that may change after creation. It is set as the workload has it, and removed again when the workload no
// longer has it and it was carried before. A change of the spec in any other field is not carried, and an Event on the
// workload says so.
typedef struct wharf_carried {
    const char *pointer; // a pattern: a segment "*" stands for every item or member, "/spec/replicatedJobs/*/replicas".
                         // Items of an array are matched by their member `key`; items without one by their index, and
                         // only if both sides have as many. NULL ends the list
    wharf_carry_when when;
    const char *key; // "groupName"; NULL: "name"
} wharf_carried;

// Where pods are described, and how many of them there are.
typedef struct wharf_pods {
    const char *templates; // a pattern; each match is a PodTemplateSpec
    const char
        *multiplier[3]; // pointers whose integers are multiplied for the number of pods; a "*" takes the same item
                        // as the one in `templates` at that place; NULL: none; a field that is absent counts as 1
} wharf_pods;

// What a status says about the phase. The first rule of a list that matches counts.
//   {"/status/conditions", "Complete", NULL, WHARF_SUCCEEDED}: an array of conditions has one of this type that is True
//   {"/status/conditions", "Succeeded", "False", WHARF_FAILED}: ... that is False
//   {"/status/state", "ready", NULL, WHARF_ACTIVE}: a string is this one
typedef struct wharf_phase_rule {
    const char *pointer; // to an array of conditions or to a string, below /status; NULL ends the list
    const char *value;   // type of a condition, or the string; never NULL
    const char *status;  // of the condition; NULL: "True"
    wharf_phase_kind phase;
} wharf_phase_rule;

// Bits of wharf_kind.flags. A host refuses an adapter with a bit that it does not know.
#define WHARF_KIND_NO_STATUS_SUBRESOURCE                                                                               \
    UINT32_C(1) // the CRD has no status subresource: the status is patched with the object. Not together with
                // observed_generation: each such write is a new generation
#define WHARF_KIND_NEVER_FINISHES UINT32_C(2) // a service; SUCCEEDED and FAILED from `phase` are then taken as ACTIVE
#define WHARF_KIND_MAY_REFUSE                                                                                          \
    UINT32_C(4) // `mirror` refuses some workloads as such: it is also called before a workload is first placed
                // (attempt 0, cluster NULL, the result is thrown away), and with WHARF_REFUSED nothing is written

// One workload kind. Lists end with NULL (strings) or with an element whose pointer is NULL (structs); a list that
// is NULL is empty. Strings are UTF-8.
typedef struct wharf_kind {
    size_t size; // sizeof(struct wharf_kind)

    // -- What it is called (required) --
    const char *group;           // "batch"; "" for the core group
    const char *const *versions; // API versions that this adapter understands, best first: the first one that a cluster
                                 // serves is used there. Management and worker cluster of a workload use the same one.
    const char *kind;            // "Job"
    const char *plural;          // "jobs", the resource's name in URLs
    uint32_t flags;              // WHARF_KIND_...

    // -- Who manages it (required) --
    const char *managed_by;         // pointer to the field, "/spec/managedBy"; a string
    const char *managed_by_builtin; // the value that names the kind's own controller; never a value to answer to.
                                    // NULL: the kind has none
    const char *const *managed_by_allowed; // the closed set that the API accepts besides the built-in value. NULL: any
                                           // domain-prefixed path of at most 63 characters; then the host's own name
                                           // (controllerName) is the default
    const char *managed_by_default; // the value to answer to when the configuration names none; NULL: the first of
                                    // managed_by_allowed, or else controllerName

    // -- Suspending --
    const char *suspend;       // pointer to the field that suspends; NULL: the kind cannot be suspended
    const char *suspend_value; // the string that means suspended; NULL: the field is a boolean, true means suspended

    // -- The mirror --
    const wharf_carried *carried; // spec fields that may change after creation and are carried to an existing mirror
    const char *const *removed; // patterns of fields that a mirror must not have: self-deletion (TTLs), inner managedBy
                                // fields, what the worker's API server fills in. They are not carried later either.
                                // managedBy itself is always removed, as is all of metadata but name, namespace,
                                // labels and annotations.
    const wharf_pods *pods;     // a list; see also the function pod_sets

    // -- The status --
    const char *const *status_removed; // patterns below /status that only make sense in the worker cluster and are not
                                       // copied ("/status/uncountedTerminatedPods")
    const char *observed_generation;   // pointer to the field that holds the generation that the status is about
                                       // ("/status/observedGeneration"): the host writes the workload's own. NULL: none

    const wharf_phase_rule *phases; // what the status says about the phase. Where no rule matches: SUSPENDED if the
                                    // suspend field says so, else ACTIVE if there is a status, else PENDING
    const char *finished_at; // pointer to the time at which it finished ("/status/completionTime"). NULL, or nothing
                             // there: lastTransitionTime of the condition that `phases` found

    // -- Functions. For all: called on the one adapter thread; `call` and all values end with the call. --

    // Says where an object stands, from its status. Called for workloads and for mirrors, of any age and any content:
    // fields may be missing or of the wrong type, `/status` may be absent. `out` is filled with what `phases` and
    // `finished_at` say, reason and message too (of the condition that matched, or the string that did), and may be
    // changed. Must answer WHARF_OK for any object. Finished must stay finished: if it answers SUCCEEDED or FAILED for
    // an object, it does so for every later state that the kind's API allows. NULL: the data says it all; required if
    // there are no `phases`.
    wharf_result (*phase)(const wharf_call *call, const wharf_value *object, wharf_phase *out);

    // Finishes the copy that will be created. Called when a mirror is about to be created, after the host has done
    // what the data above says. `mirror` is the whole object to be sent, and may be changed: spec, labels, annotations;
    // name, namespace and the marks that begin with wharf.dev/ belong to the host and are set again after the call.
    // Annotations of the adapter's own, with a prefix that ends in .wharf.dev or that the workload does not use, are
    // kept with the mirror and can be read back in `status`: that is where to record something about the workload as it
    // was when the mirror was made. NULL: nothing to add.
    wharf_result (*mirror)(const wharf_call *call, const wharf_value *workload, wharf_value *mirror);

    // Finishes a change to an existing mirror. `mirror` is the mirror as it was last seen, `desired` a copy of it in
    // which the carried fields, labels and annotations already are as in the workload; `desired` may be changed. The
    // host sends the smallest merge patch from one to the other, or nothing if they are equal. WHARF_REFUSED: a change
    // of the workload cannot be carried; nothing is sent. Called when spec, labels or annotations of either side
    // changed, and whenever a suspended mirror changed, so that what had to wait can follow. NULL: nothing to add.
    wharf_result (*update)(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired);

    // Says what the workload's status should be. `mirror` is the present mirror, or NULL when there is none (not placed
    // yet, suspended before it was placed, lost). `status` is what will be written if it differs from the workload's,
    // and may be changed: with a mirror that has a status, a copy of that with status_removed taken out and
    // observed_generation rewritten; otherwise a copy of the workload's own status, an empty object if there is none.
    // The result must be a status that the kind's API accepts after the one that the workload has now; when that is not
    // possible yet, the nearest one that is (fields unchanged), so that no write is ever refused. For the status that
    // results, calling again must change nothing: write it as the server stores it (a Go field with omitempty that is
    // zero is absent). NULL: nothing to add.
    wharf_result (*status)(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *status);

    // Lists the pods that an object asks for where `pods` cannot say it. `sets` is an array with what `pods` says, each
    // item {"template": <PodTemplateSpec>, "count": <integer>}, and may be changed. Called for any object of the kind.
    // NULL: `pods` says it all.
    wharf_result (*pod_sets)(const wharf_call *call, const wharf_value *workload, wharf_value *sets);
} wharf_kind;

// ---------------------------------------------------------------------------------------------------------------------
// The module
// ---------------------------------------------------------------------------------------------------------------------

// All that one shared object brings.
typedef struct wharf_module {
    size_t size;                    // sizeof(struct wharf_module)
    uint32_t abi_major;             // WHARF_ABI_MAJOR that it was built against
    uint32_t abi_minor;             // the least minor version of a host that it can work with
    const char *name;               // short name, RFC 1123 label: "job"
    const char *version;            // of the adapter, for people: "1.2.0"
    const wharf_kind *const *kinds; // ends with NULL; at least one
    const char *const *settings;    // names of the settings that it knows, ends with NULL; NULL: none. The host refuses
                                    // a configuration with others
} wharf_module;

// The one symbol. Called once, on the adapter thread, before anything else. `settings` is the adapter's `settings` from
// the configuration file (an object, empty if there is none) and lives as long as the process. Returns NULL to refuse
// to be loaded; then *problem, if set, is a sentence that says why (static, or made with host->format and a NULL call).
// A sentence about a setting begins with a pointer to it in `settings` and a colon, "/kinds/0/plural: found 7, expected
// a string": the host then adds the file and the line.
typedef const wharf_module *(*wharf_adapters_v1_fn)(const wharf_host *host, const wharf_value *settings,
                                                    const char **problem);

WHARF_EXPORT const wharf_module *wharf_adapters_v1(const wharf_host *host, const wharf_value *settings,
                                                   const char **problem);

// Defines the module and the symbol of an adapter that has no settings. `host` is a variable of the adapter, of type
// const wharf_host *, that is set when it is loaded; then come the pointers to its kinds:
//   static const wharf_host *host;
//   WHARF_MODULE(host, "train", "1.0.0", &train, &plan)
// It asks for a host of the minor version that this header has.
#define WHARF_MODULE(host, module_name, module_version, ...)                                                           \
    static const wharf_kind *const wharf_module_kinds[] = {__VA_ARGS__, NULL};                                         \
    static const wharf_module wharf_module_data = {                                                                    \
        sizeof(wharf_module), WHARF_ABI_MAJOR, WHARF_ABI_MINOR, module_name, module_version, wharf_module_kinds, NULL, \
    };                                                                                                                 \
    WHARF_EXPORT const wharf_module *wharf_adapters_v1(const wharf_host *services, const wharf_value *settings,        \
                                                       const char **problem) {                                         \
        (void)settings;                                                                                                \
        (void)problem;                                                                                                 \
        (host) = services;                                                                                             \
        return &wharf_module_data;                                                                                     \
    }

#ifdef __cplusplus
}
#endif

#endif
