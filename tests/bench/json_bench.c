// SPDX-License-Identifier: Apache-2.0
// The processor time that each operation on JSON takes for documents of 1 MB, for the slowest of several shapes that a
// hostile author or cluster could choose. Prints a table; nothing here fails on a time.
#include "core/base/text.h"
#include "core/json/json.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIZE 1000000
#define ROUNDS 9

struct shape {
    const char *what, *open, *member, *close; // '#': the number of the member
};

static const struct shape shapes[] = {
    {"an object of short members", "{\"s\":{", "\"#\":0", "}}"},
    {"of labels", "{\"s\":{", "\"example.com/key-#\":\"\"", "}}"},
    {"of objects", "{\"s\":{", "\"k#\":{\"n\":#}", "}}"},
    {"of keys with escapes", "{\"s\":{", "\"a/~\\n#\":null", "}}"},
    {"an array of named items", "{\"s\":[", "{\"name\":\"n#\"}", "]}"},
    {"an array of nothing", "{\"s\":[", "[]", "]}"},
    {"objects of 40 members", "{\"s\":[", "{#40}", "]}"},
};
#define SHAPES (sizeof shapes / sizeof shapes[0])

struct subject {
    const struct shape *shape;
    char *text;
    size_t len, count;
    struct json *value, *other; // the same members in no order, with other values
    char **keys;                // of the members or items, in no order; as pointers below "/s"
};

static void check(bool ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "json_bench: %s\n", what);
        exit(1);
    }
}

static struct json *parsed(const char *text, size_t len) {
    struct json *value = NULL;
    check(!json_parse(text, len, &value), "JSON that does not parse");
    return value;
}

static void add_member(struct buffer *out, const char *member, size_t number) {
    if (strcmp(member, "{#40}") == 0) {
        for (int i = 0; i < 40; i++)
            buffer_printf(out, "%s\"member%d\":%zu", i ? "," : "{", i, number);
        buffer_char(out, '}');
        return;
    }
    for (; *member; member++)
        if (*member == '#')
            buffer_printf(out, "%zu", number);
        else
            buffer_char(out, *member);
}

static struct json *content(const struct subject *s, const struct json *value) {
    (void)s;
    return json_get(value, "s");
}

// Takes each member or item once, in no order.
static size_t scattered(size_t i, size_t count) {
    return (i * 7919) % count;
}

static struct json *make_other(const struct subject *s) {
    struct json *made = json_new_object(), *inner = json_copy(content(s, s->value));
    if (json_is(inner, JSON_OBJECT)) {
        struct json *mixed = json_new_object();
        for (size_t i = 0; i < s->count; i++)
            check(json_set(mixed, s->keys[i], json_new_int64((int64_t)i)), "no memory");
        json_free(inner);
        inner = mixed;
    } else {
        check(json_append(inner, json_new_null()), "no memory");
    }
    check(json_set(made, "s", inner), "no memory");
    return made;
}

static void make(struct subject *s, const struct shape *shape) {
    struct buffer text;
    buffer_init(&text, (size_t)1 << 22);
    *s = (struct subject){.shape = shape};
    buffer_text(&text, shape->open);
    for (; text.len < SIZE; s->count++) {
        buffer_text(&text, s->count ? "," : "");
        add_member(&text, shape->member, s->count);
    }
    while (s->count % 7919 == 0) { // so that scattered() takes each once
        buffer_char(&text, ',');
        add_member(&text, shape->member, s->count++);
    }
    buffer_text(&text, shape->close);
    s->text = buffer_take(&text, &s->len);
    s->value = parsed(s->text, s->len);
    s->keys = calloc(s->count, sizeof *s->keys);
    check(s->keys, "no memory");
    size_t at = 0;
    for (const struct json *m = json_first(content(s, s->value)); m; m = json_next(m), at++) {
        size_t to = scattered(at, s->count);
        s->keys[to] = json_key(m) ? strdup(json_key(m)) : text_format("%zu", at);
        check(s->keys[to], "no memory");
    }
    s->other = make_other(s);
}

static void drop(struct subject *s) {
    for (size_t i = 0; i < s->count; i++)
        free(s->keys[i]);
    free(s->keys);
    free(s->text);
    json_free(s->value);
    json_free(s->other);
}

static void run_parse(struct subject *s) {
    json_free(parsed(s->text, s->len));
}

static void run_object_parse(struct subject *s) {
    AUTO_TEXT text =
        text_format("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"1\"},\"status\":%s}", s->text);
    struct object *object = NULL;
    check(text && !object_parse(text, strlen(text), "v1", "Thing", &object), "an object that does not parse");
    object_free(object);
}

static void run_print(struct subject *s) {
    AUTO_TEXT text = json_text(s->value, NULL);
    check(text, "no memory");
}

static void run_copy(struct subject *s) {
    AUTO_JSON copy = json_copy(s->value);
    check(copy, "no memory");
}

static void run_hash(struct subject *s) {
    check(json_hash(s->value) != 1, "an unlikely hash");
}

