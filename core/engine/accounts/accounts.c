// SPDX-License-Identifier: Apache-2.0
#include "core/engine/accounts/accounts.h"

#include "core/adapter/phase.h"
#include "core/base/memory.h"
#include "core/engine/accounts/account_table.h"
#include "core/engine/history/attempt_history.h"
#include "core/engine/request/command.h"
#include "core/engine/shard/shard.h"
#include "core/json/writer.h"

#define ANNOTATION_MAX ((size_t)8 << 10)

enum run_state { RUN_NOT, RUN_RUNS, RUN_OVER };

struct former_use { // by former attempts, in one worker
    struct account *account;
    int64_t used_ns;
};

// The use of a workload. Times are by account_now, unless the object's clock is named.
struct account_run {
    struct account *account; // of the present attempt; NULL: has not run
    struct usage *usage;     // NULL: unknown
    struct former_use *former;
    size_t n_former;
    int64_t until_ns;              // end of the former attempts by the annotation; 0: unknown
    int64_t generation;            // of the workload with this usage
    int64_t start_ns;              // by the object's clock; 0: not known
    int64_t anchor_ns;             // by the host's clock: begin of the present part
    int64_t from_ns;               // begin of the part that is counted
    int64_t stop_ns;               // end of the part; 0: grows
    int64_t before_ns, counted_ns; // of earlier parts: the pods were suspended between parts
    uint32_t attempt;
    uint8_t state;    // enum run_state
    bool exact;       // start_ns is the begin of the present part
    bool by_workload; // by the workload's status alone, since the mirror was not known
};

static struct account_run *run_of(const struct entry *entry) {
    return entry->workload->accounts;
}

// Shares in the sums -------------------------------------------------------------------------------------------

static struct share share_of(const struct account_run *run, int64_t begin_ns, int64_t before_ns) {
    if (run->state == RUN_RUNS)
        return (struct share){before_ns, begin_ns};
    int64_t part_ns = run->state == RUN_OVER ? clock_later(run->stop_ns - begin_ns, 0) : 0;
    return (struct share){before_ns + part_ns, 0};
}

static struct share used_of(const struct account_run *run) {
    return share_of(run, run->anchor_ns, run->before_ns);
}

static struct share counted_of(const struct account_run *run) {
    return share_of(run, run->from_ns, run->counted_ns);
}

static void add_former(struct engine *engine, const struct account_run *run, int sign) {
    for (size_t i = 0; i < run->n_former; i++)
        account_add(engine, run->former[i].account, run->usage, SUM_USED, (struct share){run->former[i].used_ns, 0},
                    sign);
}

// Before a change of the run with -1, after it with 1.
static void add_run(struct engine *engine, const struct account_run *run, int sign) {
    struct account *account = run->account;
    add_former(engine, run, sign);
    if (!account)
        return;
    account_add(engine, account, run->usage, SUM_USED, used_of(run), sign);
    account_add(engine, account, run->usage, SUM_COUNTED, counted_of(run), sign);
    account->workloads += (size_t)sign;
    account->running += run->state == RUN_RUNS ? (size_t)sign : 0;
}

// What was counted stays in the sums, and the run begins to count anew. Called between the two calls of add_run.
static void settle(struct engine *engine, struct account_run *run) {
    if (!run->account)
        return;
    int64_t now_ns = account_now(engine);
    struct share counted = counted_of(run);
    int64_t part_ns = counted.since_ns ? clock_later(now_ns - counted.since_ns, 0) : 0;
    account_add(engine, run->account, run->usage, SUM_COUNTED, (struct share){counted.over_ns + part_ns, 0}, 1);
    run->counted_ns = 0;
    run->from_ns = run->state == RUN_RUNS ? clock_later(now_ns, run->from_ns) : run->stop_ns;
}

// The present part ends, in the same state until the caller sets another one.
static void end_part(struct account_run *run, int64_t stop_ns) {
    run->stop_ns = clock_later(stop_ns, run->anchor_ns);
    run->before_ns += run->stop_ns - run->anchor_ns;
    run->counted_ns += clock_later(run->stop_ns - run->from_ns, 0);
    run->anchor_ns = run->from_ns = run->stop_ns;
    run->state = RUN_NOT;
}

