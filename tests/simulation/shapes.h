// SPDX-License-Identifier: Apache-2.0
// The Jobs that users create.
#pragma once

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
    SHAPE_QUEUE, // a work queue: no completions
    SHAPE_SCRIPTED,
    SHAPE_DEFAULT_MANAGER, // runs where it is
    SHAPE_OTHER_MANAGER,
    SHAPES
};

// As it would be created. `finalizer`: it has one that a user removes later.
struct json *shape_job(struct trial *trial, enum shape shape, const char *namespace_, const char *name, bool finalizer);

// A foreign object of that name in a worker: a user's Job, another host's mirror, a child of a mirror, or an orphan of
// an earlier process of the host.
enum foreign_kind { FOREIGN_PLAIN, FOREIGN_OTHER_ORIGIN, FOREIGN_CHILD, FOREIGN_ORPHAN };
// `uid`: of the workload that its marks name; `owner`: uid and name of the mirror that it is a child of.
struct json *shape_foreign(struct trial *trial, enum foreign_kind kind, const char *namespace_, const char *name,
                           const char *uid, const char *owner_uid, const char *owner_name);
