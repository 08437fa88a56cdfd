// SPDX-License-Identifier: Apache-2.0
#include "core/host/words/words_text.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/writer.h"
#include "core/kube/object/object.h"

#define EXIT_SIGNALS 128 // larger exit codes: 128 and the number of the signal
#define AT "{\"at\":\""  // the begin of each value: the order of the entries is known without parsing

// Containers ---------------------------------------------------------------------------------------------------------

static int by_end(const void *a, const void *b) {
    const struct words_container *one = a, *other = b;
    int order = strcmp(one->ended, other->ended);
    return order != 0 ? order : strcmp(one->pod, other->pod);
}

static void add_container(struct words *words, const struct words_container *container) {
    words->failed++;
    if (words->count < WORDS_CONTAINERS) {
        words->list[words->count++] = *container;
        qsort(words->list, words->count, sizeof *words->list, by_end);
        return;
    }
    // The first one stays, and the last ones.
    struct words_container all[WORDS_CONTAINERS + 1];
    memcpy(all, words->list, sizeof words->list);
    all[WORDS_CONTAINERS] = *container;
    qsort(all, WORDS_CONTAINERS + 1, sizeof *all, by_end);
    words->list[0] = all[0];
    memcpy(words->list + 1, all + 2, (WORDS_CONTAINERS - 1) * sizeof *all);
}

// Of a pod that failed as a whole, such as an evicted one; "" or NULL: of no such pod.
static const char *reason_of(const struct pod *pod) {
    return *pod->reason ? pod->reason : pod->disruption;
}

static const char *message_of(const struct pod *pod) {
    return *pod->message ? pod->message : pod->disrupted;
}

// A container that was killed with its pod says no more than "Error": the reason is the pod's.
static void add_terminated(struct words *words, const struct pod *pod, const struct pod_container *container) {
    struct words_container out = {.pod = pod->name,
                                  .name = container->name,
                                  .reason = container->reason,
                                  .message = container->message,
                                  .ended = container->ended,
                                  .exit_code = container->exit_code};
    const char *reason = reason_of(pod), *message = message_of(pod);
    bool killed = container->exit_code > EXIT_SIGNALS && strcmp(pod->phase, "Failed") == 0;
    if (killed && reason && *reason && strcmp(container->reason, "Error") == 0) {
        out.reason = reason;
        if (!*container->message && message)
            out.message = message;
    }
    add_container(words, &out);
}

void words_choose(struct words *words, const struct pods *pods) {
    for (size_t p = 0; p < pods->count; p++) {
        const struct pod *pod = &pods->list[p];
        size_t before = words->failed;
        for (size_t c = 0; c < pod->n_containers; c++) {
            const struct pod_container *container = &pod->containers[c];
            if (container->terminated && container->exit_code != 0)
                add_terminated(words, pod, container);
        }
        if (words->failed == before && strcmp(pod->phase, "Failed") == 0)
            add_container(
                words,
                &(struct words_container){
                    .pod = pod->name, .name = "", .reason = reason_of(pod), .message = message_of(pod), .ended = ""});
    }
    for (size_t i = 0; i < words->count; i++)
        buffer_init(&words->list[i].log, 4 * WORDS_LOG);
}

void words_clear(struct words *words) {
    for (size_t i = 0; i < words->count; i++)
        buffer_free(&words->list[i].log);
    words->count = 0;
}

// Logs ---------------------------------------------------------------------------------------------------------------

bool words_log_put(struct words_container *container, const char *bytes, size_t len) {
    struct buffer *log = &container->log;
    if (len > WORDS_LOG) {
        container->cut = true;
        bytes += len - WORDS_LOG;
        len = WORDS_LOG;
    }
    if (log->len + len > log->max) {
        container->cut = true;
        buffer_consume(log, log->len - WORDS_LOG);
    }
    return buffer_append(log, bytes, len);
}

// Where the last `max` bytes begin: with a line if one begins in their first half, else with a character.
static size_t end_of(const char *bytes, size_t len, size_t max) {
    if (len <= max)
        return 0;
    size_t at = len - max;
    const char *line = bytes[at - 1] == '\n' ? bytes + at - 1 : memchr(bytes + at, '\n', max / 2);
    if (line)
        return (size_t)(line - bytes) + 1;
    for (size_t i = 0; i < 3 && at < len && ((unsigned char)bytes[at] & 0xC0) == 0x80; i++)
        at++;
    return at;
}

