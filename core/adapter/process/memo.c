// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/process/memo.h"

#include "core/base/memory.h"
#include "core/json/pointer.h"

struct memo_reads {
    struct call_reads of[CALL_WATCHED]; // with texts of its own
};

struct memo_entry {
    int64_t at_ns;
    size_t key_len;
    struct buffer answer;
    char key[];
};

static void entry_free(struct memo_entry *entry) {
    if (entry)
        buffer_free(&entry->answer);
    free(entry);
}

static void reads_free(struct memo_reads *reads) {
    for (size_t i = 0; reads && i < CALL_WATCHED; i++)
        for (size_t j = 0; j < reads->of[i].count; j++)
            free((char *)reads->of[i].pointers[j]);
    free(reads);
}

void memo_clear(struct memo *memo) {
    for (size_t i = 0; i < MEMO_PLACES; i++)
        entry_free(TAKE(memo->entries[i]));
    for (size_t kind = 0; kind < MEMO_KINDS; kind++)
        for (size_t function = 0; function < ADAPTER_FUNCTIONS; function++)
            reads_free(TAKE(memo->reads[kind][function]));
    buffer_free(&memo->key);
}

// A list that is full, or without memory, is everything.
static void add_pointer(struct call_reads *reads, const char *pointer) {
    for (size_t i = 0; i < reads->count; i++)
        if (strcmp(reads->pointers[i], pointer) == 0)
            return;
    char *copy = reads->count < CALL_POINTERS ? strdup(pointer) : NULL;
    if (copy)
        reads->pointers[reads->count++] = copy;
    else
        reads->all = true;
}

void memo_learn(struct memo *memo, const struct buffer *answer) {
    struct call_answer read;
    struct wire wire = frame_content(answer);
    bool fine = call_read_answer(&wire, &read);
    memo->blind |= !fine;
    if (!fine || read.kind >= MEMO_KINDS || read.function >= ADAPTER_FUNCTIONS)
        return;
    struct memo_reads **place = &memo->reads[read.kind][read.function];
    *place = *place ? *place : calloc(1, sizeof **place);
    memo->blind |= !*place;
    for (size_t i = 0; *place && i < CALL_WATCHED; i++) {
        (*place)->of[i].all |= read.reads[i].all;
        for (size_t j = 0; j < read.reads[i].count; j++)
            add_pointer(&(*place)->of[i], read.reads[i].pointers[j]);
    }
}

// A mirror and an update have the object's name in what they change, so no two are the same.
static bool is_remembered(const struct call_question *question) {
    bool function = question->function == FUNCTION_PHASE || question->function == FUNCTION_ACCEPT ||
                    question->function == FUNCTION_STATUS || question->function == FUNCTION_DEPENDENCIES;
    return function && question->kind < MEMO_KINDS && json_is(question->documents[0], JSON_OBJECT);
}

static const struct memo_reads *find_reads(const struct memo *memo, const struct call_question *question) {
    return is_remembered(question) && !memo->blind ? memo->reads[question->kind][question->function] : NULL;
}

static void put_phase(struct buffer *out, const wharf_phase *phase) {
    wire_put_u32(out, phase->phase);
    wire_put_text(out, phase->reason);
    wire_put_text(out, phase->message);
    wire_put_i64(out, phase->since_ns);
    wire_put_u32(out, phase->not_started);
}

static bool put_value(struct buffer *out, const struct json *value) {
    wire_put_u8(out, value ? 1 : 0);
    return !value || json_pack(value, out);
}

static bool put_reads(struct buffer *out, const struct json *document, const struct call_reads *reads) {
    if (reads->all)
        return false;
    wire_put_u8(out, document ? 1 : 0);
    for (size_t i = 0; i < reads->count; i++)
        if (!put_value(out, pointer_find(document, reads->pointers[i])))
            return false;
    return true;
}

// False: it cannot be remembered.
static bool make_key(const struct call_question *question, const struct memo_reads *reads, struct buffer *out) {
    const wharf_call *call = question->call;
    buffer_reset(out);
    out->max = MEMO_KEY_MAX;
    wire_put_u8(out, question->kind);
    wire_put_u8(out, question->function);
    wire_put_text(out, call->cluster);
    wire_put_u32(out, call->attempt);
    wire_put_text(out, call->version);
    wire_put_u32(out, call->mirror_state);
    if (question->phase)
        put_phase(out, question->phase);
    for (size_t i = 0; i < CALL_WATCHED; i++) {
        wire_put_u32(out, reads->of[i].count);
        if (!put_reads(out, question->documents[i], &reads->of[i]))
            return false;
    }
    return put_value(out, question->changed) && !out->failed;
}

static size_t place_of(const struct buffer *key) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < key->len; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, key->data + i, size_least(key->len - i, sizeof word));
        hash = (hash ^ word) * UINT64_C(1099511628211);
        hash ^= hash >> 29;
    }
    return (size_t)(hash % MEMO_PLACES);
}

const struct buffer *memo_find(struct memo *memo, const struct call_question *question, int64_t now_ns) {
    const struct memo_reads *reads = find_reads(memo, question);
    if (!reads || !make_key(question, reads, &memo->key))
        return NULL;
    const struct memo_entry *entry = memo->entries[place_of(&memo->key)];
    bool same = entry && entry->key_len == memo->key.len && memcmp(entry->key, memo->key.data, entry->key_len) == 0;
    return same && now_ns - entry->at_ns < MEMO_NS ? &entry->answer : NULL;
}

void memo_keep(struct memo *memo, const struct call_question *question, const struct buffer *answer, int64_t now_ns) {
    struct call_answer read;
    struct wire wire = frame_content(answer);
    const struct memo_reads *reads = find_reads(memo, question);
    // The question is as it was, and the function may have read more than any before.
    if (!reads || answer->len > MEMO_ANSWER_MAX || !call_read_answer(&wire, &read) || read.n_logs > 0 ||
        read.lost_logs > 0 || !make_key(question, reads, &memo->key))
        return;
    struct memo_entry *entry = malloc(sizeof *entry + memo->key.len);
    if (!entry)
        return;
    *entry = (struct memo_entry){.at_ns = now_ns, .key_len = memo->key.len};
    memcpy(entry->key, memo->key.data, memo->key.len);
    buffer_init(&entry->answer, MEMO_ANSWER_MAX);
    if (!buffer_append(&entry->answer, answer->data, answer->len)) {
        entry_free(entry);
        return;
    }
    struct memo_entry **place = &memo->entries[place_of(&memo->key)];
    entry_free(*place);
    *place = entry;
}
