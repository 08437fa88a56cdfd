// SPDX-License-Identifier: Apache-2.0
// Adding adapters while others are in use.
#include "core/adapter/load/adapter_load.h"
#include "core/base/memory.h"
#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

struct extending {
    struct adapters *former, *newer;
    const struct adapters_options *options;
    struct problems *problems;
    struct buffer *later;
    bool *stays;  // of former's list: stays unchanged
    bool changed; // there is something new
};

static void add_later(struct extending *to, const char *name, const char *why) {
    buffer_printf(to->later, "%sadapter %s (%s)", to->later->len > 0 ? ", " : "", name, why);
}

static const struct adapter_wanted *find_wanted(const struct adapters_options *options, const char *name) {
    for (size_t i = 0; i < options->n_wanted; i++)
        if (strcmp(options->wanted[i].name, name) == 0)
            return &options->wanted[i];
    return NULL;
}

static size_t find_loaded(const struct adapters *adapters, const char *name) {
    size_t i = 0;
    while (i < adapters->count && strcmp(adapters->list[i]->named, name) != 0)
        i++;
    return i;
}

static bool has_item(const struct json *list, const struct json *item) {
    for (const struct json *at = json_first(list); at; at = json_next(at))
        if (json_equal(at, item))
            return true;
    return false;
}

static bool has_items(const struct json *list, const struct json *items) {
    for (const struct json *at = json_first(items); at; at = json_next(at))
        if (!has_item(list, at))
            return false;
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
static const char *what_differs(const struct adapter *adapter, const struct adapter_wanted *wanted,
                                const char *sha256) {
    if (strcmp(adapter->sha256, sha256) != 0)
        return "another file";
    if (!text_equal(adapter->managed_by, wanted->managed_by))
        return "another managedBy";
    if (adapter->hybrid != wanted->hybrid)
        return "another hybrid";
    bool same = json_equal(adapter->settings, wanted->settings) || only_adds_kinds(adapter->settings, wanted->settings);
    return same ? NULL : "other settings";
}

// Finds the adapters in use that stay unchanged.
static void compare(struct extending *to) {
    for (size_t i = 0; i < to->former->count; i++) {
        const struct adapter *adapter = to->former->list[i];
        const struct adapter_wanted *wanted = find_wanted(to->options, adapter->named);
        char sha256[65];
        struct error *error = wanted ? adapter_file_check(wanted->file, wanted->sha256, sha256) : NULL;
        const char *differs = !wanted ? "removed" : error ? NULL : what_differs(adapter, wanted, sha256);
        if (differs)
            add_later(to, adapter->named, differs);
        to->stays[i] = !differs;
        if (error)
            adapters_report(&(struct loading){.options = to->options, .wanted = wanted, .line = wanted->line},
                            to->problems, error);
    }
}

// True if a kind of an adapter that does not stay is in the way of this one.
static bool waits_for_leaver(const struct extending *to, const struct adapter *adapter) {
    for (size_t i = 0; i < to->former->count; i++)
        for (size_t k = 0; !to->stays[i] && k < to->former->list[i]->n_kinds; k++)
            for (size_t own = 0; own < adapter->n_kinds; own++)
                if (adapters_same_kind(adapter->kinds[own], to->former->list[i]->kinds[k]))
                    return true;
    return false;
}

static struct error *add_new(struct extending *to, struct loading *loading) {
    struct error *error = NULL;
    __attribute__((cleanup(adapter_cleanup))) struct adapter *adapter = adapter_load(loading, &error);
    if (!adapter)
        return error;
    error = adapters_check_own(adapter);
    if (!error && waits_for_leaver(to, adapter)) {
        add_later(to, loading->wanted->name, "a kind of it is still that of a former adapter");
        return NULL;
    }
    if (!error)
        error = adapters_check_distinct(to->newer, adapter);
    if (!error)
        error = adapters_add(to->newer, adapter);
    if (error)
        return error;
    adapter = NULL;
    to->changed = true;
    return NULL;
}

static bool has_kind(const struct adapter *adapter, const struct kind *kind) {
    for (size_t i = 0; i < adapter->n_kinds; i++)
        if (adapters_same_kind(adapter->kinds[i], kind))
            return true;
    return false;
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

// Takes the adapter if used.
static struct error *replace(struct extending *to, size_t index, struct adapter **taken) {
    struct adapter *adapter = *taken;
    const struct adapter *former = to->former->list[index];
    if (!has_all(adapter, former)) {
        add_later(to, former->named, "other settings");
        return NULL;
    }
    if (!inherit(former, adapter))
        return error_no_memory();
    struct error *error = adapters_check_distinct(to->newer, adapter);
    if (!error)
        error = adapters_add(to->newer, adapter);
    if (error)
        return error;
    to->newer->list[index] = TAKE(*taken);
    to->newer->count--;
    to->changed = true;
    return NULL;
}

static struct error *add_kinds(struct extending *to, size_t index, struct loading *loading) {
    struct error *error = NULL;
    __attribute__((cleanup(adapter_cleanup))) struct adapter *adapter = adapter_load(loading, &error);
    if (!adapter && loading->alone) {
        error_free(error);
        add_later(to, loading->wanted->name, "more kinds");
        return NULL;
    }
    if (!adapter)
        return error;
    error = adapters_check_own(adapter);
    return error ? error : replace(to, index, &adapter);
}

static struct error *extend(struct extending *to) {
    compare(to);
    for (size_t i = 0; to->problems->count == 0 && i < to->options->n_wanted; i++) {
        const struct adapter_wanted *wanted = &to->options->wanted[i];
        struct loading loading = {.options = to->options, .wanted = wanted, .line = wanted->line};
        size_t index = find_loaded(to->former, wanted->name);
        struct error *error = NULL;
        if (index == to->former->count)
            error = add_new(to, &loading);
        else if (to->stays[index] && json_size(json_get(wanted->settings, "kinds")) >
                                         json_size(json_get(to->former->list[index]->settings, "kinds")))
            error = add_kinds(to, index, &loading);
        if (error && error->code == ERROR_NO_MEMORY)
            return error;
        adapters_report(&loading, to->problems, error);
    }
    return NULL;
}

static struct adapters *begin(struct adapters *former) {
    struct adapters *newer = calloc(1, sizeof *newer);
    bool ok = newer;
    for (size_t i = 0; ok && i < former->count; i++) {
        struct adapter **place = array_next(&newer->list, i, sizeof(struct adapter *));
        ok = place;
        if (ok)
            *place = former->list[i];
        newer->count += ok;
    }
    for (size_t k = 0; ok && k < former->n_kinds; k++) {
        struct kind **place = array_next(&newer->kinds, k, sizeof(struct kind *));
        ok = place;
        if (ok)
            *place = former->kinds[k];
        newer->n_kinds += ok;
    }
    if (newer)
        newer->former = former;
    if (ok)
        return newer;
    adapters_free_newer(newer, former);
    return NULL;
}

struct error *adapters_extend(struct adapters *former, const struct adapters_options *options,
                              struct problems *problems, struct buffer *later, struct adapters **out) {
    *out = NULL;
    struct extending to = {.former = former, .options = options, .problems = problems, .later = later};
    to.newer = begin(former);
    to.stays = calloc(former->count + 1, sizeof *to.stays);
    struct error *error = to.newer && to.stays ? extend(&to) : error_no_memory();
    free(to.stays);
    if (!error && to.changed && problems->count == 0 && problems->lost == 0)
        *out = to.newer;
    else
        adapters_free_newer(to.newer, former);
    return error;
}
