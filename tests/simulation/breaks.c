// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/breaks.h"

#include "core/adapter/services/services_memory.h"
#include "core/engine/aside/aside.h"
#include "tests/simulation/cuts.h"
#include "tests/support/kind_gate.h"

#include <stdlib.h>
#include <string.h>

#define EPISODES 5
#define POISONED 4 // one of so many objects breaks calls
#define STARTS_NS CLOCK_SECOND
#define STARTS_MAX_NS (20 * CLOCK_SECOND)
#define LATE_MAX_NS (300 * CLOCK_MS)
#define WAITS_A_SECOND 60 // calls that find the process busy with the same
#define BREAKS_A_MINUTE 12
#define BROKEN 512

enum trouble { ADAPTER_ENDS, ADAPTER_HANGS, ADAPTER_IS_LATE, ADAPTER_IS_POISONED, ADAPTER_TROUBLES };
static const char *const names[] = {"ends in each call", "hangs", "is late", "ends in calls for some objects"};

struct process { // of a kind's adapter, in one process of the host
    int64_t up_ns, busy_ns;
    uint64_t call;   // that it is busy with, or has the answer of; 0: none
    int64_t tell_ns; // when the host is told that it answers; CLOCK_NEVER: not
    unsigned ends;
    bool failed; // some call
    int64_t second_ns, minute_ns;
    unsigned waits, breaks;
};

struct breaks {
    struct process processes[TRIAL_HOSTS][TRIAL_KINDS];
    struct {
        enum trouble trouble;
        size_t kind;
        int64_t begin_ns, end_ns;
    } episodes[EPISODES];
    size_t n;
    struct random random;
    bool over, tells;
    struct broken { // objects for which a call broke, by content
        unsigned process;
        uint64_t object, content;
    } broken[BROKEN];
    size_t n_broken;
    struct {
        unsigned process;
        uint64_t object;
        unsigned events;
    } told[BROKEN];
    size_t n_told;
};

static struct trial *present; // whose engines call

static int64_t between(struct random *random, int64_t low_ns, int64_t high_ns) {
    return high_ns > low_ns ? low_ns + (int64_t)random_below(random, (uint64_t)(high_ns - low_ns)) : low_ns;
}

struct breaks *breaks_new(struct trial *trial) {
    struct breaks *breaks = calloc(1, sizeof *breaks);
    present = trial;
    if (!breaks || !trial->plan.breaks)
        return breaks;
    struct random *random = &breaks->random;
    random->state = trial->seed * 71 + 13;
    breaks->tells = random_below(random, 2) == 0;
    breaks->n = 1 + random_below(random, EPISODES);
    for (size_t i = 0; i < breaks->n; i++) {
        breaks->episodes[i].trouble = (enum trouble)random_below(random, ADAPTER_TROUBLES);
        breaks->episodes[i].kind = random_below(random, trial->n_kinds);
        int64_t begin_ns = between(random, trial->now_ns, trial->plan.trouble_end_ns);
        int64_t end_ns = between(random, begin_ns, trial->plan.trouble_end_ns);
        breaks->episodes[i].begin_ns = begin_ns;
        breaks->episodes[i].end_ns = end_ns;
        if (!cuts_has(trial, "%.3f the adapter of %s %s, for %.3f s", (double)(begin_ns - TRIAL_START_NS) / 1e9,
                      trial->kinds[breaks->episodes[i].kind]->kind->abi.plural, names[breaks->episodes[i].trouble],
                      (double)(end_ns - begin_ns) / 1e9))
            breaks->episodes[i].end_ns = begin_ns;
    }
    return breaks;
}

void breaks_free(struct breaks *breaks) {
    present = NULL;
    free(breaks);
}

static bool has(const struct trial *trial, size_t kind, enum trouble trouble) {
    const struct breaks *breaks = trial->breaks;
    for (size_t i = 0; i < breaks->n; i++)
        if (breaks->episodes[i].kind == kind && breaks->episodes[i].trouble == trouble &&
            breaks->episodes[i].begin_ns <= trial->now_ns && breaks->episodes[i].end_ns > trial->now_ns)
            return true;
    return false;
}

static const struct adapter *adapter_of(const struct trial *trial, size_t kind) {
    return trial->engine_kinds[kind]->adapter;
}

