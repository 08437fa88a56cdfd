// SPDX-License-Identifier: Apache-2.0
// Kinds and mirrors as callers name them.
#include "core/serve/api/api_internal.h"

#include "core/base/thread.h"
#include "core/kube/api/requests.h"

#include <strings.h>

#define SHORT_NAMES_KEPT_NS (30 * CLOCK_SECOND) // every caller with a token may ask for a kind that does not exist
#define SHORT_NAMES_MAX ((size_t)4096)          // bytes, of one kind

struct short_names {
    pthread_mutex_t reading; // held while the names are read; protects due_ns and n_read
    int64_t due_ns;          // the next read
    size_t n_read;           // kinds at the last read
    pthread_mutex_t lock;    // protects all below
    size_t cap;              // of `lists`
    char **lists;            // of each kind "rj\nrayj\n"; NULL: none is known
};

struct short_names *short_names_new(void) {
    struct short_names *names = calloc(1, sizeof *names);
    if (!names)
        return NULL;
    pthread_mutex_init(&names->reading, NULL);
    pthread_mutex_init(&names->lock, NULL);
    return names;
}

void short_names_free(struct short_names *names) {
    if (!names)
        return;
    for (size_t k = 0; k < names->cap; k++)
        free(names->lists[k]);
    free(names->lists);
    pthread_mutex_destroy(&names->lock);
    pthread_mutex_destroy(&names->reading);
    free(names);
}

static void append_names(const struct json *resource, struct buffer *out) {
    const struct json *list = json_get(resource, "shortNames");
    for (const struct json *name = json_first(list); name; name = json_next(name))
        if (json_string(name) && text_is_dns_label(json_string(name)))
            buffer_printf(out, "%s\n", json_string(name));
}

static struct error *read_short_names(const struct api_source *source, const struct kind *kind, struct buffer *out) {
    struct error *error = NULL;
    for (const char *const *version = kind->abi.versions; *version && !error; version++) {
        struct response answer = {.message = NULL};
        AUTO_TEXT path = api_resources_path(kind->abi.group, *version);
        error = path ? source->read(source->ctx, path, &answer) : error_no_memory();
        if (!error && answer.reason == REASON_OK)
            append_names(api_resources_find(answer.value, kind->abi.plural), out);
        response_clear(&answer);
    }
    return !error && out->failed ? error_no_memory() : error;
}

// Until there is no answer: each would take as long.
static void read_all_short_names(struct short_names *names, const struct api_source *source,
                                 const struct adapters *adapters) {
    AUTO_ERROR error = NULL;
    for (size_t k = 0; k < adapters->n_kinds && !error; k++) {
        AUTO_BUFFER(list, SHORT_NAMES_MAX);
        error = read_short_names(source, adapters->kinds[k], &list);
        AUTO_LOCK(&names->lock);
        if (!error && k < names->cap) {
            free(names->lists[k]);
            names->lists[k] = buffer_take(&list, NULL);
        }
    }
}

static bool list_has(const char *list, const char *name) {
    for (size_t len; list && *list; list += len + 1) {
        len = strcspn(list, "\n");
        if (strlen(name) == len && strncasecmp(list, name, len) == 0)
            return true;
    }
    return false;
}

static size_t find_short_name(struct short_names *names, size_t n_kinds, const char *name) {
    size_t k = 0;
    AUTO_LOCK(&names->lock);
    if (!array_reserve(&names->lists, &names->cap, n_kinds, sizeof *names->lists))
        return n_kinds;
    while (k < n_kinds && !list_has(names->lists[k], name))
        k++;
    return k;
}

// Waits for another thread that reads the names. The short names of an added kind are read at once.
static void refresh_short_names(struct short_names *names, const struct api_source *source,
                                const struct adapters *adapters) {
    int64_t now_ns = clock_now().mono_ns;
    AUTO_LOCK(&names->reading);
    if (now_ns < names->due_ns && names->n_read >= adapters->n_kinds)
        return;
    names->due_ns = now_ns + SHORT_NAMES_KEPT_NS;
    names->n_read = adapters->n_kinds;
    read_all_short_names(names, source, adapters);
}