// The annotation -----------------------------------------------------------------------------------------------

static void drop_former(struct engine *engine, struct account_run *run) {
    while (run->n_former > 0)
        account_unref(engine, run->former[--run->n_former].account);
    free(TAKE(run->former));
}

static int64_t time_at(const struct json *value) {
    const char *text = json_string(value);
    int64_t wall_ns = 0;
    return text && clock_parse_rfc3339(text, &wall_ns) ? wall_ns : 0;
}

static int64_t created_ns(const struct json *object) {
    return time_at(json_path(object, "metadata", "creationTimestamp", NULL));
}

// Names that share an account are one: the annotation has it once.
static bool add_former_use(struct engine *engine, struct entry *entry, struct account_run *run, const char *cluster,
                           int64_t used_ns) {
    struct former_use *former = array_next(&run->former, run->n_former, sizeof *former);
    if (!former || run->n_former == ACCOUNT_CLUSTERS)
        return false;
    size_t i = 0;
    *former = (struct former_use){account_ref(engine, entry, cluster), used_ns};
    while (run->former[i].account != former->account)
        i++;
    if (i == run->n_former) {
        run->n_former++;
        return true;
    }
    account_unref(engine, former->account);
    run->former[i].used_ns += used_ns;
    return true;
}

// Authors of workloads can write the annotation: all attempts together took no longer than the workload exists. That of
// another uid came with a copy of another workload.
static void read_annotation(struct engine *engine, struct entry *entry, struct account_run *run) {
    const struct json *workload = doc_tree(&engine->store, &entry->workload->doc);
    const char *text = object_annotation(workload, MARK_USED);
    int64_t born_ns = created_ns(workload), age_ns = born_ns ? clock_later(engine->now.wall_ns - born_ns, 0) : 0;
    AUTO_JSON used = NULL;
    AUTO_ERROR error = text ? json_parse(text, strlen(text), &used) : NULL;
    const char *uid = json_string(json_get(used, "uid"));
    if (uid && !text_equal(uid, object_uid(workload)))
        json_free(TAKE(used));
    run->until_ns = clock_later(time_at(json_get(used, "until")), born_ns);
    for (const struct json *m = json_first(json_get(used, "seconds")); m && json_key(m); m = json_next(m)) {
        double seconds = json_double(m, 0);
        int64_t used_ns = seconds < (double)age_ns / 1e9 ? (int64_t)(seconds * 1e9) : age_ns;
        if (seconds > 0 && add_former_use(engine, entry, run, json_key(m), used_ns))
            age_ns -= used_ns;
    }
}

// Start and end by the objects ---------------------------------------------------------------------------------

static int64_t condition_time(const struct json *condition) {
    return time_at(json_get(condition, "lastTransitionTime"));
}

// 0: no object tells.
static int64_t start_by_status(const struct json *object) {
    int64_t start_ns = time_at(json_path(object, "status", "startTime", NULL));
    return start_ns
               ? start_ns
               : condition_time(phase_condition(json_path(object, "status", "conditions", NULL), "Suspended", "False"));
}

// The time of a moment by a wall clock.
static int64_t time_of(const struct engine *engine, int64_t wall_ns) {
    return account_now(engine) + (wall_ns - engine->now.wall_ns);
}

// Whether this process made the mirror, so that it has seen the start; *placed_ns: when.
static bool has_placed(const struct entry *entry, int64_t *placed_ns) {
    const struct attempt *attempt = attempt_history_newest(entry);
    bool witnessed = attempt && attempt->witnessed && attempt->number == entry->workload->facts.attempt;
    *placed_ns = witnessed ? attempt->placed_ns : 0;
    return witnessed;
}

// Counters of an earlier process, or of the shard's former holder, have what was before.
static int64_t counted_from(const struct engine *engine, const struct entry *entry, const struct account_run *run) {
    return clock_later(run->anchor_ns, engine->accounts->held_since[shard_of(engine, entry)]);
}