static void show_lines(const char *bytes, size_t len, struct buffer *out) {
    AUTO_BUFFER(line, 4 * WORDS_LOG);
    for (size_t at = 0; at < len; at++) {
        const char *end = memchr(bytes + at, '\n', len - at);
        size_t n = end ? (size_t)(end - bytes) - at : len - at;
        size_t shown = n > 0 && bytes[at + n - 1] == '\r' ? n - 1 : n;
        buffer_reset(&line);
        for (size_t i = 0; i < shown; i++) // text_show ends at a NUL; 0xFF is never UTF-8
            buffer_char(&line, bytes[at + i] == '\0' ? '\xff' : bytes[at + i]);
        text_show(out, line.data && line.len > 0 ? line.data : "");
        buffer_char(out, '\n');
        at += n;
    }
}

bool words_log_end(struct words_container *container) {
    struct buffer *log = &container->log;
    AUTO_BUFFER(shown, 64 * WORDS_LOG);
    size_t from = end_of(log->data, log->len, WORDS_LOG);
    if (log->len > 0)
        show_lines(log->data + from, log->len - from, &shown);
    size_t again = end_of(shown.data, shown.len, WORDS_LOG);
    container->cut |= from > 0 || again > 0;
    if (shown.failed || log->failed)
        return false;
    buffer_reset(log);
    return shown.len == 0 || buffer_append(log, shown.data + again, shown.len - again);
}

// Entries ------------------------------------------------------------------------------------------------------------

// An untrusted text on one line, cut to `max` bytes.
static void put_line(struct writer *out, const char *key, const char *text, size_t max) {
    AUTO_BUFFER(shown, 8 * WORDS_MESSAGE);
    char cut[512] = "";
    if (text_show(&shown, text) && shown.data)
        text_shorten(cut, size_least(max, sizeof cut), shown.data);
    writer_string(out, key, cut);
}

static void put_lines(struct writer *out, const char *key, const char *text, size_t max) {
    AUTO_BUFFER(shown, 8 * WORDS_MESSAGE);
    show_lines(text, strlen(text), &shown);
    if (shown.len > 0)
        buffer_truncate(&shown, shown.len - 1); // the last line feed
    size_t from = shown.failed ? 0 : end_of(shown.data, shown.len, max);
    writer_string(out, key, shown.len > 0 && !shown.failed ? shown.data + from : "");
}

static void put_container(struct writer *out, const struct words_container *container) {
    writer_object(out, NULL);
    put_line(out, "pod", container->pod, 256);
    put_line(out, "container", container->name, 256);
    if (*container->name)
        writer_int(out, "exitCode", container->exit_code);
    put_line(out, "reason", container->reason, 256);
    put_line(out, "endedAt", container->ended, CLOCK_RFC3339_MAX);
    put_lines(out, "message", container->message, WORDS_MESSAGE);
    writer_string(out, "log", container->log.data ? container->log.data : "");
    writer_bool(out, "logCut", container->cut);
    writer_end(out, '}');
}

bool words_write(const struct words *words, struct buffer *key, struct buffer *value) {
    char at[CLOCK_RFC3339_MAX];
    struct writer out = {.out = value};
    clock_rfc3339(words->at_ns, at);
    buffer_printf(key, "%s.%u", words->uid, words->attempt);
    writer_object(&out, NULL);
    writer_string(&out, "at", at);
    writer_string(&out, "resource", words->resource);
    writer_string(&out, "name", words->name);
    writer_string(&out, "origin", words->origin);
    writer_string(&out, "cluster", words->worker);
    writer_uint(&out, "attempt", words->attempt);
    writer_uint(&out, "failed", words->failed);
    writer_array(&out, "containers");
    for (size_t i = 0; i < words->count; i++)
        put_container(&out, &words->list[i]);
    writer_end(&out, ']');
    writer_end(&out, '}');
    return !key->failed && !value->failed;
}

