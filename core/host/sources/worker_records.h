// SPDX-License-Identifier: Apache-2.0
// The cluster uid of each worker, and the Secret or ClusterProfile that the worker comes from: recorded after
// identification, as annotations of ConfigMap wharf-workers. After a restart the record distinguishes a worker from
// another one that claims its uid, and its object from another one that claims its name.
//
//     known.wharf.dev/w1: 7f0c9a1e-... Secret wharf-system/w1
#pragma once

#include "core/host/io/cluster_connection.h"
#include "core/host/sources/worker_objects.h"

#define WORKER_RECORD_PREFIX "known.wharf.dev/"

// Reads an annotation of the ConfigMap into `out`->uid and `source`. False: an unrelated annotation, or out of memory;
// `out` is unchanged.
bool worker_record_read(const char *key, const char *value, struct worker_override *out);

struct worker_records;
struct error *worker_records_new(struct worker_records **out);
void worker_records_free(struct worker_records *records); // NULL is allowed

// From the engine's thread. `uid` "": the worker is not identified, or is refused; NULL: the worker has left. `source`
// NULL: the worker comes from no object. True: worker_records_tick has work.
bool worker_records_set(struct worker_records *records, const char *name, const char *uid, const char *source);

// The rest: on the management cluster's thread.

// The present ConfigMap; NULL: none.
void worker_records_see(struct worker_records *records, const struct json *map);

struct worker_records_place {
    const struct cluster_connection *management;
    const char *namespace_;
    struct gate *gate; // no writes while closed; NULL: always open
};
// Writes the records that are due; returns the monotonic time of the next call needed.
int64_t worker_records_tick(struct worker_records *records, const struct worker_records_place *place,
                            struct moment now);
// The connection is about to close.
void worker_records_stop(struct worker_records *records);