// The pods run since `start_ns` by the object's clock, 0: since now. The clock of the worker may differ: the mirror did
// not start before its placement or before it was resumed, nor in the future.
static void begin_part(struct engine *engine, struct entry *entry, struct account_run *run, int64_t start_ns) {
    int64_t now_ns = account_now(engine), placed_ns;
    int64_t placed = has_placed(entry, &placed_ns) ? time_of(engine, placed_ns) : 0;
    int64_t least_ns = clock_later(placed, run->stop_ns);
    run->exact = start_ns && start_ns != run->start_ns; // else suspended meanwhile, and the status has the first start
    run->start_ns = start_ns;
    run->anchor_ns = run->exact ? clock_earlier(clock_later(time_of(engine, start_ns), least_ns), now_ns) : now_ns;
    run->from_ns = counted_from(engine, entry, run);
    run->stop_ns = 0;
    run->state = RUN_RUNS;
}

// The object with the newest facts: the mirror, else the workload with the status that was copied.
static const struct json *source_of(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    const struct json *object = mirror ? doc_tree(&engine->store, &mirror->doc) : NULL;
    return object ? object : doc_tree(&engine->store, &entry->workload->doc);
}

// The workload's status has the start of the first attempt.
static int64_t start_of(struct engine *engine, struct entry *entry, struct mirror *mirror,
                        const struct account_run *run) {
    const struct json *object = source_of(engine, entry, mirror);
    int64_t placed_ns;
    if (!mirror && run->attempt > 1)
        return run->until_ns;
    int64_t start_ns = start_by_status(object);
    bool seen = has_placed(entry, &placed_ns) || run->stop_ns;
    return start_ns || seen ? start_ns : created_ns(object);
}

static void set_account(struct engine *engine, struct entry *entry, struct account_run *run) {
    const char *name = facts_worker_name(engine, entry);
    if (!run->account)
        run->account = account_ref(engine, entry, name ? name : "");
}

static void start(struct engine *engine, struct entry *entry, struct mirror *mirror, struct account_run *run) {
    begin_part(engine, entry, run, start_of(engine, entry, mirror, run));
    run->by_workload = !mirror;
    set_account(engine, entry, run);
}

// The end by the object's clock; 0: unknown.
static int64_t end_by_workload(struct engine *engine, struct entry *entry) {
    wharf_phase phase = {.phase = WHARF_PENDING};
    const struct json *workload = doc_tree(&engine->store, &entry->workload->doc);
    AUTO_CALL call;
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    return workload && aside_phase(engine, &call, workload, &phase) && phase_is_final(phase.phase) ? phase.since_ns : 0;
}

// The length of the part is exact if one clock tells both ends.
static void finish(struct engine *engine, struct entry *entry, struct mirror *mirror, struct account_run *run) {
    int64_t now_ns = account_now(engine), end_ns = mirror ? mirror->ended_ns : end_by_workload(engine, entry);
    bool seen_whole = run->state == RUN_NOT && run->account && !mirror;
    if (run->state == RUN_NOT && !seen_whole)
        start(engine, entry, mirror, run);
    if (seen_whole)
        run->stop_ns = run->anchor_ns;
    else if (end_ns && run->exact)
        run->stop_ns = run->anchor_ns + clock_later(end_ns - run->start_ns, 0);
    else
        run->stop_ns = end_ns ? clock_earlier(clock_later(time_of(engine, end_ns), run->anchor_ns), now_ns) : now_ns;
    run->state = RUN_OVER;
}

// The run ------------------------------------------------------------------------------------------------------

// The state by the mirror; without one, by the workload.
static enum run_state state_of(const struct entry *entry, const struct mirror *mirror, const struct account_run *run) {
    const struct workload *w = entry->workload;
    int64_t placed_ns;
    bool runs = run && run->state == RUN_RUNS;
    if (mirror && mirror->facts.finished)
        return RUN_OVER;
    if (mirror && mirror->facts.unread)
        return runs ? RUN_RUNS : RUN_NOT;
    if (mirror)
        return mirror->has_run && mirror->phase == WHARF_ACTIVE ? RUN_RUNS : RUN_NOT;
    if (w->facts.finished)
        return RUN_OVER;
    if (w->facts.gone_attempt == w->facts.attempt)
        return RUN_NOT;
    return runs || (w->phase == WHARF_ACTIVE && !has_placed(entry, &placed_ns)) ? RUN_RUNS : RUN_NOT;
}

