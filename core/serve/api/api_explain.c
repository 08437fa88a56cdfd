// SPDX-License-Identifier: Apache-2.0
// /api/v1/workloads/KIND/NAMESPACE/NAME: the place of one workload, the outcome of its attempts, and the reason of the
// wait.
#include "core/serve/api/api_explain.h"

#include "core/base/text.h"

#include <string.h>

#define PART_MAX ((size_t)1 << 20)

static void put_attempt(const struct attempt *attempt, struct writer *out) {
    writer_object(out, NULL);
    writer_uint(out, "attempt", attempt->number);
    writer_string(out, "cluster", attempt->cluster);
    writer_time(out, "placedAt", attempt->placed_ns);
    writer_time(out, "createdAt", attempt->created_ns);
    writer_time(out, "startedAt", attempt->started_ns);
    writer_time(out, "endedAt", attempt->ended_ns);
    writer_string(out, "outcome", outcome_name((enum outcome)attempt->outcome));
    writer_string(out, "reason", attempt->reason);
    writer_string(out, "message", attempt->message);
    writer_end(out, '}');
}

static void put_attempts(const struct attempt *newest, struct writer *out) {
    const struct attempt *list[ATTEMPTS_MAX];
    size_t count = 0;
    for (const struct attempt *a = newest; a && count < ATTEMPTS_MAX; a = a->older)
        list[count++] = a;
    writer_array(out, "attempts");
    while (count > 0)
        put_attempt(list[--count], out);
    writer_end(out, ']');
}

static void put_worker(void *ctx, const char *name, const struct worker_reason *reason, int64_t until_wall_ns,
                       int64_t since_wall_ns) {
    struct explain *explain = ctx;
    struct writer *out = &explain->out_workers;
    writer_object(out, NULL);
    writer_string(out, "name", name);
    writer_bool(out, "fit", reason->obstacle == OBSTACLE_NONE);
    writer_string(out, "brief", reason->brief);
    writer_string(out, "reason", reason->text);
    writer_time(out, "since", since_wall_ns);
    writer_time(out, "until", until_wall_ns);
    writer_end(out, '}');
    help_with_worker(explain, name, reason);
}

static void put_mirror(const struct explain_view *view, struct writer *out) {
    if (!view->has_mirror) {
        writer_null(out, "mirror");
        return;
    }
    writer_object(out, "mirror");
    writer_string(out, "cluster", view->mirror.cluster_name);
    writer_string(out, "uid", view->mirror.uid);
    writer_string(out, "version", view->mirror.version);
    writer_uint(out, "attempt", view->mirror.attempt);
    writer_string(out, "phase", api_phase_name(view->mirror.phase));
    writer_string(out, "statusReduced", view->mirror.reduced);
    writer_end(out, '}');
}

// On the engine's thread.
static void write_explanation(void *arg, struct engine *engine, struct moment now) {
    struct explain *explain = arg;
    struct explain_view view;
    struct writer *out = &explain->out;
    explain->known =
        inspect_explain(engine, now, explain->kind, explain->namespace_, explain->name, &view, put_worker, explain);
    if (!explain->known)
        return;
    text_copy(explain->uid, sizeof explain->uid, view.workload.uid);
    api_put_workload(explain->source, &view.workload, out);
    writer_bool(out, "ours", true);
    AUTO_TEXT why =
        text_format("%s is %s, which this host answers to", explain->kind->abi.managed_by, explain->kind->managed_by);
    writer_string(out, "why", why);
    writer_string(out, "managedBy", explain->kind->managed_by);
    put_attempts(view.attempts, out);
    writer_string(out, "waitingFor", *view.waiting_text ? view.waiting_text : NULL);
    writer_string(out, "alsoRunHere", *view.also_run ? view.also_run : NULL);
    writer_time(out, "until", view.workload.waiting_until_ns);
    put_mirror(&view, out);
    if (view.has_mirror && view.workload.waiting == WAITING_NOT) { // no other worker is needed
        buffer_reset(&explain->help);
        explain->out_help.comma = false;
    }
    help_with_workload(explain, &view);
}

static struct error *read_path(const struct api_call *call, struct explain *explain) {
    const char *space = strchr(call->rest, '/'), *name = space ? strchr(space + 1, '/') : NULL;
    if (!name || strchr(name + 1, '/') || name[1] == '\0')
        return error_new(ERROR_INVALID,
                         "found /api/v1/workloads/%.200s, expected /api/v1/workloads/KIND/NAMESPACE/NAME", call->rest);
    AUTO_TEXT kind = text_format("%.*s", (int)(space - call->rest), call->rest);
    if (!kind)
        return error_no_memory();
    if ((size_t)(name - space) > sizeof explain->namespace_ || strlen(name) > sizeof explain->name)
        return error_new(ERROR_INVALID, "the namespace or the name is too long");
    memcpy(explain->namespace_, space + 1, (size_t)(name - space) - 1);
    text_copy(explain->name, sizeof explain->name, name + 1);
    return api_find_kind(call->source, kind, &explain->kind);
}

static void put_array(struct writer *out, const char *key, const struct buffer *items) {
    writer_array(out, key);
    if (items->len > 0)
        buffer_append(out->out, items->data, items->len);
    writer_end(out, ']');
}

static void put_whole(struct explain *explain, struct writer *out) {
    buffer_append(out->out, explain->members.data, explain->members.len);
    out->comma = true;
    put_array(out, "workers", &explain->workers);
    put_array(out, "help", &explain->help);
    explain_events(explain, out);
}

struct error *api_explain(struct api_call *call) {
    struct explain explain = {.source = call->source};
    struct buffer *buffers[] = {&explain.members, &explain.workers, &explain.help};
    for (size_t i = 0; i < 3; i++)
        buffer_init(buffers[i], PART_MAX);
    explain.out.out = &explain.members;
    explain.out_workers.out = &explain.workers;
    explain.out_help.out = &explain.help;
    struct error *error = read_path(call, &explain);
    if (!error)
        error = call->source->query(call->source->ctx, write_explanation, &explain);
    if (!error && !explain.known)
        error = explain_foreign(&explain);
    if (!error && (explain.members.failed || explain.workers.failed || explain.help.failed))
        error = error_no_memory();
    if (!error)
        put_whole(&explain, &call->out);
    for (size_t i = 0; i < 3; i++)
        buffer_free(buffers[i]);
    return error;
}
