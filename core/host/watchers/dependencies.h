// SPDX-License-Identifier: Apache-2.0
// Shared by dependencies.c (wishes, and the watch of all objects of a resource) and dependency_objects.c (single
// objects: watches and reads).
#pragma once

#include "core/host/watchers/watcher.h"

#define DEPENDENCY_READS 8               // at a time
#define DEPENDENCY_AGAIN_NS CLOCK_SECOND // after a failed read, and without memory
#define DEPENDENCY_VERSION 32            // of a resourceVersion, with the NUL; longer ones are not compared

struct wishes {
    struct watcher_base base;
    struct followed *first; // a list
    struct single_read {
        struct wishes *all;
        struct wished *wished; // NULL: no longer wished
        uint64_t request;      // 0: free
    } reads[DEPENDENCY_READS];
    int64_t read_ns; // no read before
    int64_t now_ns;  // of the last step
    int64_t tell_ns; // when to ask the engine for all wishes; CLOCK_NEVER: not
};

// A resource with wishes. Owns the texts.
struct followed {
    struct followed *next;
    struct wishes *all;
    char *resource, *version, *plural; // "tasks.tekton.dev", "v1", "tasks"
    const char *group;
    const char *versions[2];
    bool cluster_scoped, sensitive;
    struct object_watch watch; // of all objects
    bool wanted;               // that watch
    bool refused;              // that watch, with 403 or 404; the engine knows
    bool by_name;              // with 403
    bool complete;             // there was a list since the watch opened
    bool unread;               // some wished object was perhaps not in the list
    bool singles;              // there are watches of single objects
    uint32_t list;             // the number of lists so far
    size_t counted, listed;    // objects in the present list, and in the last complete one
    struct map wishes;         // "namespace/name" to struct wished
};

#define WISHED_TEXTS 4
struct wished { // the texts first, see struct_copy_with_texts
    const char *key, *namespace_, *name, *selector;
    struct followed *of;
    struct object_watch *single;   // NULL: none
    uint32_t made, list;           // the number of the list when it was wished; the last list that it was in
    bool known, asked;             // the engine has the state; a read is in flight
    bool refused, listed;          // of `single`
    char read[DEPENDENCY_VERSION]; // the version of the read, as long as the watch may be behind; "": none
};

// Posts news of one object; `object` NULL: there is none. Takes the object.
void dependency_tell(struct wished *wished, struct object *object, bool gone);
void dependency_post(const struct followed *followed, enum dependency_news news, const struct wished *wished,
                     const char *problem);
struct reflector_options dependency_options_of(const struct followed *followed);

// Opens no watch while the server rejects the credentials: the probe notices the end of that.
int64_t dependency_tick_watch(const struct wishes *all, struct object_watch *watch, bool wanted, struct moment now);
int64_t dependency_tick_single(struct wished *wished, struct moment now); // opens the watch first
void dependency_close_single(struct wished *wished);
// Reads objects of which the watch of all has shown nothing since the wish. Returns the time of the next call needed.
int64_t dependency_read(struct followed *followed, struct moment now);