// Nothing is left of an earlier attempt but the annotation.
static void begin_attempt(struct engine *engine, struct entry *entry, struct account_run *run) {
    add_run(engine, run, -1);
    settle(engine, run);
    drop_former(engine, run);
    account_unref(engine, TAKE(run->account));
    *run = (struct account_run){
        .usage = run->usage, .generation = run->generation, .attempt = entry->workload->facts.attempt};
    if (run->attempt > 1)
        read_annotation(engine, entry, run);
    add_run(engine, run, 1);
}

static void read_usage(struct engine *engine, struct entry *entry, struct account_run *run) {
    bool changed = !run->usage || run->generation != entry->workload->generation;
    if (!run->account && run->n_former == 0)
        return;
    if (!changed && (!run->usage->open || run->state != RUN_RUNS))
        return;
    struct usage *usage = usage_of(engine, entry);
    run->generation = usage ? entry->workload->generation : run->generation;
    if (!usage || usage == run->usage) {
        usage_unref(engine->accounts, usage);
        return;
    }
    add_run(engine, run, -1);
    if (run->usage) // else nothing was counted without it
        settle(engine, run);
    usage_unref(engine->accounts, run->usage);
    run->usage = usage;
    add_run(engine, run, 1);
}

// The mirror of the first attempt went before this process saw it: the status was of the mirror.
static bool has_run_unseen(const struct entry *entry, const struct mirror *mirror, const struct account_run *run) {
    const struct workload *w = entry->workload;
    int64_t placed_ns;
    return !mirror && !run->account && run->attempt == 1 && w->phase == WHARF_ACTIVE && !has_placed(entry, &placed_ns);
}

// A mirror was found that has the attempt. Made after the start, it is not the one that the status was of: that one
// went while no host ran, and ended at the latest now.
static void found_mirror(const struct engine *engine, const struct mirror *mirror, struct account_run *run) {
    run->by_workload = false;
    if (run->attempt == 1 && run->exact && mirror->created_ns > run->start_ns) {
        end_part(run, account_now(engine));
        return;
    }
    run->before_ns = run->start_ns = run->stop_ns = 0;
    run->state = RUN_NOT;
}

static void change_state(struct engine *engine, struct entry *entry, struct mirror *mirror, struct account_run *run,
                         enum run_state state) {
    bool found = run->by_workload && mirror, unseen = state == RUN_NOT && has_run_unseen(entry, mirror, run);
    int64_t from_ns = found ? run->from_ns : 0;
    if (run->state == state && !found && !unseen)
        return;
    add_run(engine, run, -1);
    if (found)
        found_mirror(engine, mirror, run);
    if (unseen || (state == RUN_RUNS && run->state == RUN_NOT))
        start(engine, entry, mirror, run);
    if (state == RUN_OVER)
        finish(engine, entry, mirror, run);
    else if (state == RUN_NOT && run->state != RUN_NOT)
        end_part(run, run->state == RUN_OVER ? run->stop_ns : account_now(engine));
    run->from_ns = clock_later(run->from_ns, from_ns);
    run->stop_ns = state == RUN_RUNS ? 0 : run->stop_ns;
    run->state = (uint8_t)state;
    add_run(engine, run, 1);
}

static void follow(struct engine *engine, struct entry *entry) {
    struct workload *w = entry->workload;
    struct account_run *run = w->accounts;
    if (w->facts.attempt == 0)
        return;
    struct mirror *mirror = facts_placed_mirror(entry);
    enum run_state state = state_of(entry, mirror, run);
    if (!run && state == RUN_NOT && w->facts.attempt == 1 && (mirror || w->phase != WHARF_ACTIVE))
        return;
    if (!run && !(run = w->accounts = calloc(1, sizeof *run)))
        return;
    if (run->attempt != w->facts.attempt)
        begin_attempt(engine, entry, run);
    change_state(engine, entry, mirror, run, state_of(entry, mirror, run));
    read_usage(engine, entry, run);
}

