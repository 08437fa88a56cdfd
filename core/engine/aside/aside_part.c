// SPDX-License-Identifier: Apache-2.0
// Rule 12. Workloads whose calls have no result.
#include "core/engine/aside/aside_adapter.h"

#include "core/base/memory.h"
#include "core/engine/observe/observe.h"
#include "core/engine/report/report.h"
#include "core/engine/shard/shard.h"

#define RETRY_FIRST_NS (5 * CLOCK_MINUTE)
#define RETRY_MAX_NS (60 * CLOCK_MINUTE)
#define FREE_FAILURES 2 // of new versions, before the throttle

// Made on demand. NULL: no workload, or out of memory.
static struct aside *aside_of(struct entry *entry) {
    struct workload *w = entry->workload;
    if (!w->facts.exists || w->aside || !(w->aside = calloc(1, sizeof *w->aside)))
        return w->aside;
    w->aside->entry = entry;
    return w->aside;
}

static void set(struct engine *engine, const struct entry *entry, bool on) {
    struct aside *a = entry->workload->aside;
    if (a->set != on)
        engine->stats.kinds[entry->kind].aside += on ? 1 : UINT64_MAX;
    a->set = on;
}

// The objects of a call -----------------------------------------------------------------------------------------------

// 0: no object.
static uint64_t version_of(const struct json *object) {
    return object ? text_hash(text_hash(TEXT_HASH, object_uid(object)), object_version(object)) : 0;
}

static uint64_t workload_version(struct engine *engine, struct entry *entry) {
    return version_of(doc_tree(&engine->store, &entry->workload->doc));
}

static bool has_mirror(struct engine *engine, const struct entry *entry, uint64_t version) {
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        if (version_of(doc_tree(&engine->store, &m->doc)) == version)
            return true;
    return false;
}

// The objects are the ones of the broken call. The final state of a mirror that is gone does not change.
static bool are_same(struct engine *engine, struct entry *entry, const struct aside *a) {
    return (a->workload == 0 || a->workload == workload_version(engine, entry)) &&
           (a->mirror == 0 || entry->workload->facts.has_final_status || has_mirror(engine, entry, a->mirror));
}

// No call before this time.
static int64_t retry_at_ns(struct engine *engine, struct entry *entry, const struct aside *a) {
    return a->retry_ns && are_same(engine, entry, a) ? clock_later(a->broken.at_ns, a->retry_ns) : a->broken.at_ns;
}

static bool is_set_aside(struct engine *engine, struct entry *entry, const struct aside *a) {
    return a->failures > 0 && engine->now.mono_ns < retry_at_ns(engine, entry, a);
}

// Failures ------------------------------------------------------------------------------------------------------------

static void tell(struct engine *engine, struct entry *entry) {
    struct aside *a = entry->workload->aside;
    if (!a->set || a->told || !a->text || !shard_is_held(engine, entry))
        return;
    a->told = true;
    report_event(engine, entry, true, "AdapterFailed", "Wait",
                 "%s. Workload and mirror stay as they are; the host calls the adapter for them again when either "
                 "changes, annotation " MARK_RETRY " is written, or some time has passed",
                 a->text);
}

// Takes the text.
static void set_aside(struct engine *engine, struct entry *entry, uint64_t workload, uint64_t mirror, char *text) {
    struct aside *a = entry->workload->aside;
    bool same = a->failures > 0 && a->workload == workload && a->mirror == mirror;
    a->told &= same;
    a->failures = same ? a->failures + 1 : 1;
    a->workload = workload;
    a->mirror = mirror;
    free(a->text);
    a->text = text;
    set(engine, entry, true);
    tell(engine, entry);
}

// A call broke: the engine tries these objects again after a growing time.
static void broke(struct engine *engine, struct entry *entry, const struct adapter_call *call, char *text) {
    struct aside *a = entry->workload->aside;
    bool of_workload = call->workload && strcmp(object_uid(call->workload), entry->workload->uid) == 0;
    set_aside(engine, entry, of_workload ? version_of(call->workload) : 0,
              version_of(of_workload ? call->mirror : call->workload), text);
    a->broken.at_ns = throttle_next(&a->broken, engine->now.mono_ns, FREE_FAILURES);
    a->retry_ns = engine->now.mono_ns + backoff_ns(engine, a->failures, RETRY_FIRST_NS, RETRY_MAX_NS);
}

static void note_failure(struct engine *engine, struct entry *entry, struct aside_adapter *adapter,
                         const struct adapter_call *call) {
    static const enum adapter_failure failures[] = {
        [CALL_BROKEN] = ADAPTER_CRASHED, [CALL_LIMIT] = ADAPTER_LIMIT, [CALL_INVALID] = ADAPTER_ANSWER};
    bool known = aside_of(entry);
    AUTO_TEXT text = text_format("adapter %s failed in function %s: %s", aside_adapter_name(adapter),
                                 adapter_function_name(call->function), call->trouble_text);
    engine->stats.kinds[entry->kind].adapter_errors++;
    engine->stats.kinds[entry->kind].failures[failures[call->trouble]]++;
    report_log(engine, LOG_WARN, ENGINE_MANAGEMENT, entry->kind, "%s: %s", entry->key, text ? text : "");
    if (known)
        broke(engine, entry, call, TAKE(text));
    aside_adapter_failed(engine, adapter, known ? text_hash(TEXT_HASH, entry->workload->uid) : 0, call->trouble_text);
}

