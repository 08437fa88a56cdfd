// SPDX-License-Identifier: Apache-2.0
// The input and the output of an engine step. Input: one event, with a common head and a union by type. Output:
// requests to send, Events and log lines to write, relists, and the due time of the next step.
#pragma once

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/config/worker_settings.h"
#include "core/engine/capacity/nodes.h"
#include "core/engine/fence/fence.h"
#include "core/engine/kueue/kueue_object.h"
#include "core/kube/client/types.h"

// Clusters have numbers: 0 is the management cluster. A worker keeps a number from 1 on until the removal; then
// another worker may get the number.
#define ENGINE_MANAGEMENT ((size_t)0)

enum event_type {
    EVENT_LISTING,    // a list of (cluster, kind) begins
    EVENT_SEEN,       // an object's current state
    EVENT_GONE,       // the end of an object
    EVENT_LISTED,     // the list is complete
    EVENT_STATE,      // a new state of the watch of (cluster, kind)
    EVENT_ANSWER,     // the answer to a command
    EVENT_CONTACT,    // of a cluster: reachable or not
    EVENT_IDENTITY,   // of a cluster: the uid of namespace kube-system, at each connection
    EVENT_RESTORED,   // (cluster, kind): resourceVersions went backwards (restored, wiped); precedes the next list
    EVENT_WORKER,     // a worker joined, left, or has another policy
    EVENT_POD_REPORT, // an Event about the pods of a mirror, to pass on to the workload
    EVENT_TIME,       // time has passed
    EVENT_LEASE,      // of a shard: end of the lease of this host
    EVENT_NAMESPACE,  // in the management cluster: labels
    EVENT_QUEUED,     // of a workload or mirror: the state in the cluster's Kueue
    EVENT_CAPACITY,   // of a worker: free capacity of the nodes
    EVENT_FIELD,      // of a kind of the management cluster: whether the API has the field managedBy
    EVENT_FENCE,      // of a worker: state of the guard
    EVENT_DENIED,     // of a kind in a worker: a missing permission
    EVENT_DEPENDENCY, // of objects that workloads refer to, in any cluster
    EVENT_TENANT,     // of a namespace in any cluster: its uid, or its consent
    EVENT_CAUSES,     // of the failure of a mirror: the answer to a pod_question
    EVENT_WORDS       // of a failed workload: the last words were read, or will not be
};

enum namespace_news {
    NAMESPACES_LISTING, // a list begins: namespaces not seen before LISTED are gone
    NAMESPACES_LISTED,
    NAMESPACE_SEEN,
    NAMESPACE_GONE,
    NAMESPACES_UNKNOWN // the watch has ended
};

enum tenant_news {
    TENANTS_LISTING, // a list begins: namespaces not seen before LISTED are gone
    TENANTS_LISTED,  // complete
    TENANT_SEEN,
    TENANT_GONE,
    TENANTS_LOST, // the watch: consents may change unseen
    TENANTS_OPEN, // again, and nothing was missed
    TENANTS_OFF   // the watch ends
};

enum dependency_news {
    DEPENDENCIES_FORGOTTEN, // the host has no wishes of this cluster: repeat them. Has no resource
    DEPENDENCIES_LISTING,   // a list, of one object if named, begins: objects not seen before LISTED are gone
    DEPENDENCIES_LISTED,    // complete, and the watch is open; without LISTING before: open again, nothing was missed
    DEPENDENCY_SEEN,        // the first answer to a wish, and each change; also objects with the host's mark
    DEPENDENCY_GONE,        // likewise: there is none
    DEPENDENCIES_LOST,      // the watch: the state is that of before
    DEPENDENCIES_REFUSED    // the cluster denies access or does not serve the resource: `problem`
};

// State of the free capacity of a worker.
enum capacity_state {
    CAPACITY_OFF,     // not watched, as at startup
    CAPACITY_READING, // the first lists are in progress
    CAPACITY_KNOWN,
    CAPACITY_STALE,  // the watch is lost
    CAPACITY_UNKNOWN // the worker denies access, or the nodes exceed the memory budget
};