// The last line that is not empty, of the message, else of the log.
static void put_last_line(const char *message, const char *log, struct buffer *out) {
    const char *text = *message ? message : log;
    size_t len = strlen(text);
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
        len--;
    size_t from = len;
    while (from > 0 && text[from - 1] != '\n')
        from--;
    AUTO_TEXT line = strndup(text + from, len - from);
    char cut[256] = "";
    if (line && *line) {
        text_shorten(cut, sizeof cut, line);
        buffer_text(out, ": ");
        text_show(out, cut);
    }
}

bool words_show(const struct json *entry, struct buffer *out) {
    const struct json *container = json_first(json_get(entry, "containers"));
    if (!container)
        return true;
    const char *name = json_string_or(json_get(container, "container"), "");
    const char *reason = json_string_or(json_get(container, "reason"), "");
    buffer_text(out, "pod ");
    text_show(out, json_string_or(json_get(container, "pod"), ""));
    if (*name) {
        buffer_text(out, ", container ");
        text_show(out, name);
    }
    buffer_text(out, ": ");
    text_show(out, *reason ? reason : "failed");
    if (*name)
        buffer_printf(out, ", exit code %lld", (long long)json_int64(json_get(container, "exitCode"), 0));
    put_last_line(json_string_or(json_get(container, "message"), ""), json_string_or(json_get(container, "log"), ""),
                  out);
    int64_t failed = json_int64(json_get(entry, "failed"), 1);
    if (failed > 1)
        buffer_printf(out, "; %lld more failed", (long long)(failed - 1));
    return !out->failed;
}

bool words_shorten(const struct words *words, struct buffer *out) {
    AUTO_BUFFER(key, 256);
    AUTO_BUFFER(value, WORDS_ENTRY_BYTES);
    AUTO_JSON entry = NULL;
    AUTO_ERROR error = words_write(words, &key, &value) ? json_parse(value.data, value.len, &entry) : error_no_memory();
    return !error && words_show(entry, out);
}

// The attempt of a key of the workload; 0: of another one.
static int64_t attempt_of(const char *key, const char *uid) {
    int64_t attempt = 0;
    size_t len = strlen(uid);
    bool same = strncmp(key, uid, len) == 0 && key[len] == '.' && text_to_int64(key + len + 1, &attempt);
    return same ? attempt : 0;
}

struct error *words_find(const struct json *map, const char *uid, struct json **out) {
    const struct json *data = json_get(map, "data");
    AUTO_JSON found = json_new_array();
    int64_t below = INT64_MAX;
    while (found) {
        const struct json *next = NULL;
        int64_t newest = 0;
        for (const struct json *item = json_first(data); item; item = json_next(item)) {
            int64_t attempt = attempt_of(json_key(item), uid);
            if (attempt > newest && attempt < below) {
                newest = attempt;
                next = item;
            }
        }
        if (!next)
            break;
        below = newest;
        const char *text = json_string_or(json_get(data, json_key(next)), "");
        struct json *entry = NULL;
        AUTO_ERROR error = json_parse(text, strlen(text), &entry);
        if (error) // another writer's
            continue;
        if (!json_append(found, entry))
            return error_no_memory();
    }
    *out = TAKE(found);
    return *out ? NULL : error_no_memory();
}

// Changes ------------------------------------------------------------------------------------------------------------

struct words_item { // an entry, present or new
    const char *key, *value;
    size_t size;
    bool present, is_new, goes; // present: in the ConfigMap
};

struct words_merging {
    struct words_item *items;
    size_t count, size;
};

// Equal times: by the attempt.
static int age(const struct words_item *a, const struct words_item *b) {
    size_t len = strlen(AT), n = strlen("2026-01-02T03:04:05Z");
    bool dated = strncmp(a->value, AT, len) == 0, other = strncmp(b->value, AT, len) == 0;
    int order = dated && other ? strncmp(a->value + len, b->value + len, n) : (int)dated - (int)other;
    return order != 0 ? order : strcmp(a->key, b->key);
}

static int by_age(const void *a, const void *b) {
    return age(a, b);
}

static struct words_item *oldest(struct words_merging *merge, const char *uid) {
    struct words_item *found = NULL;
    for (size_t i = 0; i < merge->count; i++) {
        struct words_item *item = &merge->items[i];
        int64_t attempt = item->goes ? 0 : attempt_of(item->key, uid);
        if (attempt > 0 && (!found || attempt < attempt_of(found->key, uid)))
            found = item;
    }
    return found;
}

