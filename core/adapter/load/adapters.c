// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/adapters.h"

#include "core/adapter/load/adapter_load.h"
#include "core/base/memory.h"
#include "core/base/text.h"

// Names, of the Makefile; a tool that reads this file alone knows none.
#ifndef WHARF_ADAPTERS
#define WHARF_ADAPTERS "job"
#endif

bool adapter_is_bundled(const struct adapter_wanted *wanted) {
    static const char *const bundled[] = {WHARF_ADAPTERS};
    const char *file = strrchr(wanted->file, '/');
    for (size_t i = 0; i < sizeof bundled / sizeof *bundled; i++) {
        size_t len = strlen(bundled[i]);
        if (!wanted->file_given && file && strncmp(file + 1, bundled[i], len) == 0 &&
            strcmp(file + 1 + len, ".so") == 0)
            return true;
    }
    return false;
}

// A table in the making.
struct building {
    struct adapters *table;
    const struct adapters *former; // in use, and the beginning of the table; NULL: none
    const struct adapters_options *options;
    struct problems *problems, *refused;
    struct buffer *later;
    bool *stays;  // of former's list: stays unchanged
    bool changed; // there is something new
};

static void cleanup_adapter(struct adapter **adapter) {
    adapter_free(*adapter);
}
#define AUTO_ADAPTER __attribute__((cleanup(cleanup_adapter))) struct adapter *

static void free_table(struct adapters *adapters) {
    const struct adapters *former = adapters->former;
    for (size_t i = 0; i < adapters->count; i++)
        if (!former || i >= former->count || former->list[i] != adapters->list[i])
            adapter_free(adapters->list[i]);
    for (size_t i = 0; i < adapters->n_refused; i++) {
        free(adapters->refused[i].name);
        free(adapters->refused[i].file);
        free(adapters->refused[i].problem);
    }
    free(adapters->refused);
    free(adapters->list);
    free(adapters->kinds);
    free(adapters->scorers);
    free(adapters);
}

void adapters_free_newer(struct adapters *adapters, const struct adapters *kept) {
    while (adapters && adapters != kept) {
        struct adapters *former = adapters->former;
        free_table(adapters);
        adapters = former;
    }
}

void adapters_free(struct adapters *adapters) {
    adapters_free_newer(adapters, NULL);
}

static bool has_kind(const struct adapter *adapter, const struct kind *kind) {
    for (size_t i = 0; i < adapter->n_kinds; i++)
        if (adapter_kind_is_same(adapter->kinds[i], kind))
            return true;
    return false;
}

// Two adapters for one kind would both handle the objects.
static struct error *check_distinct(const struct adapters *table, const struct kind *kind) {
    for (size_t j = 0; j < table->n_kinds; j++)
        if (adapter_kind_is_same(kind, table->kinds[j]))
            return error_new(ERROR_REFUSED,
                             "%s: kind %s: found a second adapter for it, expected one: adapter %s (%s) has it already",
                             kind->adapter->file, kind->plural_group, table->kinds[j]->adapter->name,
                             table->kinds[j]->adapter->file);
    return NULL;
}

// Appends the pointer at `item` to a list of pointers.
static struct error *append(void *list, size_t *count, const void *item) {
    void *place = array_next(list, *count, sizeof(void *));
    if (!place)
        return error_no_memory();
    memcpy(place, item, sizeof(void *));
    ++*count;
    return NULL;
}

// Drops a kind made of settings that another adapter has.
static void drop_kind(struct adapter *adapter, size_t index) {
    kind_free((struct kind *)adapter->kinds[index]);
    adapter->n_kinds--;
    memmove(adapter->kinds + index, adapter->kinds + index + 1, (adapter->n_kinds - index) * sizeof *adapter->kinds);
}

// Appends the adapter's own kinds.
static struct error *append_kinds(struct adapters *table, const struct loading *loading, struct adapter *adapter) {
    for (size_t i = adapter->n_inherited; i < adapter->n_kinds;) {
        struct error *error = check_distinct(table, adapter->kinds[i]);
        if (!error) {
            i++;
            continue;
        }
        if (!loading->of_settings)
            return error;
        adapter_report(loading, loading->refused, error);
        drop_kind(adapter, i);
    }
    for (size_t i = adapter->n_inherited; i < adapter->n_kinds; i++)
        TRY(append(&table->kinds, &table->n_kinds, &adapter->kinds[i]));
    return NULL;
}

static struct error *append_scorer(struct adapters *table, const struct adapter *adapter) {
    const struct scorer *scorer = &adapter->scorer;
    return scorer->score ? append(&table->scorers, &table->n_scorers, &scorer) : NULL;
}