static void tell(struct trial *trial, size_t kind) {
    aside_adapter_ready(trial->host->turn.engine, adapter_of(trial, kind));
    trial->host->wake_ns = trial->now_ns;
}

void breaks_started(struct trial *trial) {
    struct breaks *breaks = trial->breaks;
    if (!breaks || !trial->plan.breaks)
        return;
    for (size_t k = 0; k < trial->n_kinds; k++) {
        struct process *process = &breaks->processes[trial->host->index][k];
        *process = (struct process){.up_ns = trial->now_ns, .tell_ns = CLOCK_NEVER};
        if (breaks->over || random_below(&breaks->random, 2) == 0)
            continue;
        process->up_ns += between(&breaks->random, 0, 3 * CLOCK_SECOND);
        process->failed = true;
        if (random_below(&breaks->random, 4) == 0)
            aside_adapter_failed_to_load(trial->host->turn.engine, adapter_of(trial, k), "signal 6 (Aborted)");
    }
}

int64_t breaks_due(const struct trial *trial) {
    int64_t due_ns = CLOCK_NEVER;
    for (size_t i = 0; i < trial->plan.hosts && trial->plan.breaks; i++)
        for (size_t k = 0; k < trial->n_kinds && trial->hosts[i].alive; k++)
            due_ns = clock_earlier(due_ns, trial->breaks->processes[i][k].tell_ns);
    return due_ns;
}

void breaks_act(struct trial *trial) {
    for (size_t i = 0; i < trial->plan.hosts && trial->plan.breaks; i++)
        for (size_t k = 0; k < trial->n_kinds && trial->hosts[i].alive; k++) {
            struct process *process = &trial->breaks->processes[i][k];
            if (process->tell_ns > trial->now_ns)
                continue;
            process->tell_ns = CLOCK_NEVER;
            instance_enter(&trial->hosts[i]);
            tell(trial, k);
        }
}

void breaks_end(struct trial *trial) {
    trial->breaks->over = true;
    trial->breaks->n = 0;
}

// Calls ---------------------------------------------------------------------------------------------------------------

static uint64_t object_of(const char *plural, const char *namespace_, const char *name) {
    return text_hash(text_hash(text_hash(TEXT_HASH, plural), namespace_), name);
}

static bool is_poisoned(const struct trial *trial, uint64_t object, uint64_t content, enum adapter_function function) {
    struct random random = {.state = object ^ trial->seed};
    (void)random_next(&random);
    bool all = random_below(&random, 2) == 0; // contents
    uint64_t functions = random_next(&random);
    return random_below(&random, POISONED) == 0 && (functions >> function & 1) != 0 && (all || content % 2);
}

// False: this process did so for the same content before.
static bool note_broken(struct trial *trial, uint64_t object, uint64_t content) {
    struct breaks *breaks = trial->breaks;
    for (size_t i = 0; i < breaks->n_broken; i++)
        if (breaks->broken[i].process == trial->host->number && breaks->broken[i].object == object &&
            breaks->broken[i].content == content)
            return false;
    if (breaks->n_broken == BROKEN)
        abort();
    breaks->broken[breaks->n_broken++] = (struct broken){trial->host->number, object, content};
    return true;
}

static bool waits(struct trial *trial, struct process *process, const wharf_call *call, int64_t until_ns, bool known) {
    if (trial->now_ns - process->second_ns >= CLOCK_SECOND) {
        process->second_ns = trial->now_ns;
        process->waits = 0;
    }
    process->waits += known;
    process->failed = true;
    if (process->waits > WAITS_A_SECOND)
        trial_fail(trial, "rule 12: an adapter that is busy is called without a pause");
    if (trial->breaks->tells)
        process->tell_ns = until_ns;
    call_set_trouble(call, CALL_WAITS, "busy");
    return false;
}

// `counts`: not only because the object has changed.
static bool ends(struct trial *trial, struct process *process, const wharf_call *call, bool counts) {
    int64_t wait_ns = STARTS_NS / 10;
    if (trial->now_ns - process->minute_ns >= CLOCK_MINUTE) {
        process->minute_ns = trial->now_ns;
        process->breaks = 0;
    }
    process->breaks += counts;
    if (process->breaks > BREAKS_A_MINUTE)
        trial_fail(trial, "rule 12: an adapter that ends is called again and again");
    for (unsigned i = 0; i < process->ends && wait_ns < STARTS_MAX_NS; i++)
        wait_ns *= 2;
    process->ends++;
    process->call = 0;
    process->up_ns = trial->now_ns + wait_ns;
    process->failed = true;
    call_set_trouble(call, CALL_BROKEN,
                     process->ends % 2 ? "signal 11 (Segmentation fault)" : "more than 100 ms of processor time");
    return false;
}

