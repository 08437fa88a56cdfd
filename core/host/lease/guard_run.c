// SPDX-License-Identifier: Apache-2.0
#include "core/host/lease/guard_run.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/shard/shard_hash.h"
#include "core/engine/store/throttle.h"
#include "core/host/lease/guard_reports.h"
#include "core/host/watchers/watcher.h"

#include <stdio.h>

#define SUBMITTED_MAX 48                        // fewer than a client sends: requests for Leases do not wait
#define FAILURES_LOGGED 5                       // before the throttle
#define AGAIN_NS (2 * CLOCK_SECOND)             // after a failed request about a mirror
#define REPORT_MAX ((size_t)4 << 20)            // bytes of a body, with escapes
#define UNREACHABLE_NS (15 * CLOCK_SECOND)      // until the first log line
#define UNREACHABLE_AGAIN_NS (5 * CLOCK_MINUTE) // and between later ones

struct guarded_kind { // one kind, watched while the guard stops mirrors
    struct guard_run *run;
    size_t kind;
    struct object_watch watch;
    char version[64]; // served
    int64_t again_ns; // time of the next list after a failed request; CLOCK_NEVER: no list needed
};

struct stop { // a request about a mirror, waiting or in flight; one block but for the body
    const char *namespace_, *name, *uid, *version;
    struct stop *next;
    struct guarded_kind *watched;
    struct guard_run *run;
    bool deletes, submitted;
    uint64_t hash; // of its shard
    char *body;
};

struct guard_run {
    struct guard_run_options options;
    struct guard guard;
    struct client *client;
    char selector[128];
    struct stop *stops; // in the order of submission
    size_t submitted;
    struct moment now;
    int64_t logged_ns; // the API server cannot be reached; 0: reachable
    bool seen, fencing, logged_unreturned;
    char logged_leases[256]; // the missed Leases
    uint64_t stopped;        // since fencing began
    uint64_t suspended, deleted, failures;
    struct guard_reports reports;
    struct throttle failing;       // lines about mirrors that the guard cannot stop,
    int64_t fail_line_ns;          // the next one,
    uint64_t unlogged;             // and how many were left out since the last one
    struct guarded_kind watched[]; // of all kinds
};

// Where the request about a mirror is, or the end.
static struct stop **stop_of(struct guard_run *run, const char *uid) {
    struct stop **at = &run->stops;
    while (*at && strcmp((*at)->uid, uid) != 0)
        at = &(*at)->next;
    return at;
}

static void free_stop(struct stop *stop) {
    *stop_of(stop->run, stop->uid) = stop->next;
    stop->run->submitted -= stop->submitted;
    free(stop->body);
    free(stop);
}

// All mirrors may fail for the same reason, every 2 s: after the first ones there is a line now and then.
static void log_failure(struct guard_run *run, const char *object, const char *kind, const char *error) {
    run->failures++;
    if (run->now.mono_ns < run->fail_line_ns) {
        run->unlogged++;
        return;
    }
    run->fail_line_ns = throttle_next(&run->failing, run->now.mono_ns, FAILURES_LOGGED);
    log_fields(LOG_ERROR, "the mirror cannot be stopped yet", {"object", object}, {"kind", kind}, {"error", error},
               LOG_INT("moreSinceLast", run->unlogged));
    run->unlogged = 0;
}

static void try_again(struct stop *stop) {
    stop->watched->again_ns = clock_earlier(stop->watched->again_ns, stop->run->now.mono_ns + AGAIN_NS);
}

// The host may have renewed its Lease since the decision. If the Lease expires again, the guard lists the mirrors
// again.
static bool is_wanted(const struct stop *stop) {
    return guard_is_fencing_of(&stop->run->guard.leases, stop->hash, stop->run->now);
}

static void drop(struct stop *stop) {
    try_again(stop);
    free_stop(stop);
}

static void drop_unwanted(struct guard_run *run) {
    for (struct stop *stop = run->stops, *next; stop; stop = next) {
        next = stop->next;
        if (!stop->submitted && !is_wanted(stop))
            drop(stop);
    }
}

static char *stop_body(const struct stop *stop, const struct json *object) {
    // Foreground: the host's finalizer on the mirror would otherwise keep the pods.
    if (stop->deletes)
        return text_format("{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\""
                           ":\"Foreground\",\"preconditions\":{\"uid\":\"%s\"}}",
                           stop->uid);
    AUTO_JSON patch = guard_patch(stop->run->options.kinds[stop->watched->kind], object, stop->run->now);
    return patch ? json_text(patch, NULL) : NULL;
}

