// SPDX-License-Identifier: Apache-2.0
// Objects broken in one way each: every field missing, of every other type, or at a limit.

#include "core/conform/child.h"

#include "core/json/pointer.h"

#define ALIKE 1 // broken fields for each pattern ("/spec/items/*/name", "/status/conditions/Ready/status") and type
#define ALIKE_STATUS 2 // the same in statuses: their meaning differs with the same fields

enum applies { TO_ALL = 0, TO_STRINGS = 1, TO_NUMBERS = 2, TO_ARRAYS = 4, TO_OBJECTS = 8 };

#define UNKNOWN 16u // also for a place that the objects lack

struct mutation {
    const char *text; // JSON; NULL: remove the field
    const char *words;
    unsigned applies;
};

static const struct mutation mutations[] = {
    {NULL, "is missing", TO_ALL},
    {"null", "is null", TO_ALL},
    {"true", "is a boolean", UNKNOWN},
    {"7", "is a number", UNKNOWN},
    {"123456789012345678901234567890", "is a huge number", UNKNOWN},
    {"\"x\"", "is a string", UNKNOWN},
    {"\"\"", "is an empty string", TO_ALL},
    {"[]", "is an empty array", UNKNOWN},
    {"{}", "is an empty object", UNKNOWN},
    {"\"a\\u0000b\"", "contains U+0000", TO_STRINGS},
    {"\"a\\u0001\\n\\u001f\\u007f\\u0085\"", "contains control characters", TO_STRINGS},
    {"\"\\ud83d\\ude00 \\u00e9 \\u202e\"", "contains an astral character", TO_STRINGS},
    {"\"\\ud800 \\udc00x\"", "contains lone surrogates", TO_STRINGS},
    {"\"%s%n%d\"", "contains formats of printf", TO_STRINGS | UNKNOWN},
    {"\"0001-01-01T00:00:00Z\"", "is the first time there is", TO_STRINGS},
    {"\"9999-12-31T23:59:59Z\"", "is the last time there is", TO_STRINGS},
    {"-1", "is -1", TO_NUMBERS | UNKNOWN},
    {"0", "is 0", TO_NUMBERS},
    {"2147483648", "is 2^31", TO_NUMBERS},
    {"9223372036854775807", "is the largest 64-bit integer", TO_NUMBERS | UNKNOWN},
    {"-9223372036854775808", "is the smallest 64-bit integer", TO_NUMBERS},
    {"9223372036854775808", "is no 64-bit integer any more", TO_NUMBERS},
    {"1e400", "is no finite double", TO_NUMBERS},
    {"0.5", "is a fraction", TO_NUMBERS},
    {"[null]", "has null as an item", TO_ARRAYS},
    {"[[],\"x\",7,true]", "has items of wrong types", TO_ARRAYS | UNKNOWN},
    {"[{}]", "has an empty object as an item", TO_ARRAYS | UNKNOWN},
    {"{\"\":null,\"~/\":{}}", "has members with odd names", TO_OBJECTS},
};

#define N_MUTATIONS (sizeof(mutations) / sizeof(mutations[0]))

enum heavy {
    HEAVY_TEXT,
    HEAVY_NAME,
    HEAVY_ITEMS,
    HEAVY_MEMBERS,
    HEAVY_DEEP_ARRAY,
    HEAVY_DEEP_OBJECT,
    HEAVY_LONG,
    HEAVY_MANY,
    N_HEAVY
};