struct engine_event {
    enum event_type type;
    struct moment now;
    int64_t received_ns;  // arrival of the bytes (monotonic); 0: now
    size_t cluster, kind; // all but ANSWER and TIME; CONTACT, IDENTITY, WORKER and NAMESPACE have no kind
    int64_t revision;     // LISTED: resourceVersion of the list; 0: not a number
    bool echo;            // SEEN: an answer had the same version of the object, or is about to
    union {
        struct object *object; // SEEN, GONE: taken by the engine
        const char *version;   // LISTING, LISTED: the API version served
        const char *problem;   // RESTORED: reason, or NULL; DENIED: missing permission, or NULL: none
        struct {
            enum reflector_state state;
            const char *problem; // for LOST and ABSENT, or NULL
        } watch;                 // STATE
        struct {
            enum contact state;
            bool repeated;       // several attempts failed in a row (client.h)
            int64_t heard_ns;    // time of the last byte from the cluster (monotonic)
            const char *problem; // or NULL
        } contact;               // CONTACT
        struct {
            const char *uid;     // "" if unreadable
            const char *version; // resourceVersion of the namespace
            const char *problem; // or NULL
        } identity;              // IDENTITY
        struct {
            uint64_t command;          // id of the command
            struct response *response; // the engine may take the object
            int64_t sent_ns;           // time of sending (monotonic); 0: not sent
        } answer;                      // ANSWER
        // A cluster number without a worker joins, unless the policy is WORKER_LEFT. The name of a known worker stays.
        struct worker_settings worker; // WORKER
        struct {
            const char *namespace_, *name, *uid; // of the mirror
            const char *reason, *text;
            bool warning;
        } pod_report; // POD_REPORT
        struct {
            uint32_t shard;
            int64_t until_ns; // monotonic; 0: not held
            uint64_t term;    // changes when another host may have held the lease meanwhile
        } lease;              // LEASE
        struct {
            enum namespace_news news;
            const char *name;   // SEEN, GONE
            const char *labels; // SEEN: "key=value,key=value"; or NULL
        } namespace_;           // NAMESPACE
        struct {
            const char *namespace_, *name, *uid; // of the object
            struct kueue_state *state;           // owned like the strings
        } queued;                                // QUEUED
        struct {
            enum capacity_state state;
            const char *problem; // or NULL
            struct nodes *nodes; // KNOWN: taken by the engine
        } capacity;              // CAPACITY
        struct {
            bool lacks;
            bool settled;        // the API has the field kind.doubted_until
        } field;                 // FIELD
        struct fence_news fence; // FENCE
        struct {
            enum dependency_news news;
            const char *resource;    // "configmaps", "tasks.tekton.dev"
            const char *namespace_;  // SEEN, GONE, and of a watch of one object; NULL: of all of the resource
            const char *name;        // the same
            const char *problem;     // LOST, REFUSED
            struct object *metadata; // SEEN: the parts that concern the host, taken by the engine
        } dependency;                // DEPENDENCY
        struct {
            enum tenant_news news;
            const char *name;    // SEEN, GONE: of the namespace
            const char *uid;     // SEEN: of the namespace; of a worker: the annotation MARK_TENANT, or NULL
            const char *problem; // LOST, or NULL
        } tenant;                // TENANT
        struct {
            const char *namespace_, *name, *uid; // of the mirror
            const char *causes;  // lines "<reason>\t<exit code, or nothing>\t<text>\n", the best one first
            const char *problem; // why the pods could not be read; or NULL
        } causes;                // CAUSES
        struct {
            const char *namespace_, *name, *uid; // of the workload
            const char *text;                    // in short; NULL: there are none, or they are not new
            uint32_t attempt;
        } words; // WORDS
    };
};

// Makes `copy` an owned event: copies the strings and moves the object, or the content of the response. Out of
// memory: `event` does not change and `copy` is empty.
struct error *engine_event_own(struct engine_event *event, struct engine_event *copy);
size_t engine_event_texts(const struct engine_event *event); // bytes of all strings
// Frees the members that the engine would have taken.
void engine_event_drop(struct engine_event *event);
// Frees the rest of a copy made by engine_event_own.
void engine_event_clear(struct engine_event *event);