static void on_stopped(void *ctx, struct response *response);

static void submit(struct stop *stop) {
    struct guard_run *run = stop->run;
    const struct kind *kind = run->options.kinds[stop->watched->kind];
    if (!is_wanted(stop)) {
        drop(stop);
        return;
    }
    struct request request = {.verb = stop->deletes ? VERB_DELETE : VERB_MERGE_PATCH,
                              .resource = {kind->abi.group, stop->version, kind->abi.plural, false},
                              .namespace_ = stop->namespace_,
                              .name = stop->name,
                              .body = stop->body,
                              .body_len = stop->body ? strlen(stop->body) : 0};
    struct error *error = stop->body ? client_submit(run->client, &request, on_stopped, stop, NULL) : error_no_memory();
    if (!error) {
        stop->submitted = true;
        run->submitted++;
        return;
    }
    log_failure(run, stop->name, kind->plural_group, error_text(error));
    error_free(error);
    drop(stop);
}

static void submit_waiting(struct guard_run *run) {
    for (struct stop *stop = run->stops, *next; stop && run->submitted < SUBMITTED_MAX; stop = next) {
        next = stop->next;
        if (!stop->submitted)
            submit(stop);
    }
}

// Deletes a mirror that rejects the suspension, if the guard still has to stop the mirror.
static void delete_instead(struct stop *stop) {
    stop->run->submitted--;
    stop->submitted = false;
    stop->deletes = true;
    free(stop->body);
    stop->body = stop_body(stop, NULL);
    submit(stop);
}

static void on_stopped(void *ctx, struct response *response) {
    struct stop *stop = ctx;
    struct guard_run *run = stop->run;
    enum reason reason = response->reason;
    const char *plural = run->options.kinds[stop->watched->kind]->plural_group;
    AUTO_TEXT object = text_format("%s/%s", stop->namespace_, stop->name);
    bool refused = reason == REASON_INVALID || reason == REASON_BAD_REQUEST || reason == REASON_FORBIDDEN;
    if (reason == REASON_OK || reason == REASON_NOT_FOUND) {
        run->stopped += reason == REASON_OK;
        *(stop->deletes ? &run->deleted : &run->suspended) += reason == REASON_OK;
        if (reason == REASON_OK)
            log_fields(LOG_WARN, stop->deletes ? "the mirror is deleted" : "the mirror is suspended",
                       {"object", object}, {"kind", plural});
    } else if (refused && !stop->deletes) {
        delete_instead(stop);
        return;
    } else {
        log_failure(run, object, plural, response->message);
        try_again(stop);
    }
    free_stop(stop);
}

static void stop_mirror(struct guarded_kind *w, const struct json *object, bool deletes) {
    struct guard_run *run = w->run;
    struct stop **at = stop_of(run, object_uid(object));
    const struct stop fresh = {.namespace_ = object_namespace(object),
                               .name = object_name(object),
                               .uid = object_uid(object),
                               .version = w->version,
                               .watched = w,
                               .run = run,
                               .deletes = deletes,
                               .hash = guard_hash(run->options.kinds[w->kind], object)};
    struct stop *stop = *at ? NULL : struct_copy_with_texts(&fresh, sizeof fresh, 4);
    if (!stop) {
        w->again_ns = clock_earlier(w->again_ns, run->now.mono_ns + AGAIN_NS);
        return;
    }
    *at = stop;
    stop->body = stop_body(stop, object);
    if (!stop->body)
        drop(stop);
}

static void judge_mirror(struct guarded_kind *w, const struct object *object) {
    struct guard_run *run = w->run;
    enum guard_verdict verdict =
        guard_judge(&run->guard, run->options.kinds[w->kind], object->value, run->now, object->too_large);
    if (run->fencing && verdict != GUARD_LEAVES_IT)
        stop_mirror(w, object->value, verdict == GUARD_DELETES_IT);
}

// The state before the guard stops the mirror, and each later one.
static void note_mirror(struct guarded_kind *w, const struct object *object) {
    struct guard_run *run = w->run;
    const struct kind *kind = run->options.kinds[w->kind];
    if (run->options.report && run->fencing && !object->too_large &&
        guard_is_lost(&run->guard, kind, object->value, run->now))
        guard_reports_note(&run->reports, kind, object->value, run->now);
}