// A large value as JSON: `start`, `count` units, `end`.
static const struct {
    const char *words;
    const char *start, *unit, *end;
    const char *rest; // of a unit, after the unit's number; NULL: without a number
    size_t count;     // 0: as deep as the document may get
    char closing;     // bracket for each unit, at the end
} heavies[N_HEAVY] = {
    [HEAVY_TEXT] = {"is a string of 10 MB", "\"", "xxxxxxxxxxxxxxxx", "\"", .count = (size_t)10 << 16},
    [HEAVY_NAME] = {"has a name of 300 characters", "{\"", "xxxxxxxxxx", "\":\"x\"}", .count = 30},
    [HEAVY_ITEMS] = {"has 100,000 items", "[", "{\"type\":\"T", "{}]", "\",\"status\":\"True\"},", .count = 99999},
    [HEAVY_MEMBERS] = {"has 100,000 members", "{", "\"k", "\"\":\"\"}", "\":\"v\",", .count = 99999},
    [HEAVY_LONG] = {"is a string of 100 KB", "\"", "xxxxxxxxxxxxxxxx", "\"", .count = (size_t)100 << 6},
    [HEAVY_MANY] = {"has 2,000 items", "[", "{\"name\":\"n", "{}]", "\",\"type\":\"T\"},", .count = 1999},
    [HEAVY_DEEP_ARRAY] = {"is an array of the deepest nesting", "", "[", "1", .closing = ']'},
    [HEAVY_DEEP_OBJECT] = {"is an object of the deepest nesting", "", "{\"a\":", "1", .closing = '}'},
};

// A field in the list.
struct seen {
    uint64_t hash; // of pattern and type
    size_t count;
};

struct mutation_list {
    struct run *run;
    struct trial like; // of the new trials
    struct seen *seen;
    size_t n_seen;
    bool failed;
};

// The number of earlier fields of this pattern and type; SIZE_MAX when out of memory.
static size_t count_field(struct mutation_list *listing, const char *pattern, enum json_type type, uint64_t salt) {
    uint64_t hash = text_hash(TEXT_HASH ^ ((uint64_t)type << 32) ^ salt, pattern);
    for (size_t i = 0; i < listing->n_seen; i++)
        if (listing->seen[i].hash == hash)
            return listing->seen[i].count++;
    struct seen *new = array_next(&listing->seen, listing->n_seen, sizeof *new);
    listing->failed |= !new;
    if (!new)
        return SIZE_MAX;
    *new = (struct seen){hash, 1};
    listing->n_seen++;
    return 0;
}

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

// `pattern` is the pointer with "*" for each index.
static void list_value(struct mutation_list *listing, struct buffer *at, struct buffer *pattern,
                       const struct json *value) {
    static const unsigned traits[] = {
        [JSON_NUMBER] = TO_NUMBERS, [JSON_STRING] = TO_STRINGS, [JSON_ARRAY] = TO_ARRAYS, [JSON_OBJECT] = TO_OBJECTS};
    if (at->len > 0) {
        size_t before = count_field(listing, pattern->data, json_type(value), 0);
        bool condition = text_has_prefix(pattern->data, "/status/conditions/");
        size_t alike = text_has_prefix(pattern->data, "/status") && !condition ? ALIKE_STATUS : ALIKE;
        for (size_t i = 0; i < N_MUTATIONS && before < alike; i++)
            if ((mutations[i].applies & ~UNKNOWN) == TO_ALL || (mutations[i].applies & traits[json_type(value)]) != 0)
                list_trial(listing, TRIAL_BROKEN, i, at->data);
    }
    if (!json_is_container(value))
        return;
    size_t len = at->len, pattern_len = pattern->len, index = 0;
    for (const struct json *child = json_first(value); child; child = json_next(child), index++) {
        const char *key = json_key(child);
        // Conditions of different types have different meanings.
        const char *type = key ? NULL : json_string(json_get(child, "type"));
        bool done = pointer_append_child(at, key, index) && pointer_append(pattern, key ? key : type ? type : "*");
        listing->failed |= !done;
        if (done)
            list_value(listing, at, pattern, child);
        buffer_truncate(at, len);
        buffer_truncate(pattern, pattern_len);
    }
}

#define DEEP (1u << HEAVY_NAME | 1u << HEAVY_DEEP_ARRAY | 1u << HEAVY_DEEP_OBJECT)
#define WIDE (1u << HEAVY_TEXT | 1u << HEAVY_ITEMS | 1u << HEAVY_MEMBERS)

