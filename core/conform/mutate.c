// SPDX-License-Identifier: Apache-2.0
// Objects broken in one way each: every field missing, of every other type, or at a limit.
#include "core/base/memory.h"
#include "core/conform/child.h"

#include "core/base/text.h"
#include "core/json/pointer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIKE 1        // broken fields for each pattern ("/spec/items/*/name") and type
#define ALIKE_STATUS 2 // the same in statuses: their meaning differs with the same fields
#define HUGE_TEXT ((size_t)10 << 20)
#define HUGE_COUNT 100000
#define LONG_NAME 300

enum applies { TO_ALL = 0, TO_STRINGS = 1, TO_NUMBERS = 2, TO_ARRAYS = 4, TO_OBJECTS = 8 };

struct mutation {
    const char *text; // JSON; NULL: remove the field
    const char *words;
    unsigned applies;
};

static const struct mutation mutations[] = {
    {NULL, "is missing", TO_ALL},
    {"null", "is null", TO_ALL},
    {"true", "is a boolean", TO_ALL},
    {"7", "is a number", TO_ALL},
    {"123456789012345678901234567890", "is a huge number", TO_ALL},
    {"\"x\"", "is a string", TO_ALL},
    {"\"\"", "is an empty string", TO_ALL},
    {"[]", "is an empty array", TO_ALL},
    {"{}", "is an empty object", TO_ALL},
    {"\"a\\u0000b\"", "contains U+0000", TO_STRINGS},
    {"\"a\\u0001\\n\\u001f\\u007f\\u0085\"", "contains control characters", TO_STRINGS},
    {"\"\\ud83d\\ude00 \\u00e9 \\u202e\"", "contains an astral character", TO_STRINGS},
    {"\"\\ud800 \\udc00x\"", "contains lone surrogates", TO_STRINGS},
    {"\"%s%n%d\"", "contains formats of printf", TO_STRINGS},
    {"\"0001-01-01T00:00:00Z\"", "is the first time there is", TO_STRINGS},
    {"\"9999-12-31T23:59:59Z\"", "is the last time there is", TO_STRINGS},
    {"-1", "is -1", TO_NUMBERS},
    {"0", "is 0", TO_NUMBERS},
    {"2147483648", "is 2^31", TO_NUMBERS},
    {"9223372036854775807", "is the largest 64-bit integer", TO_NUMBERS},
    {"-9223372036854775808", "is the smallest 64-bit integer", TO_NUMBERS},
    {"9223372036854775808", "is no 64-bit integer any more", TO_NUMBERS},
    {"1e400", "is no finite double", TO_NUMBERS},
    {"0.5", "is a fraction", TO_NUMBERS},
    {"[null]", "has null as an item", TO_ARRAYS},
    {"[[],\"x\",7,true]", "has items of wrong types", TO_ARRAYS},
    {"[{}]", "has an empty object as an item", TO_ARRAYS},
    {"{\"\":null,\"~/\":{}}", "has members with odd names", TO_OBJECTS},
};

#define N_MUTATIONS (sizeof(mutations) / sizeof(mutations[0]))

enum heavy { HEAVY_TEXT, HEAVY_NAME, HEAVY_ITEMS, HEAVY_MEMBERS, HEAVY_DEEP_ARRAY, HEAVY_DEEP_OBJECT, N_HEAVY };

static const char *const heavy_words[N_HEAVY] = {
    "is a string of 10 MB", "has a name of 300 characters",       "has 100,000 items",
    "has 100,000 members",  "is an array of the deepest nesting", "is an object of the deepest nesting",
};

// Fields in the list, by pattern and type.
struct seen {
    uint64_t *hashes;
    uint8_t *counts;
    size_t count;
};

// The number of earlier fields of this pattern and type; (size_t)-1 when out of memory.
static size_t see(struct seen *seen, const char *pattern, enum json_type type, uint64_t salt) {
    uint64_t hash = text_hash(TEXT_HASH ^ ((uint64_t)type << 32) ^ salt, pattern);
    for (size_t i = 0; i < seen->count; i++)
        if (seen->hashes[i] == hash)
            return seen->counts[i] < UINT8_MAX ? seen->counts[i]++ : seen->counts[i];
    uint64_t *new_hash = array_next(&seen->hashes, seen->count, sizeof *new_hash);
    uint8_t *new_count = array_next(&seen->counts, seen->count, sizeof *new_count);
    if (!new_hash || !new_count)
        return (size_t)-1;
    *new_hash = hash;
    *new_count = 1;
    seen->count++;
    return 0;
}

struct mutation_list {
    struct run *run;
    struct trial like; // of the new trials
    struct seen seen;
    bool failed;
};