static void handle_notice(void *ctx, const struct cluster_notice *notice) {
    struct guarded_kind *w = ctx;
    if (notice->type == NOTICE_LISTING)
        text_copy(w->version, sizeof w->version, notice->version);
    else if (notice->type == NOTICE_SEEN)
        judge_mirror(w, notice->object);
    if (notice->type == NOTICE_SEEN || notice->type == NOTICE_GONE)
        note_mirror(w, notice->object);
    if (notice->type == NOTICE_STATE && notice->state == REFLECTOR_LOST)
        log_fields(LOG_ERROR, "mirrors of a kind cannot be watched, so new ones are not stopped",
                   {"kind", w->run->options.kinds[w->kind]->plural_group}, {"error", notice->problem});
}

static void init_watch(struct guard_run *run, size_t kind) {
    const struct guard_run_options *options = &run->options;
    const wharf_kind *abi = &options->kinds[kind]->abi;
    struct guarded_kind *w = &run->watched[kind];
    *w = (struct guarded_kind){.run = run, .kind = kind, .again_ns = CLOCK_NEVER};
    text_copy(w->version, sizeof w->version, abi->versions[0]);
    object_watch_init(&w->watch,
                      &(struct reflector_options){.cluster = "worker",
                                                  .group = abi->group,
                                                  .plural = abi->plural,
                                                  .versions = abi->versions,
                                                  .label_selector = run->selector,
                                                  .watch_list = options->watch_list,
                                                  .budget = options->budget,
                                                  .seed = options->seed + kind + 1},
                      options->transport, handle_notice, w);
    w->watch.persistent = true;
}

struct error *guard_run_new(const struct guard_run_options *options, struct moment now, struct guard_run **out) {
    *out = NULL;
    struct guard_run *run = calloc(1, sizeof *run + options->n_kinds * sizeof run->watched[0]);
    if (!run)
        return error_no_memory();
    run->options = *options;
    run->now = now;
    guard_init(&run->guard, &options->guard, now);
    struct client_options client = {.cluster = "worker", .transport = options->transport, .budget = options->budget};
    struct error *error = client_new(&client, &run->client);
    if (error) {
        free(run);
        return error;
    }
    guard_reports_init(&run->reports, options->seed);
    snprintf(run->selector, sizeof run->selector, "%s=%s", MARK_ORIGIN, options->guard.origin);
    for (size_t k = 0; k < options->n_kinds; k++)
        init_watch(run, k);
    *out = run;
    return NULL;
}

void guard_run_free(struct guard_run *run) {
    if (!run)
        return;
    for (size_t k = 0; k < run->options.n_kinds; k++)
        object_watch_clear(&run->watched[k].watch);
    client_free(run->client);
    while (run->stops)
        free_stop(run->stops);
    guard_reports_free(&run->reports);
    free(run);
}

static void on_answer(void *ctx, struct response *response) {
    struct guard_run *run = ctx;
    guard_answer(&run->guard, response, run->now);
    drop_unwanted(run);
}

static bool is_stopping(const void *ctx, struct fence_part part) {
    const struct guard_run *run = ctx;
    for (const struct stop *stop = run->stops; stop; stop = stop->next)
        if (shard_hash_at(stop->hash, part.count) == part.shard)
            return true;
    return false;
}

static int64_t keep_leases(struct guard_run *run) {
    struct request request;
    int64_t at_ns = CLOCK_NEVER;
    struct guard_stopping stopping = {is_stopping, run};
    enum guard_request type = guard_next(&run->guard, run->now, &stopping, &request, &at_ns);
    if (type == GUARD_NONE)
        return at_ns;
    struct error *error = client_submit(run->client, &request, on_answer, run, NULL);
    if (error)
        guard_answer(&run->guard, NULL, run->now);
    error_free(error);
    return run->now.mono_ns + CLOCK_SECOND;
}

