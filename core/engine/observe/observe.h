// SPDX-License-Identifier: Apache-2.0
// Objects from watches, lists and answers become facts and compact text.
#pragma once

#include "core/engine/engine_internal.h"

struct request_in_flight;

// Why an object in a worker counts as a mirror.
enum ownership {
    OWNERSHIP_NONE,  // not a mirror
    OWNERSHIP_UID,   // by the uid of a former mirror with changed marks
    OWNERSHIP_MARKS, // by marks, which any writer may copy
    OWNERSHIP_SEAL   // by marks and a valid seal
};

// Rule 1: delegated to this host, and no mirror of it, as in the management cluster as a worker of its own.
bool observe_is_delegated(const struct engine *engine, const struct kind *kind, const struct json *object);
void observe_seen(struct engine *engine, size_t cluster, size_t kind, struct object *object);
// Handles an object from an answer; takes `object`.
void observe_workload(struct engine *engine, struct entry *entry, struct object *object);
void observe_mirror(struct engine *engine, struct entry *entry, struct mirror *mirror, struct object *object,
                    enum ownership ownership);
// `mirror`: the known object of that name, or NULL.
enum ownership observe_ownership(const struct engine *engine, size_t cluster, size_t kind, const struct mirror *mirror,
                                 const struct json *object);
// The status of the known mirror in a later version, which the worker's guard reported: `whole`, or these members of
// it.
void observe_reported(struct engine *engine, struct entry *entry, struct mirror *mirror, const struct json *status,
                      bool whole);
void observe_mirror_gone(struct engine *engine, struct entry *entry, struct mirror *mirror, bool certain);
// Whether the phase of the workload, of a mirror or of the final state of a mirror is unread (aside.h).
bool observe_is_unread(const struct entry *entry);
void observe_again(struct engine *engine, struct entry *entry); // reads these phases
void observe_set_of_workload(const struct entry *entry, struct mirror *mirror);

// Rule 9: the resourceVersions of a cluster went backwards, after a restoration from a backup or a wipe.
//
// Before the engine handles an answer: a request from before the restoration has an unknown outcome.
void restored_answer(const struct engine *engine, const struct request_in_flight *request, struct response *response);
// A finished workload is unfinished in the cluster, after a restoration or a write by another client, or the new phase
// is unread. Takes `text`, the former state.
void restored_finished(struct engine *engine, struct entry *entry, struct shared_text *text);
// The same, once the phase is read.
void restored_unfinished(struct engine *engine, struct entry *entry);

// The stored version of the workload is stale: all later objects count as newer, and another spec may have the same
// generation.
void stale_version_reset_workload(struct entry *entry);
// The known workload of this name has a newer version.
bool observe_is_older(struct engine *engine, const struct entry *entry, const char *version);
// A list had an older version of the workload than the known one, or the same version.
void stale_version_listed(struct engine *engine, struct entry *entry, const struct object *object);
// The last list is at least as new as the stored workload but had an older version of that workload: etcd was
// restored from a copy, and new versions have passed the former ones. The host has to read the workload.
bool stale_version_must_read(struct engine *engine, struct entry *entry);

// For the files of this folder.
// True if `object` is not newer than the stored one: the watch may lag behind an answer. `stub`: the stored object is a
// stub or has a reduced status; then the whole object of the same version counts as newer (maxObjectSize or
// maxStatusSize is larger now).
bool observe_is_stale(struct engine *engine, struct doc *doc, bool stub, const struct object *object);
void observe_mirror_phase(struct engine *engine, struct entry *entry, struct mirror *mirror, const struct json *object);
void observe_seen_mirror(struct engine *engine, size_t cluster, size_t kind, struct object *object);