// Waits ---------------------------------------------------------------------------------------------------------------

// Without memory the next try is in a second. An entry without a workload waits for one.
static void begin_wait(struct engine *engine, struct entry *entry, bool next) {
    struct aside *a = aside_of(entry);
    struct aside_adapter *adapter = aside_adapter_of(engine, engine->kinds[entry->kind], true);
    if (!entry->workload->facts.exists)
        return;
    if (!a || !adapter) {
        queue_retry_soon(engine, &entry->workload->facts.not_before_ns);
        queue_wake(engine, entry, entry->workload->facts.not_before_ns);
        return;
    }
    a->waits = true;
    if (is_set_aside(engine, entry, a))
        queue_wake(engine, entry, retry_at_ns(engine, entry, a));
    else
        aside_adapter_add(adapter, a, next);
}

static void troubled(struct adapter_call *call, void *ctx) {
    struct engine *engine = ctx;
    struct entry *entry = entry_of_key(call->object);
    struct aside_adapter *adapter = aside_adapter_of(engine, engine->kinds[entry->kind], true);
    if (adapter && call->trouble == CALL_WAITS)
        aside_adapter_busy(engine, adapter, call->answer.retry_after_ms * CLOCK_MS);
    if (adapter && call->trouble >= CALL_BROKEN)
        note_failure(engine, entry, adapter, call);
    begin_wait(engine, entry, call->trouble == CALL_WAITS);
}

bool aside_phase(struct engine *engine, struct adapter_call *call, const struct json *object, wharf_phase *phase) {
    if (adapter_phase(call, object, phase) == WHARF_OK)
        return true;
    if (call->trouble == CALL_FINE) {
        call_set_trouble(&call->call, CALL_INVALID, "the result is not WHARF_OK");
        troubled(call, engine);
    }
    return false;
}

bool aside_waits(const struct entry *entry) {
    return entry->workload->aside && entry->workload->aside->waits;
}

void aside_retried(struct entry *entry) {
    struct aside *a = entry->workload->aside;
    if (!a)
        return;
    a->retry_ns = 0;
    a->broken = (struct throttle){0};
}

// Marks ---------------------------------------------------------------------------------------------------------------

bool aside_mark(struct engine *engine, const char *kind, const char *object, const char *uid, const char *text) {
    struct aside_marks *marks = &engine->aside.marks;
    struct aside_mark mark = {kind, object, uid, text};
    if (marks->count == ASIDE_MARKS)
        return false;
    marks->list[marks->count] = struct_copy_with_texts(&mark, sizeof mark, ASIDE_MARK_TEXTS);
    return marks->list[marks->count] && ++marks->count;
}

static bool is_marked(const struct entry *entry) {
    return entry && entry->workload->aside && entry->workload->aside->retry_ns == CLOCK_NEVER;
}

bool aside_has_mark(const struct engine *engine, const char *kind, const char *object) {
    const char *slash = strchr(object, '/');
    AUTO_TEXT namespace_ = slash ? strndup(object, (size_t)(slash - object)) : NULL;
    if (!namespace_)
        return slash; // out of memory: not known
    for (size_t i = 0; i < engine->aside.marks.count; i++)
        if (strcmp(engine->aside.marks.list[i]->object, object) == 0 &&
            strcmp(engine->aside.marks.list[i]->kind, kind) == 0)
            return true;
    for (size_t k = 0; k < engine->n_kinds; k++)
        if (strcmp(engine->kinds[k]->plural_group, kind) == 0)
            return is_marked(store_get(&engine->store, k, namespace_, slash + 1));
    return false;
}

