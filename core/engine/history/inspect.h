// SPDX-License-Identifier: Apache-2.0
// What people may ask about workloads. Reads the engine's state on its thread and decides nothing; strings are valid
// until the next step. Times are of the wall clock, 0: not known or none.
#ifndef WHARF_ENGINE_INSPECT_H
#define WHARF_ENGINE_INSPECT_H

#include "core/engine/engine.h"
#include "core/engine/placement/worker_reason.h"
#include "core/engine/status/rival_state.h"
#include "core/engine/store/attempts.h"

struct workload_view {
    size_t kind;
    uint64_t sequence; // of its last change, see changes.h
    const char *namespace_, *name, *uid;
    const char *cluster; // NULL: not placed
    uint32_t attempt;
    wharf_phase_kind phase;
    bool suspended, being_deleted;
    int64_t placed_ns, changed_ns;
    enum waiting waiting;
    const char *waits_for;      // the cluster that it waits for, or NULL
    const char *waiting_detail; // each worker's reason, or Kueue's; else NULL
    int64_t waiting_since_ns, waiting_until_ns;
};
// False: no more are wanted.
typedef bool (*inspect_visit)(void *ctx, const struct workload_view *view);

uint64_t inspect_sequence(const struct engine *engine);
// Whether all changes since are known (see changes_known_since).
bool inspect_knows_since(const struct engine *engine, uint64_t since);
// Visits up to `max` workloads that changed after *after, in the order of their changes; *after moves along. True:
// there may be more.
bool inspect_changes(struct engine *engine, struct moment now, uint64_t *after, size_t max, inspect_visit visit,
                     void *ctx);
// The workloads that are gone since.
void inspect_gone(const struct engine *engine, uint64_t since,
                  void (*visit)(void *ctx, size_t kind, const char *namespace_, const char *name), void *ctx);

// The mirror whose status is followed.
struct mirror_view {
    size_t cluster;
    const char *cluster_name, *uid;
    const char *version; // the API version of its kind there; "" if not known
    const char *reduced; // why and how the copied status was reduced; NULL: it is whole
    uint32_t attempt;
    bool finished;          // the workload has
    wharf_phase_kind phase; // by inspect_explain only
};
// Without a mirror, `out` has no more than `finished`.
enum inspect_mirror { INSPECT_MIRROR_FOUND, INSPECT_MIRROR_NONE, INSPECT_MIRROR_NOT_OURS };
enum inspect_mirror inspect_mirror(const struct engine *engine, const struct kind *kind, const char *namespace_,
                                   const char *name, struct mirror_view *out);

// The API version in which the management cluster serves a kind, NULL: not known yet; and why it is not watched, "": it
// is.
const char *inspect_version(const struct engine *engine, const struct kind *kind);
const char *inspect_problem(const struct engine *engine, const struct kind *kind);

// All that is known of one workload.
struct explain_view {
    struct workload_view workload;
    const struct attempt *attempts; // the newest first
    bool has_mirror;
    struct mirror_view mirror;
    const char *why;           // of the last decision; may be NULL
    char waiting_text[1024];   // "" if it does not wait
    char also_run[RIVAL_TEXT]; // what shows that a controller in the management cluster runs it too; "" if nothing does
    bool queued_by_kueue;      // it is suspended until Kueue admits it
};
// False: it is not delegated to this host, as far as it knows. `worker` is called for each worker.
bool inspect_explain(struct engine *engine, struct moment now, const struct kind *kind, const char *namespace_,
                     const char *name, struct explain_view *out,
                     void (*worker)(void *ctx, const char *name, const struct worker_reason *reason,
                                    int64_t until_wall_ns, int64_t since_wall_ns),
                     void *ctx);

#endif
