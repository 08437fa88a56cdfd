// SPDX-License-Identifier: Apache-2.0
// `wharf plan`: how the host would handle objects in the management cluster, without creating them.
// The output is a stream of YAML: explanations are comments, and the documents are the objects that the host would
// write.
#pragma once

#include "core/cmd/cluster.h"
#include "core/cmd/setup.h"
#include "core/engine/mirror/mirror.h"
#include "core/kube/client/types.h"

struct plan {
    const struct config *config;
    const struct adapters *adapters;
    const char *file;        // of the objects, YAML or JSON; "-": standard input
    const char *status_file; // with the status of the mirror; NULL: none
    const char *cluster;     // worker that validates the mirror; NULL: none
    bool look_up;            // read the objects that a workload refers to
    struct moment now;
    const struct plan_input *input;
    struct json *status;       // of the mirror, or NULL
    struct cluster worker;     // of `cluster`
    char *namespace_map;       // of `cluster`; owned; or NULL
    struct cluster management; // connected with look_up, or with `cluster` if dependencies are configured
};

enum plan_verdict {
    PLAN_DELEGATED,     // would be delegated
    PLAN_NOT_DELEGATED, // valid, but not placed
    PLAN_WRONG          // rejected
};

// Placeholders for values that only the clusters know, valid as values of labels.
#define PLAN_NO_UID "UID-OF-THE-WORKLOAD"
#define PLAN_NO_ORIGIN "UID-OF-KUBE-SYSTEM"

#define PLAN_REJECTED "would be rejected by the API server"

// One object of the input.
struct plan_item {
    struct json *value;
    char *where; // "job.yaml:3"
};

struct plan_input {
    struct plan_item *items;
    size_t count;
};

// One object, and the findings so far.
struct plan_object {
    const struct plan *plan;
    const struct plan_item *item;
    const struct kind *kind;
    const char *version;
    struct json *workload; // the object with the fields that the API server sets
    struct json *mirror;   // that would be created
    char *name;            // "default/pi"
    uint32_t attempt;
    bool suspended;
    enum plan_verdict verdict;
    const char *trouble; // verdict of PLAN_WRONG
    struct buffer lines; // the comments
    struct buffer more;  // documents after the mirror
};

// plan.c
void plan_wrong(struct plan_object *object, const char *trouble);

// input.c All objects of a file; the items of a list one by one. Anything else goes to `problems`.
struct error *plan_input_read(const char *path, struct problems *problems, struct plan_input *out);
void plan_input_free(struct plan_input *input);
// The status in a file: the member "status", or the whole document.
struct error *plan_input_status(const char *path, struct json **out);

// object.c NULL: no adapter supports the kind. Appends the adapter, or why there is none, to `lines` unless NULL.
const struct kind *plan_find_kind(const struct adapters *adapters, const struct json *value, const char **version,
                                  struct buffer *lines);
// Whether the object is delegated to this host, and why.
void plan_judge_manager(struct plan_object *object);
// Reports names, labels and annotations that every API server rejects.
void plan_check_names(struct plan_object *object);

// mirror.c
// Sets the fields that the API server would set.
struct error *plan_prepare(struct plan_object *object);
void plan_report_phase(struct plan_object *object);
struct error *plan_make_mirror(struct plan_object *object);
// Begins a call into the adapter, for an existing mirror or NULL. The result is the context of the call, without the
// finalizer.
struct mirror_context plan_begin_call(const struct plan_object *object, uint32_t attempt, const struct json *mirror,
                                      struct adapter_call *call);
// Reports a result other than OK.
void plan_report_refusal(struct plan_object *object, wharf_result result, struct adapter_call *call, const char *what);
void plan_report_pods(struct plan_object *object);
// The status that is written on the workload: for a status of the mirror, or without a mirror.
struct error *plan_report_status(struct plan_object *object);

// references.c
struct error *plan_report_references(struct plan_object *object);

// scores.c
struct error *plan_report_scores(struct plan_object *object);

// worker.c Adds the problems of the sources of workers if no source has the worker.
struct error *plan_worker_open(struct plan *plan, struct problems *problems);
struct error *plan_management_open(struct plan *plan);
struct error *plan_try_mirror(struct plan_object *object);

// diff.c
struct plan_change {
    const char *pointer;
    const struct json *from, *to; // NULL: absent
};
// `on_change` is called for each difference, with pointers that begin with `prefix`; false stops. Items of arrays are
// matched by name or type, or by equality; null counts as absent. False if stopped or out of memory.
bool plan_diff(const struct json *from, const struct json *to, const char *prefix,
               bool (*on_change)(void *ctx, const struct plan_change *change), void *ctx);

// plan.c
// A comment of one line. Line ends and characters that YAML does not allow are replaced by spaces or '?'.
void plan_comment(struct buffer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
// "/spec/x: 1 -> 2" and, in parentheses, why (NULL: nothing), after `label`.
void plan_comment_change(struct buffer *out, const char *label, const struct plan_change *change, const char *why);
