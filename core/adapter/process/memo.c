// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/process/memo.h"

#include "core/base/memory.h"

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

void memo_clear(struct memo *memo) {
    for (size_t i = 0; i < MEMO_PLACES; i++)
        entry_free(TAKE(memo->entries[i]));
    buffer_free(&memo->key);
}

static bool is_remembered(const struct call_question *question) {
    return !question->changed && question->kind < MEMO_KINDS && question->function < ADAPTER_FUNCTIONS &&
           json_is(question->documents[0], JSON_OBJECT) && !question->documents[1];
}

static void put_phase(struct buffer *out, const wharf_phase *phase) {
    wire_put_u32(out, phase->phase);
    wire_put_text(out, phase->reason);
    wire_put_text(out, phase->message);
    wire_put_i64(out, phase->since_ns);
    wire_put_u32(out, phase->not_started);
}

// False: it cannot be remembered.
static bool make_key(const struct call_question *question, unsigned sections, struct buffer *out) {
    const wharf_call *call = question->call;
    buffer_reset(out);
    out->max = MEMO_KEY_MAX;
    wire_put_u8(out, question->kind);
    wire_put_u8(out, question->function);
    wire_put_u8(out, sections);
    wire_put_text(out, call->cluster);
    wire_put_u32(out, call->attempt);
    wire_put_text(out, call->version);
    wire_put_u32(out, call->mirror_state);
    if (question->phase)
        put_phase(out, question->phase);
    for (unsigned i = 0; i < CALL_SECTIONS; i++) {
        const struct json *section =
            (sections & 1U << i) != 0 ? json_get(question->documents[0], call_section_names[i]) : NULL;
        wire_put_u8(out, section ? 1 : 0);
        if (section && !json_print(section, out))
            return false;
    }
    return !out->failed;
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
    buffer_reset(&memo->key);
    if (!is_remembered(question))
        return NULL;
    unsigned sections = memo->sections[question->kind][question->function];
    if (sections == 0 || sections == CALL_SECTIONS_ALL || !make_key(question, sections, &memo->key)) {
        buffer_reset(&memo->key);
        return NULL;
    }
    const struct memo_entry *entry = memo->entries[place_of(&memo->key)];
    bool same = entry && entry->key_len == memo->key.len && memcmp(entry->key, memo->key.data, entry->key_len) == 0;
    return same && now_ns - entry->at_ns < MEMO_NS ? &entry->answer : NULL;
}

void memo_keep(struct memo *memo, const struct call_question *question, const struct buffer *answer, int64_t now_ns) {
    struct call_answer read;
    struct wire wire = frame_content(answer);
    if (!is_remembered(question) || answer->len > MEMO_ANSWER_MAX || !call_read_answer(&wire, &read))
        return;
    unsigned char *sections = &memo->sections[question->kind][question->function];
    bool other = *sections != read.sections; // the key is about the former ones
    *sections = (unsigned char)read.sections;
    if (read.sections == CALL_SECTIONS_ALL || read.n_logs > 0 || read.lost_logs > 0 ||
        ((other || memo->key.len == 0) && !make_key(question, read.sections, &memo->key)))
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