// Output --------------------------------------------------------------------------------------------------------

// A request to a cluster. The command owns all strings.
struct command {
    uint64_t id; // answered with EVENT_ANSWER exactly once
    size_t cluster;
    uint32_t shard; // the host must hold the lease of this shard while sending
    struct request request;
    char *memory; // holds the request's strings
};

// An Event to record on a workload in the management cluster.
#define WORKLOAD_EVENT_TEXTS 6
struct workload_event { // the texts first, see struct_copy_with_texts; all in `memory`
    const char *reason, *text;
    const char *api_version, *namespace_, *name, *uid;
    const char *action; // static
    size_t kind;
    bool warning;
    void *memory; // owned
};

// A line for the log about a cluster, or about one kind or object in it.
struct log_message {
    enum log_level level;
    size_t cluster, kind; // kind LOG_NO_KIND: about the cluster
    char *text;           // owned
    char *object;         // "namespace/name", owned; or NULL
    const char *action;   // of a decision, else NULL; static
    const char *reason;   // of the decision, or NULL; static
};
#define LOG_NO_KIND SIZE_MAX

// A kind to list again, since the engine accepts objects now that were dropped before.
#define RELIST_NAMESPACES SIZE_MAX // instead of a kind: watch namespaces and quotas for a while (namespace_retry_wait)
struct relist {
    size_t cluster, kind;
};

// An object that workloads refer to, to be watched or no longer. Name "": all objects of the resource, of which the
// host reports the wanted ones and, in workers, those with the host's mark; other wanted objects have a watch each, and
// so have all of a resource of which the cluster refuses the watch of all.
struct dependency_wish { // the texts first, see struct_copy_with_texts; owned block
    const char *resource, *version, *namespace_, *name;
    size_t cluster;
    bool cluster_scoped, wanted;
};
#define DEPENDENCY_WISH_TEXTS 4

// A question for the reasons that the pods of a mirror have, answered at most once with EVENT_CAUSES: of failed pods,
// or also those that keep pods from starting (`stuck`).
struct pod_question { // the texts first, see struct_copy_with_texts; owned block
    const char *namespace_, *name, *uid;
    size_t cluster, kind;
    bool stuck;
};
#define POD_QUESTION_TEXTS 3
// Last words of a failed mirror, to be read and kept, or those of a workload to be forgotten; see core/host/words/.
struct words_wish {                      // the texts first, see struct_copy_with_texts; owned block
    const char *namespace_, *name, *uid; // of the workload
    const char *worker;                  // the name,
    const char *space, *mirror;          // and there the namespace and the uid of the mirror
    size_t kind, cluster;
    uint32_t attempt;
    bool forget;
    bool fresh; // this process saw the mirror before the end: nothing is kept yet
    bool as_tenant;
};
#define WORDS_WISH_TEXTS 6

// The owner reuses one update for all steps.
struct update {
    struct command *commands;
    size_t n_commands, cap_commands;
    struct workload_event *events;
    size_t n_events, cap_events;
    struct log_message *log;
    size_t n_log, cap_log;
    struct relist *relists;
    size_t n_relists, cap_relists;
    struct dependency_wish **wishes;
    size_t n_wishes, cap_wishes;
    struct pod_question **questions;
    size_t n_questions, cap_questions;
    struct words_wish **words;
    size_t n_words, cap_words;
    int64_t wake_ns; // due time of EVENT_TIME (monotonic), CLOCK_NEVER: at the next event
};

// Gives the command a copy of the request with its texts, in one block. A tenant is the request's namespace. False: out
// of memory.
bool command_set_request(struct command *command, const struct request *request);
void command_free(struct command *command);
void workload_event_free(struct workload_event *event);
void log_message_free(struct log_message *message);
void update_clear(struct update *update);
void update_free(struct update *update);