static void log_changes(struct guard_run *run, bool fencing) {
    if (*run->guard.unreturned && !run->logged_unreturned)
        log_fields(LOG_WARN, "a Lease of a former number of shards cannot be given back yet",
                   {"error", run->guard.unreturned});
    run->logged_unreturned = *run->guard.unreturned;
    bool seen = run->guard.leases.count > 0;
    if (seen && !run->seen)
        log_plain(LOG_INFO, "the Lease of the host is there: the guard watches for renewals");
    run->seen = seen;
    char leases[256];
    guard_missed(&run->guard.leases, run->now, leases, sizeof leases);
    if (fencing && strcmp(leases, run->logged_leases) != 0)
        log_fields(LOG_WARN, "no heartbeat from the host for fenceAfter: its mirrors here are stopped",
                   {"leases", leases});
    text_copy(run->logged_leases, sizeof run->logged_leases, leases);
    if (!fencing && run->fencing)
        log_fields(LOG_WARN, "the heartbeat of the host is back: the host decides about the mirrors",
                   LOG_INT("stopped", run->stopped));
    int64_t now_ns = run->now.mono_ns, silent_ns = now_ns - run->guard.reached_ns;
    bool fails = *run->guard.problem;
    if (fails && silent_ns >= UNREACHABLE_NS &&
        (run->logged_ns == 0 || now_ns - run->logged_ns >= UNREACHABLE_AGAIN_NS)) {
        log_fields(LOG_ERROR, "the API server cannot be reached: the guard can stop nothing",
                   {"error", run->guard.problem});
        run->logged_ns = now_ns;
    } else if (!fails && run->logged_ns) {
        log_plain(LOG_INFO, "the API server is reached again");
        run->logged_ns = 0;
    }
}

// `more`: the guard stops mirrors of another shard too, which were seen before.
static int64_t tick_watches(struct guard_run *run, bool more) {
    int64_t next_ns = CLOCK_NEVER;
    for (size_t k = 0; k < run->options.n_kinds; k++) {
        struct guarded_kind *w = &run->watched[k];
        if (run->fencing && (more || w->again_ns <= run->now.mono_ns))
            object_watch_relist(&w->watch);
        if (!run->fencing || w->again_ns <= run->now.mono_ns)
            w->again_ns = CLOCK_NEVER;
        int64_t at_ns = object_watch_tick(&w->watch, run->fencing, run->now);
        next_ns = clock_earlier(next_ns, clock_earlier(w->again_ns, at_ns));
        if (run->fencing && !w->watch.reflector)
            log_fields(LOG_ERROR, "mirrors cannot be watched yet", {"error", "out of memory"});
    }
    return next_ns;
}

static int64_t send_report(struct guard_run *run) {
    int64_t at_ns = CLOCK_NEVER;
    AUTO_BUFFER(body, REPORT_MAX);
    if (run->options.report && guard_reports_take(&run->reports, run->now, &body, &at_ns))
        run->options.report(run->options.report_ctx, body.data, body.len);
    return at_ns;
}

int64_t guard_run_tick(struct guard_run *run, struct moment now) {
    run->now = now;
    bool more = guard_look(&run->guard.leases, now), fencing = guard_is_fencing(&run->guard.leases, now);
    log_changes(run, fencing);
    if (fencing && !run->fencing)
        run->stopped = 0;
    if (!fencing && run->fencing)
        guard_reports_end(&run->reports);
    run->fencing = fencing;
    int64_t next_ns = tick_watches(run, more);
    next_ns = clock_earlier(next_ns, send_report(run));
    next_ns = clock_earlier(next_ns, keep_leases(run));
    submit_waiting(run);
    next_ns = clock_earlier(next_ns, client_tick(run->client, now));
    next_ns = clock_earlier(next_ns, guard_expires_at_ns(&run->guard.leases, now));
    return clock_earlier(next_ns, now.mono_ns + UNREACHABLE_NS);
}

void guard_run_status(const struct guard_run *run, struct guard_status *out) {
    const struct guard *guard = &run->guard;
    int64_t now_ns = run->now.mono_ns, heard_ns = 0;
    *out = (struct guard_status){
        .at_ns = now_ns, .suspended = run->suspended, .deleted = run->deleted, .failures = run->failures};
    out->leases = guard_held(&guard->leases, run->now, &out->missed, &heard_ns);
    out->heard_wall_ns = heard_ns ? run->now.wall_ns - (now_ns - heard_ns) : 0;
    out->reachable = guard->reached && (!*guard->problem || now_ns - guard->reached_ns < UNREACHABLE_NS);
    text_copy(out->origin, sizeof out->origin, guard->origin);
    text_copy(out->problem, sizeof out->problem, guard->problem);
    text_copy(out->unreturned, sizeof out->unreturned, guard->unreturned);
    guard_late(&guard->leases, run->now, out->late, sizeof out->late);
}

bool guard_run_is_fencing(const struct guard_run *run) {
    return run->fencing;
}