// The kind, the plural, or the singular, which is the kind in lower case (the default of CRDs, and true of built-in
// kinds).
static bool is_named(const struct kind *kind, const char *name, size_t len) {
    const char *words[] = {kind->abi.kind, kind->abi.plural};
    for (size_t i = 0; i < 2; i++)
        if (strlen(words[i]) == len && strncasecmp(words[i], name, len) == 0)
            return true;
    return false;
}

static size_t find_kind(const struct adapters *adapters, const char *name) {
    const char *dot = strchr(name, '.');
    size_t len = dot ? (size_t)(dot - name) : strlen(name), k = 0;
    while (k < adapters->n_kinds && !(is_named(adapters->kinds[k], name, len) &&
                                      (!dot || strcasecmp(dot + 1, adapters->kinds[k]->abi.group) == 0)))
        k++;
    return k;
}

static struct error *not_found(const struct adapters *adapters, const char *name) {
    AUTO_BUFFER(known, 4096);
    for (size_t k = 0; k < adapters->n_kinds; k++)
        buffer_printf(&known, "%s%s", k > 0 ? ", " : "", adapters->kinds[k]->plural_group);
    return error_new(ERROR_NOT_FOUND, "no enabled adapter brings a kind \"%.80s\": this host has %s", name,
                     known.len > 0 ? known.data : "none");
}

struct error *api_find_kind(const struct api_source *source, const char *name, const struct kind **out) {
    const struct adapters *adapters = api_adapters_of(source);
    struct short_names *names = source->short_names;
    size_t k = find_kind(adapters, name);
    bool may_be_short = names && text_is_label_value(name) && *name && !strchr(name, '.');
    if (k == adapters->n_kinds && may_be_short)
        k = find_short_name(names, adapters->n_kinds, name);
    if (k == adapters->n_kinds && may_be_short) {
        refresh_short_names(names, source, adapters);
        k = find_short_name(names, adapters->n_kinds, name);
    }
    *out = k < adapters->n_kinds ? adapters->kinds[k] : NULL;
    return *out ? NULL : not_found(adapters, name);
}

struct mirror_question {
    const struct kind *kind;
    const char *namespace_, *name;
    struct api_mirror *out;
    enum inspect_mirror found;
};

static void find_mirror(void *arg, struct engine *engine, struct moment now) {
    (void)now;
    struct mirror_question *question = arg;
    struct mirror_view view = {.finished = false};
    struct api_mirror *out = question->out;
    question->found = inspect_mirror(engine, question->kind, question->namespace_, question->name, &view);
    out->awaited = question->found == INSPECT_MIRROR_NONE && !view.finished;
    out->finished = view.finished;
    if (question->found != INSPECT_MIRROR_FOUND)
        return;
    text_copy(out->cluster, sizeof out->cluster, view.cluster_name);
    text_copy(out->uid, sizeof out->uid, view.uid);
    text_copy(out->space, sizeof out->space, view.namespace_);
    text_copy(out->version, sizeof out->version, view.version);
    out->number = view.cluster;
    out->attempt = view.attempt;
    out->as_tenant = view.as_tenant;
}

struct error *api_find_mirror(const struct api_source *source, const struct kind *kind, const char *namespace_,
                              const char *name, struct api_mirror *out) {
    *out = (struct api_mirror){.number = 0};
    struct mirror_question question = {.kind = kind, .namespace_ = namespace_, .name = name, .out = out};
    TRY(source->query(source->ctx, find_mirror, &question));
    if (question.found == INSPECT_MIRROR_FOUND)
        return NULL;
    const char *why = question.found != INSPECT_MIRROR_NONE ? "is not delegated to this host"
                      : out->finished
                          ? "has finished and has no mirror any more: it is deleted mirrorRetention after the "
                            "end, and with it its pods and their logs"
                          : "has no mirror now";
    return error_new(ERROR_NOT_FOUND, "%s %s/%s %s", kind->abi.kind, namespace_, name, why);
}
