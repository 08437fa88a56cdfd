// SPDX-License-Identifier: Apache-2.0
// The engine's input: one event at a time, with a common head and a union by type.
#ifndef WHARF_ENGINE_EVENT_H
#define WHARF_ENGINE_EVENT_H

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/config/worker_settings.h"
#include "core/engine/capacity/nodes.h"
#include "core/engine/fence/fence_types.h"
#include "core/engine/kueue/kueue_state.h"
#include "core/kube/client/types.h"

#include <stdbool.h>

// Clusters are numbered: 0 is the management cluster. A worker keeps its number from 1 on as long as it is known; then
// another one may get it.
#define ENGINE_MANAGEMENT ((size_t)0)

enum event_type {
    EVENT_LISTING,    // a list of (cluster, kind) begins
    EVENT_SEEN,       // an object's current state
    EVENT_GONE,       // an object was deleted
    EVENT_LISTED,     // the list is complete
    EVENT_STATE,      // the watch of (cluster, kind) changed its state
    EVENT_ANSWER,     // the answer to a command
    EVENT_CONTACT,    // of a cluster: whether it is reachable
    EVENT_IDENTITY,   // of a cluster: the uid of its namespace kube-system, at each connection
    EVENT_RESTORED,   // (cluster, kind): its versions went back (restored, wiped); comes before the list that follows
    EVENT_WORKER,     // a worker joined, left, or has another policy
    EVENT_POD_REPORT, // of a mirror: something about its pods, to be told on its workload
    EVENT_TIME,       // time has passed
    EVENT_LEASE,      // of a shard: until when this host holds its lease
    EVENT_NAMESPACE,  // of the management cluster: its labels
    EVENT_QUEUED,     // of a workload or mirror: how the Kueue of its cluster has it queued
    EVENT_CAPACITY,   // of a worker: what is left of its nodes
    EVENT_FIELD,      // of a kind of the management cluster: whether its API has the field managedBy
    EVENT_FENCE,      // of a worker: what is known of the guard there
    EVENT_DENIED      // of a kind in a worker: a right that it needs and that the worker denies
};

enum namespace_news {
    NAMESPACES_LISTING, // a list begins: what is not seen before LISTED is gone
    NAMESPACES_LISTED,
    NAMESPACE_SEEN,
    NAMESPACE_GONE,
    NAMESPACES_UNKNOWN // they are not watched any longer
};

// What is known of the nodes of a worker.
enum capacity_state {
    CAPACITY_OFF,     // nobody looks at them, which is so at first
    CAPACITY_READING, // not yet: the first lists are being read
    CAPACITY_KNOWN,
    CAPACITY_STALE,  // the watch is lost
    CAPACITY_UNKNOWN // the worker does not let the host look, or has more than its memory budget allows
};

struct engine_event {
    enum event_type type;
    struct moment now;
    int64_t received_ns;  // when its bytes arrived (monotonic); 0: now
    size_t cluster, kind; // all but ANSWER and TIME; CONTACT, IDENTITY, WORKER and NAMESPACE have no kind
    int64_t revision;     // LISTED: resourceVersion of the list; 0: it is not a number
    bool echo;            // SEEN: an answer has brought the same version of the object, or one is awaited
    union {
        struct object *object; // SEEN, GONE: taken by the engine
        const char *version;   // LISTING, LISTED: the API version served
        const char *problem;   // RESTORED: why, or NULL; DENIED: what is denied, or NULL: nothing is
        struct {
            enum reflector_state state;
            const char *problem; // for LOST and ABSENT, or NULL
        } watch;                 // STATE
        struct {
            enum contact state;
            bool repeated;       // several attempts failed in a row (probe.h)
            int64_t heard_ns;    // when the last byte came from the cluster (monotonic)
            const char *problem; // or NULL
        } contact;               // CONTACT
        struct {
            const char *uid;     // "" where it cannot be read
            const char *version; // resourceVersion of the namespace
            const char *problem; // or NULL
        } identity;              // IDENTITY
        struct {
            uint64_t command;          // its id
            struct response *response; // the engine may take the object out of it
            int64_t sent_ns;           // when the request was sent (monotonic); 0: it was not
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
            int64_t until_ns; // monotonic; 0: it is not held
            uint64_t term;    // another one than before: somebody else may have held it meanwhile
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
        bool lacks;              // FIELD
        struct fence_news fence; // FENCE
    };
};

// Makes `copy` an owned event: copies the strings, and takes the object, or the content of the response, from `event`.
// When out of memory, `event` is unchanged and `copy` is empty.
struct error *engine_event_own(struct engine_event *event, struct engine_event *copy);
size_t engine_event_texts(const struct engine_event *event); // bytes of its strings
// Frees what the engine would have taken of an event.
void engine_event_drop(struct engine_event *event);
// Frees what is left of a copy made by engine_event_own.
void engine_event_clear(struct engine_event *event);

#endif