static void leave_out(struct words_merging *merge, struct words_item *item) {
    item->goes = true;
    merge->size -= item->size;
}

static void put_item(struct words_merging *merge, struct words_item item) {
    item.size = strlen(item.key) + strlen(item.value);
    merge->items[merge->count++] = item;
    merge->size += item.size;
}

static void put_change(struct words_merging *merge, const struct words_change *change) {
    struct words_item wanted = {.key = change->key, .value = change->value, .is_new = true};
    for (size_t i = 0; i < merge->count; i++) {
        struct words_item *item = &merge->items[i];
        if (strcmp(item->key, change->key) != 0)
            continue;
        if (!item->goes && strcmp(item->value, change->value) == 0)
            return;
        wanted.present = item->present;
        merge->size -= item->goes ? 0 : item->size;
        *item = merge->items[--merge->count];
        break;
    }
    put_item(merge, wanted);
}

static void forget(struct words_merging *merge, const char *uid) {
    for (size_t i = 0; i < merge->count; i++)
        if (!merge->items[i].goes && attempt_of(merge->items[i].key, uid))
            leave_out(merge, &merge->items[i]);
}

static void limit(struct words_merging *merge, const struct words_change *changes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char uid[64] = "";
        text_copy(uid, size_least(sizeof uid, strcspn(changes[i].key, ".") + 1), changes[i].key);
        size_t attempts = 0;
        for (size_t k = 0; k < merge->count; k++)
            attempts += !merge->items[k].goes && attempt_of(merge->items[k].key, uid);
        for (; attempts > WORDS_ATTEMPTS; attempts--)
            leave_out(merge, oldest(merge, uid));
    }
    if (merge->size <= WORDS_MAP_BYTES)
        return;
    qsort(merge->items, merge->count, sizeof *merge->items, by_age);
    for (size_t i = 0; merge->size > WORDS_MAP_BYTES; i++)
        if (!merge->items[i].goes)
            leave_out(merge, &merge->items[i]);
}

static void put_precondition(struct writer *out, const char *key, const struct json *map, bool exact) {
    writer_object(out, key);
    writer_string(out, "uid", object_uid(map));
    if (exact)
        writer_string(out, "resourceVersion", object_version(map));
    writer_end(out, '}');
}

static enum words_write write_merge(const struct words_merging *merge, const struct json *map, bool exact,
                                    struct buffer *body) {
    struct writer out = {.out = body};
    size_t left = 0, changed = 0;
    for (size_t i = 0; i < merge->count; i++) {
        left += !merge->items[i].goes;
        changed += merge->items[i].goes ? merge->items[i].present : merge->items[i].is_new;
    }
    if (left == 0 && map) {
        writer_object(&out, NULL);
        put_precondition(&out, "preconditions", map, true);
        writer_end(&out, '}');
        return WORDS_DELETE;
    }
    if (changed == 0)
        return WORDS_NOTHING;
    writer_object(&out, NULL);
    put_precondition(&out, "metadata", map, exact);
    writer_object(&out, "data");
    for (size_t i = 0; i < merge->count; i++) {
        const struct words_item *item = &merge->items[i];
        if (item->goes && item->present)
            writer_null(&out, item->key);
        else if (!item->goes && item->is_new)
            writer_string(&out, item->key, item->value);
    }
    writer_end(&out, '}');
    writer_end(&out, '}');
    return WORDS_PATCH;
}

struct error *words_merge(const struct json *map, const struct words_change *changes, size_t count, bool exact,
                          struct buffer *body, enum words_write *out) {
    const struct json *data = json_get(map, "data");
    struct words_merging merge = {.items = calloc(json_size(data) + count + 1, sizeof *merge.items)};
    if (!merge.items)
        return error_no_memory();
    for (const struct json *item = json_first(data); item; item = json_next(item))
        put_item(&merge,
                 (struct words_item){.key = json_key(item), .value = json_string_or(item, ""), .present = true});
    for (size_t i = 0; i < count; i++)
        if (changes[i].value)
            put_change(&merge, &changes[i]);
        else
            forget(&merge, changes[i].key);
    limit(&merge, changes, count);
    *out = write_merge(&merge, map, exact, body);
    free(merge.items);
    return body->failed ? error_no_memory() : NULL;
}