static uint64_t content_of(const struct adapter_invocation *asked) {
    uint64_t hash = TEXT_HASH;
    const wharf_value *const both[] = {asked->workload, asked->mirror};
    for (size_t i = 0; i < 2; i++) {
        const struct json *value = (const struct json *)both[i];
        hash = text_hash(hash, json_string_or(json_path(value, "metadata", "uid", NULL), ""));
        hash = text_hash(hash, json_string_or(json_path(value, "metadata", "resourceVersion", NULL), ""));
    }
    return hash;
}

// Whether the process answers the call.
static bool answers(const struct adapter_invocation *asked) {
    const wharf_call *call = asked->call;
    const struct adapter_call *owner = services_call(call);
    struct trial *trial = present;
    if (!trial || !trial->plan.breaks || trial->breaks->over || !owner->troubled)
        return true;
    struct breaks *breaks = trial->breaks;
    size_t k = trial_kind(trial, owner->kind->group, owner->kind->plural);
    struct process *process = &breaks->processes[trial->host->index][k];
    uint64_t content = content_of(asked), id = content * 8 + asked->function + 1;
    const char *slash = strchr(owner->object, '/');
    AUTO_TEXT space = slash ? strndup(owner->object, (size_t)(slash - owner->object)) : NULL;
    uint64_t key = object_of(owner->kind->plural, space ? space : "", slash ? slash + 1 : owner->object);
    int64_t free_ns = clock_later(process->up_ns, process->busy_ns);
    if (has(trial, k, ADAPTER_HANGS))
        return waits(trial, process, call, CLOCK_NEVER, true);
    if (free_ns > trial->now_ns)
        return waits(trial, process, call, free_ns, true);
    bool late = process->call != id && has(trial, k, ADAPTER_IS_LATE) && random_below(&breaks->random, 4) == 0;
    if (late) {
        process->call = id;
        process->busy_ns = trial->now_ns + between(&breaks->random, 5 * CLOCK_MS, LATE_MAX_NS);
        return waits(trial, process, call, process->busy_ns, false);
    }
    bool all = has(trial, k, ADAPTER_ENDS);
    if (all || (has(trial, k, ADAPTER_IS_POISONED) && is_poisoned(trial, key, content, asked->function))) {
        bool changed = note_broken(trial, key, content);
        return ends(trial, process, call, all || !changed);
    }
    process->ends = 0;
    return true;
}

void breaks_event(struct trial *trial, const struct workload_event *event) {
    struct breaks *breaks = trial->breaks;
    if (strcmp(event->reason, "AdapterFailed") != 0)
        return;
    uint64_t key = object_of(trial->engine_kinds[event->kind]->abi.plural, event->namespace_, event->name);
    size_t i = 0;
    unsigned contents = 0, process = trial->host->number;
    while (i < breaks->n_told && (breaks->told[i].object != key || breaks->told[i].process != process))
        i++;
    if (i == BROKEN)
        abort();
    breaks->n_told += i == breaks->n_told;
    breaks->told[i].object = key;
    breaks->told[i].process = process;
    for (size_t b = 0; b < breaks->n_broken; b++)
        contents += breaks->broken[b].process == process && breaks->broken[b].object == key;
    if (trial->plan.back != TRIAL_BACK_NONE) // a former content may come back, and is another one for the host
        contents *= 2;
    if (++breaks->told[i].events > contents)
        trial_fail(trial, "rule 12: %s has %u Events AdapterFailed for %u contents", event->name,
                   breaks->told[i].events, contents);
}

bool breaks_failed(const struct trial *trial, size_t kind) {
    return trial->plan.breaks && trial->breaks->processes[trial->host->index][kind].failed;
}

void breaks_wrap(struct kind *kind) {
    static struct adapter adapters[SIM_KINDS];
    static size_t count;
    if (count == SIM_KINDS)
        abort();
    adapters[count].name = kind->abi.plural;
    kind->adapter = &adapters[count++];
    kind_gate_add(kind, answers);
}