static void run_equal(struct subject *s) {
    static struct json *again;
    static const struct subject *of;
    if (of != s) {
        json_free(again);
        again = parsed(s->text, s->len);
        of = s;
    }
    check(json_equal(s->value, again), "not equal");
}

static void run_diff(struct subject *s) {
    AUTO_JSON patch = patch_diff(s->value, s->other, NULL);
    check(patch && json_first(patch), "no patch");
}

static void run_removal(struct subject *s) {
    AUTO_JSON empty = json_new_object();
    if (json_is(content(s, s->value), JSON_ARRAY))
        return;
    AUTO_JSON patch = patch_diff(content(s, s->value), empty, NULL);
    check(patch, "no patch");
}

static void run_apply(struct subject *s) {
    AUTO_JSON target = json_copy(s->value);
    check(patch_apply(&target, s->other), "not applied");
}

static void run_set(struct subject *s) {
    if (json_is(content(s, s->value), JSON_ARRAY))
        return;
    AUTO_JSON made = json_new_object();
    for (size_t i = 0; i < s->count; i++)
        check(json_set(made, s->keys[i], json_new_null()), "no memory");
}

static void run_get(struct subject *s) {
    const struct json *inner = content(s, s->value);
    for (size_t i = 0; i < s->count; i++)
        if (json_is(inner, JSON_ARRAY))
            check(json_at(inner, scattered(i, s->count)), "no item");
        else
            check(json_get(inner, s->keys[i]), "no member");
}

static void run_remove(struct subject *s) {
    AUTO_JSON made = json_copy(s->value);
    struct json *inner = content(s, made);
    for (size_t i = s->count; i-- > 0;)
        if (json_is(inner, JSON_ARRAY))
            json_remove_child(inner, json_at(inner, i));
        else
            check(json_remove(inner, s->keys[i]), "no member");
}

static void run_pointer(struct subject *s) {
    AUTO_BUFFER(pointer, 1024);
    for (size_t i = 0; i < s->count; i++) {
        buffer_reset(&pointer);
        buffer_text(&pointer, "/s");
        check(pointer_append(&pointer, s->keys[i]) && pointer_find(s->value, pointer.data), "nothing there");
    }
}

static bool count_visit(void *ctx, const char *pointer, struct json *value) {
    ++*(size_t *)ctx;
    return pointer && value;
}

static void run_each(struct subject *s) {
    size_t seen = 0;
    check(pointer_each(s->value, "/s/*", count_visit, &seen) && seen == s->count, "not all seen");
}

static void run_take(struct subject *s) {
    AUTO_JSON into = json_copy(s->other);
    AUTO_JSON from = json_copy(s->value);
    check(json_take_content(into, from), "not taken");
}

static void run_items(struct subject *s) {
    struct json_index index;
    char name[32];
    check(json_index_init(&index, content(s, s->value), "name"), "no memory");
    for (size_t i = 0; i < s->count; i++) {
        snprintf(name, sizeof name, "n%zu", scattered(i, s->count));
        json_index_find(&index, name);
    }
    json_index_free(&index);
}

// Nothing is left of what the last round found out about the documents.
static void refresh(struct subject *s) {
    struct json *value = parsed(s->text, s->len), *other = json_copy(s->other);
    check(other, "no memory");
    json_free(s->value);
    json_free(s->other);
    s->value = value;
    s->other = other;
}

static double milliseconds(void (*run)(struct subject *s), struct subject *s) {
    double best = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        refresh(s);
        struct timespec from, to;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
        run(s);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
        double ms = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
        best = ms < best ? ms : best;
    }
    return best;
}

int main(void) {
    static const struct {
        const char *what;
        void (*run)(struct subject *s);
    } rows[] = {
        {"parse", run_parse},
        {"parse as an object of Kubernetes", run_object_parse},
        {"print", run_print},
        {"copy", run_copy},
        {"hash", run_hash},
        {"compare with an equal one", run_equal},
        {"diff, all members different and in another order", run_diff},
        {"diff, all members gone", run_removal},
        {"copy, apply a patch of as many members", run_apply},
        {"set each member", run_set},
        {"get each member or item", run_get},
        {"copy, remove each member or item", run_remove},
        {"find each by its pointer", run_pointer},
        {"visit each by a pattern", run_each},
        {"copy twice, move the content", run_take},
        {"find each item by its name", run_items},
    };
    struct subject subjects[SHAPES];
    for (size_t i = 0; i < SHAPES; i++)
        make(&subjects[i], &shapes[i]);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double worst = 0;
        const char *what = "";
        for (size_t k = 0; k < SHAPES; k++) {
            double ms = milliseconds(rows[i].run, &subjects[k]);
            what = ms > worst ? shapes[k].what : what;
            worst = ms > worst ? ms : worst;
        }
        char text[96];
        snprintf(text, sizeof text, "%s%s, ms", i ? "  " : "JSON of 1 MB, the slowest of 7 shapes: ", rows[i].what);
        printf("%-66s %-18s %10.1f  %s\n", text, "< 50", worst, what);
    }
    for (size_t i = 0; i < SHAPES; i++)
        drop(&subjects[i]);
    return 0;
}
