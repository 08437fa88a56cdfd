// SPDX-License-Identifier: Apache-2.0
// Lists and watches all objects of one kind in one cluster, with discovery of the served version and recovery from
// errors (modelled on client-go's reflector; docs/reflector.md has the reaction to each response). It does not store
// objects. A reflector belongs to the thread of its transport.
#pragma once

#include "core/json/writer.h"
#include "core/kube/client/client.h"

// Called on the reflector's thread.
struct reflector_handler {
    // A list begins: `seen` is called for each existing object until `listed`. An interrupted list begins again.
    // `version` is the API version of the objects.
    void (*listing)(void *ctx, const char *version);
    // The current state of an object. The handler owns it.
    void (*seen)(void *ctx, struct object *object);
    // An object was deleted (or no longer matches the selector); its last state. The handler owns it.
    void (*gone)(void *ctx, struct object *object);
    // The list that began with `listing` is complete: objects not seen since are gone. `version` is the served API
    // version.
    void (*listed)(void *ctx, const char *version);
    // A change of state; `problem` is one sentence for LOST and ABSENT. CONNECTED comes after `listed` the first time,
    // and again after each LOST.
    void (*state)(void *ctx, enum reflector_state state, const char *problem);
    // The server's resourceVersions went back: it was restored from a backup, or wiped. Called before the next
    // `listing`. May be NULL.
    void (*rewound)(void *ctx, const char *problem);
    void *ctx;
};

struct reflector_options {
    const char *cluster;         // for log lines; texts are copied
    const char *group, *plural;  // "" for core
    const char *label_selector;  // NULL: none
    const char *field_selector;  // NULL: none
    const char *namespace_;      // NULL or "": all
    const char *const *versions; // acceptable versions, preferred first, at least one; NULL-terminated; not copied
    bool cluster_scoped;
    bool metadata;           // of objects, metadata is enough (PartialObjectMetadata); a server may send more
    bool sensitive;          // the objects are Secrets, see sensitive.h
    bool served;             // the first version is likely to be served: no discovery before the first list
    bool from_now;           // lists are not passed on, only later changes
    bool watch_list;         // try a streaming list first; falls back to pages if not served
    uint64_t seed;           // for jitter
    struct budget *budget;   // of the cluster, not owned; may be NULL
    const char *const *kept; // see object_limits; not copied; may be NULL
    const char *const *only; // the same
    struct probe *probe;     // notified of server activity; not owned; may be NULL
    struct meter *meter;     // counts lists and watches; not owned; may be NULL
};

struct reflector;
// Does nothing until the first tick.
struct error *reflector_new(const struct reflector_options *options, struct transport *transport,
                            const struct reflector_handler *handler, struct reflector **out);
// Cancels requests in flight; no handler is called afterwards.
void reflector_free(struct reflector *reflector);

// Performs the due work. Returns the monotonic time of the next call needed, or CLOCK_NEVER. Must also be called after
// each transport handler.
int64_t reflector_tick(struct reflector *reflector, struct moment now);

// The cluster was replaced or restored to an older state, according to its namespace kube-system: calls `rewound` and
// lists again. Not from a transport handler.
void reflector_rewind(struct reflector *reflector, const char *problem);

// The server answers again, or accepts the credentials again: a failed request is repeated at the next tick instead of
// after the backoff.
void reflector_hurry(struct reflector *reflector);

// The last resourceVersion: in `listed`, that of the list. "": none.
const char *reflector_version(const struct reflector *reflector);

// How the last exchange ended.
enum reason reflector_ending(const struct reflector *reflector);

// Why there is no watch, one sentence; NULL: open, or never tried.
const char *reflector_problem(const struct reflector *reflector);

// Lists again; does nothing if there was no list yet. Not from a transport handler.
void reflector_relist(struct reflector *reflector);

// Splits a stream of concatenated JSON documents by nesting, independent of chunk boundaries (also used by tests).
struct frame_scanner {
    size_t scanned;
    struct scan value; // of an incomplete document; depth 0: none has begun
};
// Scans `len` bytes, of which the first `scanner->scanned` were scanned before. Returns the length of the first
// complete document including leading white space, and resets for the next one; 0 if incomplete. Sets *bad if the text
// is neither an object nor an array.
size_t frame_next(struct frame_scanner *scanner, const char *bytes, size_t len, bool *bad);
