// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"

#define LETTERS_AND_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

void text_list_free(char **list) {
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
}

void text_cleanup(char **text) {
    (sensitive_section ? sensitive_free : free)(*text);
    *text = NULL;
}

char *text_vformat(const char *format, va_list args) {
    char *text = NULL;
    return vasprintf(&text, format, args) < 0 ? NULL : text;
}

char *text_format(const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = text_vformat(format, args);
    va_end(args);
    return text;
}

bool text_is_within(const char *text, size_t max) {
    return strnlen(text, max + 1) <= max;
}

bool text_has_prefix(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_has_suffix(const char *text, const char *suffix) {
    size_t len = strlen(text), suffix_len = strlen(suffix);
    return len >= suffix_len && strcmp(text + len - suffix_len, suffix) == 0;
}

bool text_equal(const char *a, const char *b) {
    if (!a || !b)
        return a == b;
    return strcmp(a, b) == 0;
}

bool text_set(char **slot, const char *text) {
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy)
        return false;
    free(*slot);
    *slot = copy;
    return true;
}

bool text_set_filled(char **slot, const char *text) {
    return text_set(slot, text && *text ? text : NULL);
}

void text_copy(char *out, size_t size, const char *text) {
    if (size == 0)
        return;
    size_t len = strnlen(text, size);
    if (len == size) {
        len = size - 1;
        while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80)
            len--;
    }
    memcpy(out, text, len);
    out[len] = '\0';
}

void text_shorten(char *out, size_t size, const char *text) {
    static const char ellipsis[] = "\u2026";
    text_copy(out, size, text);
    if (size <= sizeof ellipsis || strlen(text) < size)
        return;
    text_copy(out, size - strlen(ellipsis), text);
    size_t cut = strlen(out), end = cut;
    while (end > 0 && out[end] != ' ')
        end--;
    end = end > 0 && text[cut] != ' ' ? end : cut;
    while (end > 0 && strchr(" ,;:", out[end - 1]))
        end--;
    memcpy(out + end, ellipsis, sizeof ellipsis);
}

bool text_to_int64(const char *text, int64_t *value) {
    int64_t sum = 0;
    if (!text || !*text)
        return false;
    for (; *text; text++)
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, *text - '0', &sum))
            return false;
    *value = sum;
    return true;
}

bool text_percent_encode(struct buffer *out, const char *text) {
    static const char hex[] = "0123456789ABCDEF";
    for (; *text && !out->failed; text++) {
        unsigned char c = (unsigned char)*text;
        if (strchr(LETTERS_AND_DIGITS "-._~", *text))
            buffer_char(out, *text);
        else
            buffer_append(out, (char[]){'%', hex[c >> 4], hex[c & 15]}, 3);
    }
    return !out->failed;
}

uint64_t text_hash(uint64_t hash, const char *text) {
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

static uint64_t mix_word(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

uint64_t text_hash_local(uint64_t hash, const char *text) {
    size_t len = strlen(text);
    uint64_t word = 0;
    for (hash = mix_word(hash, len); len >= sizeof word; len -= sizeof word, text += sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = mix_word(hash, word);
    }
    word = 0;
    memcpy(&word, text, len);
    return mix_word(hash, word);
}

bool text_shell_word(struct buffer *out, const char *word) {
    size_t len = strlen(word);
    if (len > 0 && strspn(word, LETTERS_AND_DIGITS "-_./:@%+=") == len)
        return buffer_append(out, word, len);
    buffer_char(out, '\'');
    for (const char *c = word; *c != '\0'; c++)
        if (*c == '\'')
            buffer_text(out, "'\\''");
        else
            buffer_char(out, *c);
    return buffer_char(out, '\'');
}

void text_hex(const unsigned char *bytes, size_t len, char *out) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

bool text_next_word(const char **rest, char separator, const char **word, size_t *len) {
    *word = *rest ? *rest : "";
    const char *end = strchrnul(*word, separator);
    *len = (size_t)(end - *word);
    *rest = *end ? end + 1 + strspn(end + 1, " ") : end;
    return end > *word || *end;
}

char **text_words(const char *list, char separator) {
    const char *rest = list, *word;
    size_t len = 0, count = 0, bytes = 0;
    for (; text_next_word(&rest, separator, &word, &len); count++)
        bytes += len + 1;
    char **words = malloc((count + 1) * sizeof *words + bytes), *at = words ? (char *)(words + count + 1) : NULL;
    rest = list;
    for (size_t i = 0; at && text_next_word(&rest, separator, &word, &len); i++) {
        words[i] = at;
        at = mempcpy(at, word, len);
        *at++ = '\0';
    }
    if (words)
        words[count] = NULL;
    return words;
}

void text_words_cleanup(char ***words) {
    free(*words);
}

bool text_list_has(const char *list, const char *word) {
    size_t len = strlen(word);
    for (const char *at = list ? list : ""; *at; at += strcspn(at, ", "), at += strspn(at, ", "))
        if (len > 0 && strcspn(at, ", ") == len && strncmp(at, word, len) == 0)
            return true;
    return false;
}