static void after(struct engine *engine, struct entry *entry, const struct action *action) {
    (void)action;
    follow(engine, entry);
}

// The workload is gone, or another host has it: the counters keep what was counted.
static void forget(struct engine *engine, struct entry *entry) {
    struct account_run *run = run_of(entry);
    if (!run)
        return;
    add_run(engine, run, -1);
    settle(engine, run);
    drop_former(engine, run);
    account_unref(engine, run->account);
    usage_unref(engine->accounts, run->usage);
    free(run);
    entry->workload->accounts = NULL;
}

// The annotation for the next attempt --------------------------------------------------------------------------

static int64_t present_ns(const struct engine *engine, const struct account_run *run) {
    struct share share = used_of(run);
    return share.over_ns + (share.since_ns ? clock_later(account_now(engine) - share.since_ns, 0) : 0);
}

static void put_seconds(struct writer *out, const char *cluster, int64_t used_ns) {
    if (used_ns >= CLOCK_SECOND)
        writer_int(out, cluster, used_ns / CLOCK_SECOND);
}

static void put_used(const struct engine *engine, const struct account_run *run, struct writer *out) {
    const struct account *present = run ? run->account : NULL;
    int64_t rest_ns = present ? present_ns(engine, run) : 0;
    for (size_t i = 0; run && i < run->n_former; i++) {
        const struct former_use *former = &run->former[i];
        put_seconds(out, former->account->cluster, former->used_ns + (former->account == present ? rest_ns : 0));
        rest_ns = former->account == present ? 0 : rest_ns;
    }
    if (present)
        put_seconds(out, present->cluster, rest_ns);
}

void accounts_put_mark(struct engine *engine, struct entry *entry, uint32_t attempt, struct buffer *marks) {
    if (attempt < 2 || attempt == entry->workload->facts.attempt || entry->workload->facts.attempt == 0)
        return;
    follow(engine, entry);
    AUTO_BUFFER(text, ANNOTATION_MAX);
    struct writer out = {.out = &text};
    writer_object(&out, NULL);
    writer_object(&out, "seconds");
    put_used(engine, run_of(entry), &out);
    writer_end(&out, '}');
    writer_string(&out, "uid", entry->workload->uid);
    writer_time(&out, "until", engine->now.wall_ns);
    writer_end(&out, '}');
    out = (struct writer){.out = marks, .comma = true};
    writer_string(&out, MARK_USED, text.data);
    marks->failed |= text.failed;
}

// The part -----------------------------------------------------------------------------------------------------

// The host took shards over, or lost some: the other host counts from now on.
static void tick(struct engine *engine) {
    struct accounts *accounts = engine->accounts;
    uint64_t held = shard_mask(engine), lost = accounts->held & ~held, taken = held & ~accounts->held;
    for (size_t i = 0; taken && i < SHARDS_MAX; i++)
        if (taken >> i & 1)
            accounts->held_since[i] = account_now(engine);
    accounts->held = held;
    struct store_cursor at = {0};
    for (struct entry *entry; lost && (entry = store_next(&engine->store, &at));)
        if (lost >> shard_of(engine, entry) & 1)
            forget(engine, entry);
}

static struct error *begin(struct engine *engine, const struct engine_options *options) {
    (void)options;
    engine->accounts = accounts_new(engine->now, engine->seed);
    return engine->accounts ? NULL : error_no_memory();
}

static void end(struct engine *engine) {
    accounts_free(engine->accounts);
    account_sums_unref(engine->stats.accounts);
}

static void count(struct engine *engine) {
    if (!engine->accounts->changed)
        return;
    struct account_sums *sums = account_sums_new(engine->accounts);
    if (!sums)
        return; // the next time
    account_sums_unref(engine->stats.accounts);
    engine->stats.accounts = sums;
    engine->accounts->changed = false;
}

const struct part part_accounts = {.name = "accounts",
                                   .begin = begin,
                                   .end = end,
                                   .tick = tick,
                                   .after = after,
                                   .workload_ends = forget,
                                   .count = count};
