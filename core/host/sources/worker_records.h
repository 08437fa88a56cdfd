// SPDX-License-Identifier: Apache-2.0
// Which cluster each worker is, and which Secret or ClusterProfile it comes from: recorded once it is identified, as
// annotations of ConfigMap wharf-workers. After a restart the record distinguishes a worker from another one that
// claims its uid, and its object from another one that claims its name.
//
//     known.wharf.dev/w1: 7f0c9a1e-... Secret wharf-system/w1
#ifndef WHARF_HOST_WORKER_RECORDS_H
#define WHARF_HOST_WORKER_RECORDS_H

#include "core/host/io/cluster_connection.h"
#include "core/host/sources/worker_objects.h"

#define WORKER_RECORD_PREFIX "known.wharf.dev/"

// An annotation of the ConfigMap, for `out`->uid and `source`. False: it is another one, or there is no memory; `out`
// is unchanged.
bool worker_record_read(const char *key, const char *value, struct worker_override *out);

struct worker_records;
struct error *worker_records_new(struct worker_records **out);
void worker_records_free(struct worker_records *records); // NULL is allowed

// From the engine's thread. `uid` "": the worker is not identified, or is refused; NULL: it has left. `source` NULL: it
// comes from no object. True: worker_records_tick has something to do.
bool worker_records_set(struct worker_records *records, const char *name, const char *uid, const char *source);

// The rest: on the management cluster's thread.

// The ConfigMap as it is; NULL: there is none.
void worker_records_see(struct worker_records *records, const struct json *map);

struct worker_records_place {
    const struct cluster_connection *management;
    const char *namespace_;
    struct gate *gate; // nothing is written while it is closed; NULL: always open
};
// Writes the records that are due; returns the monotonic time of the next call needed.
int64_t worker_records_tick(struct worker_records *records, const struct worker_records_place *place,
                            struct moment now);
// The connection is about to be closed.
void worker_records_stop(struct worker_records *records);

#endif