static void list_trial(struct mutation_list *listing, enum trial_type type, size_t how, const char *pointer) {
    struct trials *trials = &listing->run->trials;
    struct trial *trial = array_next(&trials->list, trials->count, sizeof *trial);
    listing->failed |= !trial;
    if (!trial)
        return;
    *trial = listing->like;
    trial->type = type;
    trial->how = how;
    trial->pointer = pointer ? strdup(pointer) : NULL;
    listing->failed |= pointer && !trial->pointer;
    trials->count++;
}

static unsigned traits(const struct json *value) {
    switch (json_type(value)) {
    case JSON_STRING:
        return TO_STRINGS;
    case JSON_NUMBER:
        return TO_NUMBERS;
    case JSON_ARRAY:
        return TO_ARRAYS;
    case JSON_OBJECT:
        return TO_OBJECTS;
    case JSON_NULL:
    case JSON_BOOL:
        break;
    }
    return 0;
}

// "/spec/items/*/name" of "/spec/items/3/name".
static void pattern_of(const char *pointer, char *out, size_t size) {
    size_t len = 0;
    while (*pointer != '\0' && len + 2 < size) {
        size_t segment = 1 + strcspn(pointer + 1, "/");
        bool number = segment > 1 && strspn(pointer + 1, "0123456789") == segment - 1;
        for (size_t i = 0; i < segment && !number && len + 2 < size; i++)
            out[len++] = pointer[i];
        if (number) {
            out[len++] = '/';
            out[len++] = '*';
        }
        pointer += segment;
    }
    out[len] = '\0';
}

static void list_value(struct mutation_list *listing, struct buffer *at, const struct json *value) {
    if (at->len > 0) {
        char pattern[512];
        pattern_of(at->data, pattern, sizeof(pattern));
        size_t before = see(&listing->seen, pattern, json_type(value), 0);
        size_t alike = text_has_prefix(pattern, "/status") ? ALIKE_STATUS : ALIKE;
        listing->failed |= before == (size_t)-1;
        for (size_t i = 0; i < N_MUTATIONS && before < alike; i++)
            if (mutations[i].applies == TO_ALL || (mutations[i].applies & traits(value)) != 0)
                list_trial(listing, TRIAL_BROKEN, i, at->data);
    }
    if (!json_is_container(value))
        return;
    size_t len = at->len, index = 0;
    for (const struct json *child = json_first(value); child; child = json_next(child), index++) {
        bool done = pointer_append_child(at, json_key(child), index);
        listing->failed |= !done;
        if (done)
            list_value(listing, at, child);
        buffer_truncate(at, len);
    }
}

#define DEEP (1u << HEAVY_NAME | 1u << HEAVY_DEEP_ARRAY | 1u << HEAVY_DEEP_OBJECT)
#define WIDE (1u << HEAVY_TEXT | 1u << HEAVY_ITEMS | 1u << HEAVY_MEMBERS)

// `which`: bits of enum heavy.
static void list_heavy(struct mutation_list *listing, const char *pointer, unsigned which) {
    if (!pointer || strstr(pointer, "/*"))
        return;
    size_t before = see(&listing->seen, pointer, JSON_NULL, 1);
    listing->failed |= before == (size_t)-1;
    for (size_t i = 0; i < N_HEAVY && before == 0; i++)
        if ((which & (1u << i)) != 0)
            list_trial(listing, TRIAL_HEAVY, i, pointer);
}

// Fields that the adapter reads, by the data of the kind. (Labels and annotations are maps of strings: every API
// server checks that.)
static void list_heavies(struct mutation_list *listing, const wharf_kind *kind) {
    bool rules = kind->phases && kind->phases[0].pointer;
    const wharf_carried *carried = kind->carried;
    list_heavy(listing, rules ? kind->phases[0].pointer : "/status/conditions", DEEP | WIDE);
    while (carried && carried->pointer && strstr(carried->pointer, "/*"))
        carried++;
    list_heavy(listing, carried ? carried->pointer : NULL, DEEP | 1u << HEAVY_ITEMS);
    list_heavy(listing, "/metadata/labels", 1u << HEAVY_NAME);
    list_heavy(listing, "/metadata/annotations", 1u << HEAVY_NAME);
    list_heavy(listing, "/spec", DEEP);
    list_heavy(listing, "/status", DEEP);
    list_heavy(listing, kind->suspend, DEEP);
}

static void list_lives(struct mutation_list *listing, const struct subject *subject) {
    const struct documents *documents = listing->run->documents;
    const struct document *last = NULL;
    for (size_t i = 0; i < documents->count; i++) {
        const struct document *step = &documents->list[i];
        if (strcmp(step->folder, subject->document->folder) != 0 || !life_is_step(step) ||
            (last && life_is_same(last, step)))
            continue;
        list_trial(listing, TRIAL_LIFE, i, NULL);
        last = step;
    }
}

