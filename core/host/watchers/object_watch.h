// SPDX-License-Identifier: Apache-2.0
// A watch of one kind beside the watches of workloads: open only while wanted, and closed when the server refuses the
// watch (401, 403) or does not serve the kind (404). A reflector alone retries every half minute. This watch retries
// after ten minutes, and for an absent kind after delays that grow to one minute. Belongs to the transport's thread.
#pragma once

#include "core/base/text.h"
#include "core/kube/watch/reflector.h"

// As struct reflector_handler, but each function may be NULL, and the watch frees the objects.
struct object_watch_handler {
    void (*listing)(void *ctx, const char *version);
    void (*seen)(void *ctx, struct object *object);
    void (*gone)(void *ctx, struct object *object);
    // `restored`: the cluster was restored from a backup, so an object missing from the list was perhaps not deleted.
    void (*listed)(void *ctx, bool restored);
    // Also with STARTING when the watch closes, but not by object_watch_clear.
    void (*state)(void *ctx, enum reflector_state state, const char *problem);
    // The first refusal of the watch since the last connection. Called after `state`.
    void (*refused)(void *ctx, const char *problem);
    void *ctx;
};

struct object_watch { // zero-initialised: never opens
    struct reflector_options options;
    struct transport *transport;
    struct object_watch_handler handler;
    bool persistent;
    struct reflector *reflector; // NULL: closed
    struct random random;
    int64_t open_ns;   // not before
    int64_t absent_ns; // the next delay
    bool reported;     // the refusal
    bool listing;      // a list has begun and is not complete
    bool restored;     // since the last list
    enum reflector_state state;
};

// `options` and the objects behind its pointers outlive the watch. `persistent`: the watch stays open when refused or
// absent, to notice a grant soon. Opens nothing before the first tick.
void object_watch_init(struct object_watch *watch, const struct reflector_options *options, struct transport *transport,
                       const struct object_watch_handler *handler, bool persistent);
void object_watch_clear(struct object_watch *watch);

// Opens and closes the watch as `wanted`, and does the work that is due. Returns the time of the next call needed.
int64_t object_watch_tick(struct object_watch *watch, bool wanted, struct moment now);

// Closes the watch until `open_ns`. Not from one of its own handlers other than `refused`.
void object_watch_close(struct object_watch *watch, int64_t open_ns);
// Opens the watch again with another field selector. Not from a handler.
void object_watch_select(struct object_watch *watch, const char *field_selector);
// See reflector_hurry and reflector_relist; a closed watch stays closed.
void object_watch_hurry(struct object_watch *watch);
void object_watch_relist(struct object_watch *watch);