// For those who ask a running host; out of memory, the log alone has it.
static void keep_refused(struct adapters *table, const struct adapter_wanted *wanted, const char *problem) {
    struct adapter_refused *refused = array_next(&table->refused, table->n_refused, sizeof *refused);
    if (refused) {
        *refused = (struct adapter_refused){strdup(wanted->name), strdup(wanted->file), strdup(problem)};
        table->n_refused++;
    }
}

static void report_adapter(const struct building *to, const struct loading *loading, struct error *error) {
    if (error)
        keep_refused(to->table, loading->wanted, error_text(error));
    adapter_report(loading, to->problems, error);
}

static void add_later(struct building *to, const char *name, const char *why) {
    buffer_printf(to->later, "%sadapter %s (%s)", to->later->len > 0 ? ", " : "", name, why);
}

static const struct adapter_wanted *find_wanted(const struct adapters_options *options, const char *name) {
    for (size_t i = 0; i < options->n_wanted; i++)
        if (strcmp(options->wanted[i].name, name) == 0)
            return &options->wanted[i];
    return NULL;
}

static bool has_items(const struct json *list, const struct json *items) {
    for (const struct json *at = json_first(items); at; at = json_next(at)) {
        const struct json *item = json_first(list);
        while (item && !json_equal(item, at))
            item = json_next(item);
        if (!item)
            return false;
    }
    return true;
}

static bool has_others(const struct json *a, const struct json *b) {
    for (const struct json *at = json_first(a); at; at = json_next(at)) {
        const struct json *other = json_get(b, json_key(at));
        if (strcmp(json_key(at), "kinds") != 0 && (!other || !json_equal(at, other)))
            return true;
    }
    return false;
}

// All that was set before is set, and kinds may have been added.
static bool only_adds_kinds(const struct json *former, const struct json *settings) {
    const struct json *old = json_get(former, "kinds"), *kinds = json_get(settings, "kinds");
    return json_is(old, JSON_ARRAY) && json_is(kinds, JSON_ARRAY) && has_items(kinds, old) &&
           !has_others(former, settings) && !has_others(settings, former);
}

// A difference that an adapter in use cannot take over; NULL: none.
static const char *find_difference(const struct adapter *adapter, const struct adapter_wanted *wanted,
                                   const char *sha256) {
    if (strcmp(adapter->sha256, sha256) != 0)
        return "another file";
    if (strcmp(adapter->managed_by, wanted->managed_by ? wanted->managed_by : "") != 0)
        return "another managedBy";
    if (adapter->hybrid != wanted->hybrid)
        return "another hybrid";
    if (adapter->starts_anew != wanted->starts_anew)
        return "another continue";
    if (strcmp(adapter->owned_objects, wanted->owned_objects ? wanted->owned_objects : "") != 0)
        return "other ownedObjects";
    bool same = json_equal(adapter->settings, wanted->settings) || only_adds_kinds(adapter->settings, wanted->settings);
    return same ? NULL : "other settings";
}

// Finds the adapters in use that stay unchanged.
static void compare(struct building *to) {
    for (size_t i = 0; i < to->former->count; i++) {
        const struct adapter *adapter = to->former->list[i];
        const struct adapter_wanted *wanted = find_wanted(to->options, adapter->named);
        char sha256[65];
        struct error *error = wanted ? adapter_file_check(wanted->file, wanted->sha256, sha256) : NULL;
        const char *differs = !wanted ? "removed" : error ? NULL : find_difference(adapter, wanted, sha256);
        if (wanted && !error && !differs && adapter_is_apart(to->options, wanted) != (bool)adapter->process)
            differs = "another isolation";
        if (differs)
            add_later(to, adapter->named, differs);
        to->stays[i] = !differs;
        if (error)
            report_adapter(to, &(struct loading){.options = to->options, .wanted = wanted, .line = wanted->line},
                           error);
    }
}

// True if a kind of an adapter that does not stay is in the way of this one.
static bool waits_for_leaver(const struct building *to, const struct adapter *adapter) {
    for (size_t i = 0; to->former && i < to->former->count; i++)
        for (size_t k = 0; !to->stays[i] && k < to->former->list[i]->n_kinds; k++)
            if (has_kind(adapter, to->former->list[i]->kinds[k]))
                return true;
    return false;
}

static struct error *add_new(struct building *to, struct loading *loading) {
    AUTO_ADAPTER adapter = NULL;
    TRY(adapter_load(loading, &adapter));
    if (waits_for_leaver(to, adapter)) {
        add_later(to, loading->wanted->name, "a kind of it is still that of a former adapter");
        return NULL;
    }
    TRY(append_kinds(to->table, loading, adapter));
    if (adapter->n_kinds == 0 && !adapter->scorer.score) // each was refused
        return NULL;
    TRY(append_scorer(to->table, adapter));
    TRY(append(&to->table->list, &to->table->count, &adapter));
    adapter = NULL;
    to->changed = true;
    return NULL;
}

