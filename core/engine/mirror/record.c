// SPDX-License-Identifier: Apache-2.0
#include "core/engine/mirror/mirror.h"

#include "core/base/memory.h"

#define VERSION "v2:"
#define DIGITS 8 // of a hash, 6 bits each
#define HASH_MASK ((UINT64_C(1) << (6 * DIGITS)) - 1)

static const char words[] = "-rsw"; // of enum record_word
static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void record_cleanup(struct record *record) {
    free(record->carried.items);
    free(record->values.items);
    free(record->gone.items);
    *record = (struct record){0};
}

static uint64_t fold(uint64_t hash) {
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return (hash ^ (hash >> 29)) & HASH_MASK;
}

uint64_t record_pointer(const char *pointer) {
    return fold(text_hash(TEXT_HASH, pointer));
}

uint64_t record_value(const char *pointer, const struct json *value) {
    return fold(text_hash(TEXT_HASH, pointer) * 31 + json_hash(value));
}

bool record_add(struct record_set *set, uint64_t hash) {
    if (!array_reserve(&set->items, &set->capacity, set->count + 1, sizeof *set->items))
        return false;
    set->items[set->count++] = hash;
    return true;
}

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// Sorts and removes duplicates.
static void sort(struct record_set *set) {
    if (set->count == 0)
        return;
    qsort(set->items, set->count, sizeof *set->items, compare);
    size_t kept = 1;
    for (size_t i = 1; i < set->count; i++)
        if (set->items[i] != set->items[kept - 1])
            set->items[kept++] = set->items[i];
    set->count = kept;
}

static bool has(const struct record_set *sorted, uint64_t hash) {
    return sorted->count > 0 && bsearch(&hash, sorted->items, sorted->count, sizeof hash, compare);
}

static bool read_pointers(struct record *record, const char *text) {
    while (*text) {
        size_t len = strcspn(text, " ");
        AUTO_TEXT pointer = strndup(text, len);
        if (!pointer || !record_add(&record->carried, record_pointer(pointer)))
            return false;
        text += len + strspn(text + len, " ");
    }
    return true;
}

// Reads hashes from a colon up to the next one; stops at anything else. NULL when out of memory.
static const char *read_hashes(const char *text, struct record_set *set) {
    text += *text == ':';
    size_t len = strcspn(text, ":");
    for (const char *at = text; at + DIGITS <= text + len; at += DIGITS) {
        uint64_t hash = 0;
        for (size_t i = 0; i < DIGITS; i++) {
            const char *digit = strchr(alphabet, at[i]);
            if (!digit)
                return text + len;
            hash = hash << 6 | (uint64_t)(digit - alphabet);
        }
        if (set && !record_add(set, hash))
            return NULL;
    }
    return text + len;
}

static const char *read_flags(const char *text, struct record *record) {
    for (; *text && *text != ':'; text++) {
        const char *word = strchr(words + 1, *text);
        record->word = word ? (enum record_word)(word - words) : record->word;
        record->shared |= *text == 'h' || *text == 'w';
        record->bare |= *text == 'k';
    }
    return text;
}

// Drops the oldest pointers after the first `before`, so that at most RECORD_GONE_MAX of the others are left.
static void keep_newest(struct record_set *gone, size_t before) {
    size_t added = gone->count - before, over = added > RECORD_GONE_MAX ? added - RECORD_GONE_MAX : 0;
    if (over > 0)
        memmove(gone->items + before, gone->items + before + over, RECORD_GONE_MAX * sizeof *gone->items);
    gone->count -= over;
}

static bool read_one(struct record *record, const char *text, bool all, bool late) {
    if (!text_has_prefix(text, VERSION)) {
        record->old |= all;
        return read_pointers(record, text);
    }
    struct record other = {0};
    text = read_flags(text + strlen(VERSION), all ? record : &other);
    if (late && other.word == RECORD_SUSPENDED)
        record->word = RECORD_SUSPENDED;
    text = read_hashes(text, &record->carried);
    text = text ? read_hashes(text, all ? &record->values : NULL) : NULL;
    size_t before = record->gone.count;
    if (!text || !read_hashes(text, &record->gone))
        return false;
    keep_newest(&record->gone, before); // more were not written by the host
    return true;
}

bool record_read(struct record *record, const char *known, const char *annotation, bool unsure) {
    const char *first = unsure && annotation ? annotation : known, *second = first == known ? annotation : known;
    bool same = text_equal(known, annotation);
    bool ok = (!first || read_one(record, first, true, false)) &&
              (same || !second || read_one(record, second, !first, first == known));
    sort(&record->carried);
    sort(&record->values);
    return ok;
}

// Removed pointers are few and stay in order of age.
static bool is_gone(const struct record_set *gone, uint64_t hash) {
    for (size_t i = 0; i < gone->count; i++)
        if (gone->items[i] == hash)
            return true;
    return false;
}

bool record_knows(const struct record *record, uint64_t pointer) {
    return has(&record->carried, pointer) || is_gone(&record->gone, pointer);
}

bool record_has_value(const struct record *record, uint64_t value) {
    return has(&record->values, value);
}

bool record_has_all(const struct record_set *set, const struct record_set *some) {
    for (size_t i = 0; i < some->count; i++)
        if (!has(set, some->items[i]))
            return false;
    return true;
}

static bool knows_all(const struct record *record, const struct record_set *some) {
    for (size_t i = 0; i < some->count; i++)
        if (!record_knows(record, some->items[i]))
            return false;
    return true;
}

bool record_covers(const struct record *record, const struct record *other) {
    return record->word == other->word && record->shared == other->shared && record->bare == other->bare &&
           knows_all(record, &other->carried) && knows_all(record, &other->gone);
}

// The newest RECORD_GONE_MAX pointers of `before` that the host no longer carries.
static bool add_gone(struct record *record, const struct record *before) {
    const struct record_set *sets[] = {&before->gone, &before->carried};
    struct record_set *gone = &record->gone;
    size_t i = before->gone.count > RECORD_GONE_MAX ? before->gone.count - RECORD_GONE_MAX : 0;
    for (size_t s = 0; s < 2; s++, i = 0)
        for (size_t most = gone->count + RECORD_GONE_MAX; i < sets[s]->count && gone->count < most; i++) {
            uint64_t hash = sets[s]->items[i];
            if (!has(&record->carried, hash) && !is_gone(gone, hash) && !record_add(gone, hash))
                return false;
        }
    keep_newest(gone, 0);
    return true;
}

static bool print_set(const struct record_set *set, struct buffer *out) {
    buffer_char(out, ':');
    for (size_t i = 0; i < set->count; i++) {
        char digits[DIGITS];
        for (size_t d = 0; d < DIGITS; d++)
            digits[d] = alphabet[set->items[i] >> (6 * (DIGITS - 1 - d)) & 63];
        buffer_append(out, digits, sizeof digits);
    }
    return !out->failed;
}

bool record_print(struct record *record, const struct record *before, struct buffer *out) {
    sort(&record->carried);
    sort(&record->values);
    if (!add_gone(record, before))
        return false;
    buffer_printf(out, VERSION "%c%s%s", words[record->word],
                  record->shared && record->word != RECORD_WORKER ? "h" : "", record->bare ? "k" : "");
    return print_set(&record->carried, out) && print_set(&record->values, out) && print_set(&record->gone, out);
}
