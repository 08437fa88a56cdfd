// SPDX-License-Identifier: Apache-2.0
// The Jobs that users make.
#ifndef WHARF_SIMULATION_SHAPES_H
#define WHARF_SIMULATION_SHAPES_H

#include "tests/simulation/trial.h"

enum shape {
    SHAPE_PLAIN,
    SHAPE_FAILS,
    SHAPE_FAILS_TWICE,
    SHAPE_INDEXED,
    SHAPE_ELASTIC,
    SHAPE_INDEX_FAILS,
    SHAPE_SUSPENDED,
    SHAPE_TTL,
    SHAPE_DEADLINE,
    SHAPE_SCRIPTED,
    SHAPE_DEFAULT_MANAGER, // runs where it is
    SHAPE_OTHER_MANAGER,
    SHAPES
};

// As it would be posted. `finalizer`: it has one that a user takes off later.
struct json *shape_job(struct trial *trial, enum shape shape, const char *namespace_, const char *name, bool finalizer);

// An object of that name in a worker: somebody's own Job, another host's mirror, a child of a mirror, or what an
// earlier life of the host has left behind.
enum stranger { STRANGER_PLAIN, STRANGER_OTHER_ORIGIN, STRANGER_CHILD, STRANGER_ORPHAN };
// `uid`: of the workload that its marks name; `owner`: uid and name of the mirror that it is a child of.
struct json *shape_stranger(struct trial *trial, enum stranger kind, const char *namespace_, const char *name,
                            const char *uid, const char *owner_uid, const char *owner_name);

#endif