static void list_subject(struct mutation_list *listing, const struct tested *tested, const struct subject *subject) {
    for (size_t i = 0; i <= subject->n_states; i++) {
        listing->like.state = i == 0 ? NO_STATE : i - 1;
        list_trial(listing, TRIAL_WHOLE, 0, NULL);
    }
    for (size_t i = 0; i <= subject->n_states; i++) {
        // The last state has the most fields: first.
        listing->like.state = i == subject->n_states ? NO_STATE : subject->n_states - 1 - i;
        AUTO_JSON object = subject_with(subject, listing->like.state);
        AUTO_BUFFER(at, 4096);
        listing->failed |= !object;
        if (!object)
            return;
        list_value(listing, &at, object);
        if (i == 0)
            list_heavies(listing, &tested->kind.abi);
    }
}

struct error *trials_list(struct run *run) {
    bool failed = false;
    for (size_t t = 0; t < run->n_tested; t++) {
        struct mutation_list listing = {.run = run, .like = {.tested = (uint32_t)t}};
        for (size_t s = 0; s < run->tested[t].n_subjects; s++) {
            listing.like.subject = (uint32_t)s;
            listing.like.state = NO_STATE;
            if (run->tested[t].subjects[s].document)
                list_lives(&listing, &run->tested[t].subjects[s]);
            list_subject(&listing, &run->tested[t], &run->tested[t].subjects[s]);
        }
        list_trial(&listing, TRIAL_CROWD, 0, NULL);
        failed |= listing.failed;
        free(listing.seen.hashes);
        free(listing.seen.counts);
    }
    if (run->trials.count > BOARD_TRIALS)
        run->trials.count = BOARD_TRIALS;
    return failed ? error_no_memory() : NULL;
}

static struct json *many(bool members) {
    AUTO_BUFFER(text, (size_t)64 << 20);
    buffer_char(&text, members ? '{' : '[');
    for (size_t i = 0; i < HUGE_COUNT; i++) {
        const char *comma = i > 0 ? "," : "";
        if (members)
            buffer_printf(&text, "%s\"k%zu\":\"v\"", comma, i);
        else
            buffer_printf(&text, "%s{\"type\":\"T%zu\",\"status\":\"True\"}", comma, i);
    }
    buffer_char(&text, members ? '}' : ']');
    return text.failed ? NULL : parsed(text.data);
}

// As deep as the document may still get at the pointer.
static struct json *deep(const char *pointer, bool objects) {
    size_t depth = JSON_MAX_DEPTH - 1;
    for (const char *at = pointer; *at != '\0'; at++)
        depth -= *at == '/' && depth > 1;
    AUTO_BUFFER(text, 65536);
    for (size_t i = 0; i + 1 < depth; i++)
        buffer_text(&text, objects ? "{\"a\":" : "[");
    buffer_text(&text, "1");
    for (size_t i = 0; i + 1 < depth; i++)
        buffer_char(&text, objects ? '}' : ']');
    return text.failed ? NULL : parsed(text.data);
}

static struct json *filled_text(size_t len) {
    char *text = malloc(len);
    if (!text)
        return NULL;
    memset(text, 'x', len);
    struct json *value = json_new_string_len(text, len);
    free(text);
    return value;
}

static struct json *heavy_value(enum heavy how, const char *pointer) {
    switch (how) {
    case HEAVY_TEXT:
        return filled_text(HUGE_TEXT);
    case HEAVY_NAME: {
        struct json *object = json_new_object();
        AUTO_JSON name = filled_text(LONG_NAME);
        if (name && json_set(object, json_string(name), json_new_string("x")))
            return object;
        json_free(object);
        return NULL;
    }
    case HEAVY_ITEMS:
    case HEAVY_MEMBERS:
        return many(how == HEAVY_MEMBERS);
    case HEAVY_DEEP_ARRAY:
    case HEAVY_DEEP_OBJECT:
        return deep(pointer, how == HEAVY_DEEP_OBJECT);
    case N_HEAVY:
        break;
    }
    return NULL;
}

struct json *trial_object(const struct run *run, const struct trial *trial, struct buffer *words) {
    const struct subject *subject = &run->tested[trial->tested].subjects[trial->subject];
    struct json *object = subject_with(subject, trial->state);
    buffer_text(words, subject->source);
    if (trial->state != NO_STATE && strcmp(subject->state_sources[trial->state], subject->source) != 0)
        buffer_printf(words, " with the status of %s", subject->state_sources[trial->state]);
    if ((trial->type != TRIAL_BROKEN && trial->type != TRIAL_HEAVY) || !object)
        return object;
    const char *what = trial->type == TRIAL_HEAVY ? heavy_words[trial->how] : mutations[trial->how].words;
    buffer_printf(words, ": %s %s", trial->pointer, what);
    if (trial->type == TRIAL_HEAVY) {
        pointer_set(object, trial->pointer, heavy_value((enum heavy)trial->how, trial->pointer));
        return object;
    }
    const struct mutation *mutation = &mutations[trial->how];
    if (!mutation->text) {
        pointer_remove(object, trial->pointer);
        return object;
    }
    pointer_set(object, trial->pointer, parsed(mutation->text));
    return object;
}