// `which`: bits of enum heavy.
static void list_heavy(struct mutation_list *listing, const char *pointer, unsigned which) {
    if (!pointer || strstr(pointer, "/*"))
        return;
    size_t before = count_field(listing, pointer, JSON_NULL, 1);
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
        if (!life_is_step(step) || (last && life_is_same(last, step)) ||
            !life_is_of(documents, step, subject->document))
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
        AUTO_BUFFER(pattern, 4096);
        listing->failed |= !object;
        if (!object)
            return;
        list_value(listing, &at, &pattern, object);
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
        listing.like.subject = 0; // a given one if there is one
        for (size_t i = 0; i < BOARD_PLACES; i++)
            list_trial(&listing, TRIAL_PLACE, i, NULL);
        list_trial(&listing, TRIAL_CROWD, 0, NULL);
        failed |= listing.failed;
        free(listing.seen);
    }
    if (run->trials.count > BOARD_TRIALS)
        run->trials.count = BOARD_TRIALS;
    return failed ? error_no_memory() : NULL;
}

// A place that the objects have gets odd values by TRIAL_BROKEN already. The types of another are unknown.
bool mutation_next(bool has, enum trial_type type, size_t *how) {
    static const unsigned large =
        1u << HEAVY_DEEP_ARRAY | 1u << HEAVY_DEEP_OBJECT | 1u << HEAVY_LONG | 1u << HEAVY_MANY;
    if (type == TRIAL_HEAVY) {
        while (*how < N_HEAVY && (large & (1u << *how)) == 0)
            ++*how;
        return *how < N_HEAVY;
    }
    while (*how < N_MUTATIONS && (!mutations[*how].text || (mutations[*how].applies & UNKNOWN) == 0))
        ++*how;
    return !has && *how < N_MUTATIONS;
}

// As deep as the document may still get at the pointer.
static size_t depth_below(const char *pointer) {
    size_t depth = JSON_MAX_DEPTH - 1;
    for (const char *at = pointer; *at != '\0'; at++)
        depth -= *at == '/' && depth > 1;
    return depth - 1;
}

static struct json *heavy_value(size_t how, const char *pointer) {
    AUTO_BUFFER(text, (size_t)64 << 20);
    size_t count = heavies[how].count > 0 ? heavies[how].count : depth_below(pointer);
    buffer_text(&text, heavies[how].start);
    for (size_t i = 0; i < count; i++) {
        buffer_text(&text, heavies[how].unit);
        if (heavies[how].rest)
            buffer_printf(&text, "%zu%s", i, heavies[how].rest);
    }
    buffer_text(&text, heavies[how].end);
    for (size_t i = 0; i < count && heavies[how].closing != '\0'; i++)
        buffer_char(&text, heavies[how].closing);
    return text.failed ? NULL : parsed(text.data);
}

struct json *trial_object(const struct run *run, const struct trial *trial, struct buffer *words) {
    const struct subject *subject = &run->tested[trial->tested].subjects[trial->subject];
    struct json *object = subject_with(subject, trial->state);
    buffer_text(words, subject->source);
    if (trial->state != NO_STATE && strcmp(subject->states[trial->state].source, subject->source) != 0)
        buffer_printf(words, " with the status of %s", subject->states[trial->state].source);
    if ((trial->type != TRIAL_BROKEN && trial->type != TRIAL_HEAVY) || !object)
        return object;
    bool heavy = trial->type == TRIAL_HEAVY;
    const char *text = heavy ? NULL : mutations[trial->how].text;
    buffer_printf(words, ": %s %s", trial->pointer, heavy ? heavies[trial->how].words : mutations[trial->how].words);
    if (heavy || text)
        pointer_set(object, trial->pointer, heavy ? heavy_value(trial->how, trial->pointer) : parsed(text));
    else
        pointer_remove(object, trial->pointer);
    return object;
}
