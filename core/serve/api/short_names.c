// SPDX-License-Identifier: Apache-2.0
#include "core/serve/api/short_names.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/kube/api/api_resources.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LIST_MAX ((size_t)4096) // of one kind

struct short_names {
    pthread_mutex_t lock;
    pthread_cond_t read;
    int64_t due_ns; // the next read
    bool reading;   // a thread does, without the lock
    size_t n_kinds; // more when adapters are added
    char **lists;   // of each kind "rj\nrayj\n"; NULL: none is known
};

struct short_names *short_names_new(void) {
    struct short_names *names = calloc(1, sizeof *names);
    if (!names)
        return NULL;
    pthread_mutex_init(&names->lock, NULL);
    pthread_cond_init(&names->read, NULL);
    return names;
}

void short_names_free(struct short_names *names) {
    if (!names)
        return;
    for (size_t k = 0; k < names->n_kinds; k++)
        free(names->lists[k]);
    free(names->lists);
    pthread_cond_destroy(&names->read);
    pthread_mutex_destroy(&names->lock);
    free(names);
}

static void append_names(const struct json *resource, struct buffer *out) {
    const struct json *list = json_get(resource, "shortNames");
    for (const struct json *name = json_first(list); name; name = json_next(name))
        if (json_string(name) && text_is_dns_label(json_string(name)))
            buffer_printf(out, "%s\n", json_string(name));
}

static struct error *read_kind(const struct api_source *source, const struct kind *kind, struct buffer *out) {
    for (const char *const *version = kind->abi.versions; *version; version++) {
        struct response answer = {.message = NULL};
        AUTO_TEXT path = api_resources_path(kind->abi.group, *version);
        struct error *error = path ? source->read(source->ctx, path, &answer) : error_no_memory();
        if (!error && answer.reason == REASON_OK)
            append_names(api_resources_find(answer.value, kind->abi.plural), out);
        response_clear(&answer);
        if (error)
            return error;
    }
    return out->failed ? error_no_memory() : NULL;
}

// Until there is no answer: each would take as long.
static void read_all(struct short_names *names, const struct api_source *source, const struct adapters *adapters) {
    struct error *error = NULL;
    for (size_t k = 0; k < adapters->n_kinds && !error; k++) {
        AUTO_BUFFER(list, LIST_MAX);
        buffer_text(&list, "");
        error = read_kind(source, adapters->kinds[k], &list);
        if (error)
            break;
        pthread_mutex_lock(&names->lock);
        free(names->lists[k]);
        names->lists[k] = buffer_take(&list, NULL);
        pthread_mutex_unlock(&names->lock);
    }
    error_free(error);
}

static bool contains(const char *list, const char *name) {
    for (size_t len; list && *list; list += len + 1) {
        len = strcspn(list, "\n");
        if (strlen(name) == len && strncasecmp(list, name, len) == 0)
            return true;
    }
    return false;
}

// Whether the caller has to read the names. Waits for another thread that does.
static bool begins_reading(struct short_names *names, int64_t now_ns) {
    pthread_mutex_lock(&names->lock);
    while (names->reading)
        pthread_cond_wait(&names->read, &names->lock);
    bool mine = now_ns >= names->due_ns;
    if (mine) {
        names->reading = true;
        names->due_ns = now_ns + SHORT_NAMES_KEPT_NS;
    }
    pthread_mutex_unlock(&names->lock);
    return mine;
}

static void end_reading(struct short_names *names) {
    pthread_mutex_lock(&names->lock);
    names->reading = false;
    pthread_cond_broadcast(&names->read);
    pthread_mutex_unlock(&names->lock);
}

static size_t find_short_name(struct short_names *names, size_t n_kinds, const char *name) {
    size_t k = 0;
    pthread_mutex_lock(&names->lock);
    while (k < n_kinds && !contains(names->lists[k], name))
        k++;
    pthread_mutex_unlock(&names->lock);
    return k;
}

// The short names of an added kind are read at once.
static bool make_room(struct short_names *names, size_t n_kinds) {
    pthread_mutex_lock(&names->lock);
    bool more = n_kinds > names->n_kinds;
    char **lists = more ? realloc(names->lists, n_kinds * sizeof *lists) : names->lists;
    if (lists)
        names->lists = lists;
    for (; lists && names->n_kinds < n_kinds; names->n_kinds++)
        lists[names->n_kinds] = NULL;
    if (more && lists)
        names->due_ns = 0;
    bool room = names->n_kinds >= n_kinds;
    pthread_mutex_unlock(&names->lock);
    return room;
}

const struct kind *short_names_find(struct short_names *names, const struct api_source *source, const char *name,
                                    int64_t now_ns) {
    const struct adapters *adapters = api_adapters_of(source);
    size_t count = adapters->n_kinds;
    if (!make_room(names, count))
        return NULL;
    size_t k = find_short_name(names, count, name);
    if (k == count) {
        if (begins_reading(names, now_ns)) {
            read_all(names, source, adapters);
            end_reading(names);
        }
        k = find_short_name(names, count, name);
    }
    return k < count ? adapters->kinds[k] : NULL;
}
