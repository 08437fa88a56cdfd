// SPDX-License-Identifier: Apache-2.0
// The limit of a copied status. A larger status of a worker is reduced before the engine gets the object: neither the
// management cluster's etcd nor the engine's thread pays for the size. Fields that describe the state stay: conditions,
// counts and other short values.
#pragma once

#include "core/kube/object/object.h"

// One JSON value counts at least as many bytes: short values take the time.
#define STATUS_VALUE_BYTES 16

// Reduces the status of an object to `max` bytes, and to one value for each STATUS_VALUE_BYTES of `max`; `reduced` then
// names the omitted parts. Until the status is small enough, in this order: cuts long messages; omits the largest lists
// and mappings, then the longest texts, short members beyond the first 64, and the largest conditions. Whole members of
// a status are optional in the API of every kind except for a few short texts. 0: no limit.
struct error *status_limit(struct object *object, size_t max);