// Puts the kinds of the former instance in the place of the same ones of the new one. False: out of memory.
static bool inherit(const struct adapter *former, struct adapter *adapter) {
    const struct kind **kinds = calloc(former->n_kinds + adapter->n_kinds + 1, sizeof(struct kind *));
    if (!kinds)
        return false;
    memcpy(kinds, former->kinds, former->n_kinds * sizeof *kinds);
    size_t count = former->n_kinds;
    for (size_t i = 0; i < adapter->n_kinds; i++)
        if (has_kind(former, adapter->kinds[i]))
            kind_free((struct kind *)adapter->kinds[i]);
        else
            kinds[count++] = adapter->kinds[i];
    free(adapter->kinds);
    adapter->kinds = kinds;
    adapter->n_kinds = count;
    adapter->n_inherited = former->n_kinds;
    return true;
}

static bool has_all(const struct adapter *adapter, const struct adapter *former) {
    for (size_t i = 0; i < former->n_kinds; i++)
        if (!has_kind(adapter, former->kinds[i]))
            return false;
    return true;
}

// Loads a second instance for the kinds that were added to the settings.
static struct error *add_kinds(struct building *to, size_t index, struct loading *loading) {
    const struct adapter *former = to->former->list[index];
    AUTO_ADAPTER adapter = NULL;
    struct error *error = adapter_load(loading, &adapter);
    if (error && loading->alone) {
        error_free(error);
        add_later(to, former->named, "more kinds");
        return NULL;
    }
    TRY(error);
    if (!has_all(adapter, former)) {
        add_later(to, former->named, "other settings");
        return NULL;
    }
    if (!inherit(former, adapter))
        return error_no_memory();
    TRY(append_kinds(to->table, loading, adapter));
    if (adapter->n_kinds == former->n_kinds) // each was refused
        return NULL;
    TRY(append_scorer(to->table, adapter));
    to->table->list[index] = TAKE(adapter);
    to->changed = true;
    return NULL;
}

static struct error *load_wanted(struct building *to, struct loading *loading) {
    const struct adapters *former = to->former;
    size_t i = 0;
    while (former && i < former->count && strcmp(former->list[i]->named, loading->wanted->name) != 0)
        i++;
    if (!former || i == former->count)
        return add_new(to, loading);
    size_t had = json_size(json_get(former->list[i]->settings, "kinds"));
    bool grew = json_size(json_get(loading->wanted->settings, "kinds")) > had;
    return to->stays[i] && grew ? add_kinds(to, i, loading) : NULL;
}

// With a former table, the first problem ends the loop.
static struct error *load_all(struct building *to) {
    for (size_t i = 0; i < to->options->n_wanted && (!to->former || to->problems->count == 0); i++) {
        const struct adapter_wanted *wanted = &to->options->wanted[i];
        struct loading loading = {
            .options = to->options, .wanted = wanted, .refused = to->refused, .line = wanted->line};
        struct error *error = load_wanted(to, &loading);
        if (error && error->code == ERROR_NO_MEMORY)
            return error;
        report_adapter(to, &loading, error);
    }
    return NULL;
}

struct error *adapters_load(const struct adapters_options *options, struct problems *problems, struct adapters **out) {
    struct building to = {
        .options = options, .problems = problems, .refused = problems, .table = calloc(1, sizeof *to.table)};
    struct error *error = to.table ? load_all(&to) : error_no_memory();
    if (error)
        adapters_free(to.table);
    *out = error ? NULL : to.table;
    return error;
}

// Begins the table with that of `former`.
static struct error *extend(struct building *to, struct adapters *former) {
    if (!to->table || !to->stays)
        return error_no_memory();
    to->table->former = former;
    for (size_t i = 0; i < former->count; i++)
        TRY(append(&to->table->list, &to->table->count, &former->list[i]));
    for (size_t k = 0; k < former->n_kinds; k++)
        TRY(append(&to->table->kinds, &to->table->n_kinds, &former->kinds[k]));
    for (size_t i = 0; i < former->n_scorers; i++)
        TRY(append(&to->table->scorers, &to->table->n_scorers, &former->scorers[i]));
    compare(to);
    return load_all(to);
}

struct error *adapters_extend(struct adapters *former, const struct adapters_options *options,
                              struct adapter_reports *reports, struct adapters **out) {
    struct problems *problems = reports->problems;
    struct building to = {.former = former,
                          .options = options,
                          .problems = problems,
                          .refused = reports->refused,
                          .later = reports->later};
    to.table = calloc(1, sizeof *to.table);
    to.stays = calloc(former->count + 1, sizeof *to.stays);
    struct error *error = extend(&to, former);
    bool used = !error && to.changed && problems->count == 0 && problems->lost == 0;
    free(to.stays);
    *out = used ? to.table : NULL;
    if (!used)
        adapters_free_newer(to.table, former);
    return error;
}
