// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/shapes.h"

#include "core/base/shared_text.h"
#include "core/engine/mirror/mirror.h"
#include "tests/simulation/progress.h"
#include "tests/simulation/users.h"

#include <stdio.h>
#include <stdlib.h>

#define POD                                                                                                            \
    "\"template\":{\"metadata\":{\"labels\":{\"app\":\"x\"}},\"spec\":{\"nodeSelector\":{\"zone\":\"a\"},"             \
    "\"restartPolicy\":"                                                                                               \
    "\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"example.com/x:1\"}]}}"

static struct json *parsed(struct buffer *text) {
    struct json *value = NULL;
    struct error *error = json_parse(text->data, text->len, &value);
    if (error) {
        fprintf(stderr, "simulation: %s in %s\n", error_text(error), text->data);
        abort();
    }
    return value;
}

struct traits {
    const char *expected, *fail;
    int64_t backoff, completions, parallelism;
    const char *more; // members of the spec
    int64_t duration_ms, spread_ms;
    bool off;
};

// In trials about progress.
static void add_progress(struct trial *trial, struct traits *t, bool elastic) {
    struct progress_job job;
    if (!progress_draw(trial, &job))
        return;
    // All pods of an elastic Job are to fit into a worker.
    t->completions = elastic && trial->plan.capacity ? 1 + job.parallelism : job.completions;
    t->parallelism = elastic ? t->completions : job.parallelism;
    t->duration_ms = job.duration_ms;
    t->spread_ms = job.spread_ms;
    t->off = job.off;
}

static struct traits traits_of(struct trial *trial, enum shape shape) {
    int64_t n = 1 + (int64_t)trial_below(trial, 3);
    struct traits t = {"Complete", NULL, 6, n, 1 + (int64_t)trial_below(trial, 3), "", 0, 0, false};
    // With guards, and policies about fields, longer than trouble.
    t.duration_ms = trial_between(trial, 500, trial->plan.guards || trial->plan.fields ? 240000 : 12500);
    switch (shape) {
    case SHAPE_FAILS:
        t.expected = "Failed";
        t.fail = "all";
        t.backoff = (int64_t)trial_below(trial, 2);
        break;
    case SHAPE_FAILS_TWICE:
        t.fail = "2";
        break;
    case SHAPE_INDEXED:
        t.more = ",\"completionMode\":\"Indexed\"";
        break;
    case SHAPE_ELASTIC:
        t.parallelism = t.completions = n + 1;
        t.more = ",\"completionMode\":\"Indexed\"";
        break;
    case SHAPE_INDEX_FAILS:
        t.expected = "Failed";
        t.fail = "index:1";
        t.completions = n + 1;
        t.more = ",\"completionMode\":\"Indexed\",\"backoffLimitPerIndex\":1";
        break;
    case SHAPE_SUSPENDED:
        t.more = ",\"suspend\":true";
        break;
    case SHAPE_TTL:
        t.more = ",\"ttlSecondsAfterFinished\":20";
        break;
    case SHAPE_DEADLINE:
        t.expected = "any";
        t.more = ",\"activeDeadlineSeconds\":4";
        break;
    default:
        break;
    }
    if (shape != SHAPE_SCRIPTED && shape != SHAPE_DEADLINE)
        add_progress(trial, &t, shape == SHAPE_ELASTIC);
    if (shape == SHAPE_QUEUE)
        t.completions = -1;
    return t;
}

static const char *manager_of(enum shape shape) {
    if (shape == SHAPE_DEFAULT_MANAGER)
        return "kubernetes.io/job-controller";
    return shape == SHAPE_OTHER_MANAGER ? "example.com/other" : TRIAL_MANAGED_BY;
}

// Long enough for the host to store what the Job and its mirror have in common once.
static void add_notes(struct buffer *text) {
    buffer_text(text, ",\"example.com/notes\":\"");
    for (size_t i = 0; text->len < 2 * SHARED_TEXT_SHORTEST; i++)
        buffer_printf(text, "note %zu; ", i);
    buffer_text(text, "\"");
}

struct json *shape_job(struct trial *trial, enum shape shape, const char *namespace_, const char *name,
                       bool finalizer) {
    struct traits t = traits_of(trial, shape);
    AUTO_BUFFER(text, 16384);
    buffer_printf(&text,
                  "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"namespace\":\"%s\",\"name\":"
                  "\"%s\"%s,\"labels\":{\"team\":\"a\"},\"annotations\":{\"" USERS_EXPECTED
                  "\":\"%s\",\"" WORLD_DURATION "\":\"%lldms\"",
                  namespace_, name, finalizer ? ",\"finalizers\":[\"example.com/hold\"]" : "", t.expected,
                  (long long)t.duration_ms);
    if (t.spread_ms)
        buffer_printf(&text, ",\"" WORLD_SPREAD "\":\"%lldms\"", (long long)t.spread_ms);
    if (t.off)
        buffer_text(&text, ",\"" MARK_CONTINUE "\":\"false\"");
    if (t.fail)
        buffer_printf(&text, ",\"" WORLD_FAIL "\":\"%s\"", t.fail);
    if (shape == SHAPE_SCRIPTED)
        buffer_printf(&text, ",\"" WORLD_CHANGES "\":\"%llu\"", (unsigned long long)trial_between(trial, 2, 10));
    if (shape % 2 == 0)
        add_notes(&text);
    buffer_printf(&text, "}},\"spec\":{\"managedBy\":\"%s\",\"parallelism\":%lld,\"backoffLimit\":%lld," POD "%s",
                  manager_of(shape), (long long)t.parallelism, (long long)t.backoff, t.more);
    if (t.completions >= 0)
        buffer_printf(&text, ",\"completions\":%lld", (long long)t.completions);
    buffer_text(&text, "}}");
    return parsed(&text);
}

struct json *shape_foreign(struct trial *trial, enum foreign_kind kind, const char *namespace_, const char *name,
                           const char *uid, const char *owner_uid, const char *owner_name) {
    AUTO_BUFFER(text, 16384);
    buffer_printf(&text,
                  "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"namespace\":\"%s\",\"name\":"
                  "\"%s\"",
                  namespace_, name);
    if (kind != FOREIGN_PLAIN)
        buffer_printf(&text,
                      ",\"labels\":{\"" MARK_ORIGIN "\":\"%s\",\"" MARK_UID "\":\"%s\",\"" MARK_KIND
                      "\":\"jobs.batch\"},\"annotations\":{\"" MARK_ATTEMPT "\":\"%u\",\"" MARK_CARRIED "\":\"\"}",
                      kind == FOREIGN_OTHER_ORIGIN ? "another" : TRIAL_ORIGIN, uid,
                      1 + (unsigned)trial_below(trial, 3));
    if (kind == FOREIGN_CHILD)
        buffer_printf(&text,
                      ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"%s\",\"uid\":"
                      "\"%s\",\"controller\":true}]",
                      owner_name, owner_uid);
    buffer_printf(&text, "},\"spec\":{" POD "}}");
    return parsed(&text);
}
