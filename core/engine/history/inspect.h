// SPDX-License-Identifier: Apache-2.0
// Views of workloads for the API. Reads the engine's state on its thread and decides nothing; strings are valid until
// the next step. Times are of the wall clock, 0: none, or not known.
#pragma once

#include "core/base/namespace_map.h"
#include "core/engine/dependencies/dependencies.h"
#include "core/engine/engine.h"
#include "core/engine/placement/placing.h"
#include "core/engine/status/status.h"
#include "core/engine/store/store.h"

struct workload_view {
    size_t kind;
    uint64_t sequence; // of the last change
    const char *namespace_, *name, *uid;
    const char *cluster; // NULL: not placed
    uint32_t attempt;
    wharf_phase_kind phase;
    bool suspended, being_deleted;
    int64_t placed_ns, changed_ns;
    enum waiting waiting;
    const char *waits_for;      // the cluster that causes the wait, or NULL
    const char *waiting_detail; // the reasons of the workers, or Kueue's; else NULL
    int64_t waiting_since_ns, waiting_until_ns;
};
// False: stop.
typedef bool (*inspect_visit)(void *ctx, const struct workload_view *view);

uint64_t inspect_sequence(const struct engine *engine); // the last one
// Whether the host knows all later changes; if not, a reader begins anew.
bool inspect_knows_since(const struct engine *engine, uint64_t since);
// Visits up to `max` workloads that changed after *after, in the order of their changes, and advances *after. True:
// there may be more.
bool inspect_changes(struct engine *engine, struct moment now, uint64_t *after, size_t max, inspect_visit visit,
                     void *ctx);
// The workloads deleted since, the oldest first, without workloads that exist again.
void inspect_gone(const struct engine *engine, uint64_t since,
                  void (*visit)(void *ctx, size_t kind, const char *namespace_, const char *name), void *ctx);

// The mirror that is the source of the status.
struct mirror_view {
    size_t cluster;
    const char *cluster_name, *uid;
    char namespace_[NAMESPACE_SIZE]; // of the mirror
    const char *version;             // API version of the kind in the worker; "": unknown
    const char *reduced;             // why and how the host reduced the copied status; NULL: not reduced
    const char *progress;            // its MARK_PROGRESS, by inspect_explain only; NULL: none
    uint32_t attempt;
    bool as_tenant;         // the host acts as the tenant there, see core/engine/tenancy/
    bool finished;          // of the workload
    wharf_phase_kind phase; // by inspect_explain only
};
// Without a mirror, `out` has no more than `finished`.
enum inspect_mirror { INSPECT_MIRROR_FOUND, INSPECT_MIRROR_NONE, INSPECT_MIRROR_NOT_OURS };
enum inspect_mirror inspect_mirror(const struct engine *engine, const struct kind *kind, const char *namespace_,
                                   const char *name, struct mirror_view *out);

// The name of a namespace in the worker of this name; the same if there is no such worker, or no name there.
void inspect_namespace(const struct engine *engine, const char *worker, const char *namespace_,
                       char out[NAMESPACE_SIZE]);

// The uid of a workload that is delegated to this host; "": none.
const char *inspect_uid(const struct engine *engine, const struct kind *kind, const char *namespace_, const char *name);
// Why there may be no last words of the workload: the reason where it is known, else all possible ones.
const char *inspect_no_words(const struct engine *engine, const struct kind *kind, const char *namespace_,
                             const char *name);
// Whether no workload of this name has the uid, as far as a complete list of the kind shows; `plural_group`:
// "jobs.batch".
bool inspect_is_gone(const struct engine *engine, const char *plural_group, const char *namespace_, const char *name,
                     const char *uid);

// The API version of a kind in the management cluster, NULL: unknown; and the reason why there is no watch, "": the
// watch is open.
const char *inspect_version(const struct engine *engine, const struct kind *kind);
const char *inspect_problem(const struct engine *engine, const struct kind *kind);

// The objects that the workload refers to, see core/engine/dependencies/.
void inspect_dependencies(struct engine *engine, const struct kind *kind, const char *namespace_, const char *name,
                          void (*visit)(void *ctx, const struct dependency_view *view), void *ctx);

// All facts about one workload.
struct explain_view {
    struct workload_view workload;
    const struct attempt *attempts; // the newest first
    bool has_mirror;
    struct mirror_view mirror;
    const char *why;           // of the last decision; may be NULL
    char waiting_text[1024];   // "": no wait
    char also_run[RIVAL_TEXT]; // signs that a controller in the management cluster runs the workload too; "": none
    const char *progress_off;  // see continuity_off
    bool queued_by_kueue;      // suspended until Kueue admits the workload
};
// False: not delegated to this host, as far as known. Calls `worker` for each worker.
bool inspect_explain(struct engine *engine, struct moment now, const struct kind *kind, const char *namespace_,
                     const char *name, struct explain_view *out,
                     void (*worker)(void *ctx, const char *name, const struct worker_reason *reason,
                                    int64_t until_wall_ns, int64_t since_wall_ns),
                     void *ctx);