static bool has_uid(const struct entry *entry, const char *uid) {
    for (const struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        if (strcmp(m->uid, uid) == 0)
            return true;
    return strcmp(entry->workload->uid, uid) == 0;
}

static struct aside_mark **mark_of(struct engine *engine, const struct entry *entry) {
    struct aside_marks *marks = &engine->aside.marks;
    for (size_t i = 0; i < marks->count; i++)
        if (strcmp(marks->list[i]->object, entry->key) == 0 && has_uid(entry, marks->list[i]->uid) &&
            strcmp(marks->list[i]->kind, engine->kinds[entry->kind]->plural_group) == 0)
            return &marks->list[i];
    return NULL;
}

// The call for the object would end this process: no try before a change.
static bool take_mark(struct engine *engine, struct entry *entry) {
    struct aside_mark **mark = mark_of(engine, entry);
    struct aside *a = mark ? aside_of(entry) : NULL;
    if (!a)
        return mark;
    uint64_t mirror = 0;
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        if (strcmp(m->uid, (*mark)->uid) == 0)
            mirror = version_of(doc_tree(&engine->store, &m->doc));
    set_aside(engine, entry, mirror ? 0 : workload_version(engine, entry), mirror,
              text_format("a former process of this host ended in a call: %s", (*mark)->text));
    a->retry_ns = CLOCK_NEVER;
    free(*mark);
    *mark = engine->aside.marks.list[--engine->aside.marks.count];
    return true;
}

// -----------------------------------------------------------------------------------------------------------------------

bool aside_is_closed(struct engine *engine, struct entry *entry) {
    if (engine->aside.marks.count > 0 && take_mark(engine, entry))
        return true;
    const struct aside *a = entry->workload->aside;
    return (a && is_set_aside(engine, entry, a)) ||
           aside_adapter_is_closed(engine, aside_adapter_of(engine, engine->kinds[entry->kind], false), entry);
}

void aside_begin(struct engine *engine, struct entry *entry, struct call_context *context) {
    context->aside = (engine->aside.adapters || engine->aside.marks.count > 0) && aside_is_closed(engine, entry);
    context->troubled = troubled;
    context->troubled_ctx = engine;
}

static void before(struct engine *engine, struct entry *entry) {
    struct aside *a = entry->workload->aside;
    bool unread = observe_is_unread(entry);
    if (!a && !unread)
        return;
    aside_adapter_began(engine, entry);
    if (aside_is_closed(engine, entry)) {
        begin_wait(engine, entry, false);
        if (a)
            tell(engine, entry);
        return;
    }
    if (a) {
        a->waits = false;
        aside_adapter_remove(a);
    }
    if (unread)
        observe_again(engine, entry);
}

static void drop(struct engine *engine, struct entry *entry) {
    struct aside *a = entry->workload->aside;
    set(engine, entry, false);
    aside_adapter_remove(a);
    free(a->text);
    free(a);
    entry->workload->aside = NULL;
}

// Another host decides: the workload is not tried.
static void stand_by(struct engine *engine, struct entry *entry) {
    if (!entry->workload->aside)
        return;
    aside_adapter_remove(entry->workload->aside);
    aside_adapters_forget(engine, entry);
}

static void forget(struct engine *engine, struct entry *entry) {
    stand_by(engine, entry);
    if (entry->workload->aside)
        drop(engine, entry);
}

// The last calls had results: the memory of earlier failures bounds the next ones for a while.
static void after(struct engine *engine, struct entry *entry, const struct action *action) {
    (void)action;
    struct aside *a = entry->workload->aside;
    if (!a || a->waits)
        return;
    set(engine, entry, false);
    a->retry_ns = 0;
    if (!throttle_is_hot(&a->broken, engine->now.mono_ns, 0))
        drop(engine, entry);
}

static void facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts) {
    (void)engine;
    facts->adapter_waits = aside_waits(entry);
}

// A reload: the operator may have changed something.
static void configure(struct engine *engine, const struct engine_settings *former) {
    if (former == &engine->settings)
        return;
    aside_adapters_retry(engine);
    struct store_cursor at = {0};
    for (struct entry *e; (e = store_next(&engine->store, &at));)
        if (e->workload->aside && e->workload->aside->retry_ns != CLOCK_NEVER)
            aside_retried(e);
}

static void end(struct engine *engine) {
    for (struct aside_adapter *adapter; (adapter = engine->aside.adapters);) {
        engine->aside.adapters = adapter->next;
        free(adapter);
    }
    while (engine->aside.marks.count > 0)
        free(engine->aside.marks.list[--engine->aside.marks.count]);
}

void aside_put(struct engine *engine, const struct entry *entry, struct buffer *out) {
    const struct aside *a = entry->workload->aside;
    const struct aside_adapter *adapter = aside_adapter_of(engine, engine->kinds[entry->kind], false);
    char at[CLOCK_RFC3339_MAX];
    int64_t at_ns = a && a->set ? a->retry_ns : adapter ? adapter->until_ns : 0;
    clock_rfc3339(clock_after(engine->now.wall_ns, clock_later(at_ns - engine->now.mono_ns, 0)), at);
    if (a && a->set && a->text)
        buffer_printf(out,
                      "%s; the next try is when the workload or the mirror changes, or annotation " MARK_RETRY
                      " is written%s%s",
                      a->text, at_ns == CLOCK_NEVER ? "" : ", or at ", at_ns == CLOCK_NEVER ? "" : at);
    else if (adapter && adapter->state >= ASIDE_PAUSED)
        buffer_printf(out, "the kinds of adapter %s are paused after failures (%s); the next try is at %s",
                      aside_adapter_name(adapter), adapter->text, at);
    else if (adapter)
        buffer_printf(out, "the process of adapter %s starts, or is busy", aside_adapter_name(adapter));
}

const struct part part_aside = {.name = "adapters without a result",
                                .end = end,
                                .configure = configure,
                                .tick = aside_adapters_tick,
                                .step_ends = aside_adapters_step_ends,
                                .due_ns = aside_adapters_due_ns,
                                .before = before,
                                .stand_by = stand_by,
                                .facts = facts,
                                .after = after,
                                .workload_ends = forget,
                                .count = aside_adapters_count};
