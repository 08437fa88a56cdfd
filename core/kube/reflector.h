// SPDX-License-Identifier: Apache-2.0
// Keeps somebody informed about all objects of one kind in one cluster: discovery of the served version, list, watch,
// and whatever can go wrong with them (client-go's reflector is the model of behaviour; what each answer leads to is in
// docs/reflector.md). It holds no objects. A reflector belongs to the thread of its transport.
#ifndef WHARF_KUBE_REFLECTOR_H
#define WHARF_KUBE_REFLECTOR_H

#include "core/base/clock.h"
#include "core/json/scan.h"
#include "core/kube/client.h"

// Called on the reflector's thread.
struct reflector_handler {
    // A list begins: all that exists will be told with `seen` until `listed`. A list that breaks off is begun again.
    // `version` is the API version that the objects are in.
    void (*listing)(void *ctx, const char *version);
    // An object as it is now. Ownership passes.
    void (*seen)(void *ctx, struct object *object);
    // An object was deleted (or left the selector); its last state. Ownership passes.
    void (*gone)(void *ctx, struct object *object);
    // The list that began with `listing` is complete: what was not seen since is gone. `version` is the API version
    // served.
    void (*listed)(void *ctx, const char *version);
    // A change of state, with one sentence for LOST and ABSENT. CONNECTED comes after `listed` the first time, and
    // again after each LOST.
    void (*state)(void *ctx, enum reflector_state state, const char *problem);
    // The server's resourceVersions went back: it was restored from a copy, or wiped. Comes before the `listing` that
    // follows. May be NULL.
    void (*rewound)(void *ctx, const char *problem);
    void *ctx;
};

struct reflector_options {
    const char *cluster;         // for log lines
    const char *group, *plural;  // copied, like all strings here
    const char *const *versions; // acceptable versions, best first, NULL at the end
    const char *label_selector;  // NULL: none
    bool cluster_scoped;
    bool watch_list;              // ask for a streaming list first (falls back by itself where not served)
    uint64_t seed;                // for jitter
    struct budget *budget;        // of the cluster, not owned; may be NULL
    const char *const *kept;      // see object_limits; not copied; may be NULL
    struct probe *probe;          // told of what is heard, not owned; may be NULL
    int64_t bookmark_interval_ns; // 0: 60 s; a watch silent for three of them is opened again
};

struct reflector;
// Does nothing until the first tick.
struct error *reflector_new(const struct reflector_options *options, struct transport *transport,
                            const struct reflector_handler *handler, struct reflector **out);
// Cancels what is under way; no handler is called any more.
void reflector_free(struct reflector *reflector);

// Does what is due. Returns the monotonic time of the next call that is needed, or CLOCK_NEVER. Whoever drives the
// transport calls it after each of its handlers ran, and at the time returned.
int64_t reflector_tick(struct reflector *reflector, struct moment now);

// The cluster is another one than before, or an older state of it (its namespace kube-system says so): this is told
// with `rewound`, and all is listed again. Not from a handler of the transport.
void reflector_rewind(struct reflector *reflector, const char *problem);

// Lists again what is watched; nothing if there was no list yet. Not from a handler of the transport.
void reflector_relist(struct reflector *reflector);

// Splits a stream of concatenated JSON documents into documents, by nesting, whatever the chunks (also used by tests).
struct frame_scanner {
    size_t scanned;
    struct scan value; // of a document that is not complete yet; depth 0: none has begun
};
// Looks at `len` bytes of which the first `scanner->scanned` were looked at before. Returns the length of the first
// complete document with leading white space, and is ready for the next one then; 0 if there is none yet. *bad is set
// if no document can begin like that (documents are objects and arrays here).
size_t frame_next(struct frame_scanner *scanner, const char *bytes, size_t len, bool *bad);

#endif
