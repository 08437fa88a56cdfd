// SPDX-License-Identifier: Apache-2.0
#include "core/base/selector.h"

#include "core/base/memory.h"
#include "core/base/text.h"

struct scanner {
    const char *at;
    struct error *error;
};

void selector_clear(struct selector *selector) {
    for (size_t i = 0; i < selector->n_terms; i++) {
        struct selector_term *term = &selector->terms[i];
        for (size_t v = 0; v < term->n_values; v++)
            free(term->values[v]);
        free(term->values);
        free(term->key);
    }
    free(selector->terms);
    *selector = (struct selector){.terms = NULL};
}

static void skip_space(struct scanner *scanner) {
    scanner->at += strspn(scanner->at, " \t\r\n");
}

static void expect(struct scanner *scanner, const char *expected) {
    if (!scanner->error)
        scanner->error = error_new(ERROR_INVALID, "found \"%.40s\", expected %s",
                                   *scanner->at ? scanner->at : "the end of the selector", expected);
}

static void fail_for_memory(struct scanner *scanner) {
    if (!scanner->error)
        scanner->error = error_no_memory();
}

static bool skip_symbol(struct scanner *scanner, const char *symbol) {
    skip_space(scanner);
    if (!text_has_prefix(scanner->at, symbol))
        return false;
    scanner->at += strlen(symbol);
    return true;
}

static size_t word_len(const char *text) {
    return strcspn(text, " \t\r\n,()=!<>");
}

// "in" or "notin", not the beginning of a longer word.
static bool take_keyword(struct scanner *scanner, const char *word) {
    skip_space(scanner);
    size_t len = strlen(word);
    if (word_len(scanner->at) != len || strncmp(scanner->at, word, len) != 0)
        return false;
    scanner->at += len;
    return true;
}

// The next word, which `is_valid` accepts; NULL with the error set. An empty value is one.
static char *take_word(struct scanner *scanner, bool (*is_valid)(const char *), const char *expected) {
    skip_space(scanner);
    size_t len = word_len(scanner->at);
    AUTO_TEXT word = strndup(scanner->at, len);
    if (!word)
        fail_for_memory(scanner);
    else if (!is_valid(word))
        expect(scanner, expected);
    scanner->at += scanner->error ? 0 : len;
    return scanner->error ? NULL : TAKE(word);
}

static void add_value(struct scanner *scanner, struct selector_term *term, bool (*is_valid)(const char *),
                      const char *expected) {
    AUTO_TEXT value = take_word(scanner, is_valid, expected);
    char **slot = value ? array_next(&term->values, term->n_values, sizeof *slot) : NULL;
    if (!slot) {
        fail_for_memory(scanner);
        return;
    }
    *slot = TAKE(value);
    term->n_values++;
}

static bool is_number(const char *text) {
    int64_t number;
    return text_to_int64(text, &number);
}

static void scan_value(struct scanner *scanner, struct selector_term *term) {
    bool number = term->op == SELECTOR_GREATER || term->op == SELECTOR_LESS;
    add_value(scanner, term, number ? is_number : text_is_label_value, number ? "a whole number" : "a label value");
}

static void scan_values(struct scanner *scanner, struct selector_term *term) {
    if (!skip_symbol(scanner, "(")) {
        expect(scanner, "values in parentheses");
        return;
    }
    do
        add_value(scanner, term, text_is_label_value, "a label value");
    while (!scanner->error && skip_symbol(scanner, ","));
    if (!scanner->error && !skip_symbol(scanner, ")"))
        expect(scanner, "\",\" or \")\"");
}

static void scan_operator(struct scanner *scanner, struct selector_term *term) {
    static const struct {
        const char *symbol;
        enum selector_operator op;
    } symbols[] = {{"==", SELECTOR_IN},
                   {"=", SELECTOR_IN},
                   {"!=", SELECTOR_NOT_IN},
                   {">", SELECTOR_GREATER},
                   {"<", SELECTOR_LESS}};
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        if (skip_symbol(scanner, symbols[i].symbol)) {
            term->op = symbols[i].op;
            scan_value(scanner, term);
            return;
        }
    bool in = take_keyword(scanner, "in"), not_in = !in && take_keyword(scanner, "notin");
    term->op = in ? SELECTOR_IN : not_in ? SELECTOR_NOT_IN : SELECTOR_EXISTS;
    if (in || not_in)
        scan_values(scanner, term);
}

static void scan_term(struct scanner *scanner, struct selector *out) {
    struct selector_term *term = array_next(&out->terms, out->n_terms, sizeof *term);
    if (!term) {
        fail_for_memory(scanner);
        return;
    }
    out->n_terms++;
    term->op = SELECTOR_ABSENT;
    bool absent = skip_symbol(scanner, "!");
    term->key = take_word(scanner, text_is_label_key, "a label key");
    if (term->key && !absent)
        scan_operator(scanner, term);
}

struct error *selector_parse(const char *text, struct selector *out) {
    struct scanner scanner = {.at = text};
    *out = (struct selector){.terms = NULL};
    if (strlen(text) > SELECTOR_TEXT_MAX)
        return error_new(ERROR_TOO_LARGE, "found %zu bytes, expected at most %zu", strlen(text), SELECTOR_TEXT_MAX);
    skip_space(&scanner);
    if (!*scanner.at)
        return NULL;
    do
        scan_term(&scanner, out);
    while (!scanner.error && skip_symbol(&scanner, ","));
    skip_space(&scanner);
    if (!scanner.error && *scanner.at)
        expect(&scanner, "\",\" or the end");
    if (scanner.error)
        selector_clear(out);
    return scanner.error;
}

// The value of a label, which ends at a comma or the end; NULL: absent.
static const char *find(const char *labels, const char *key, size_t *len) {
    size_t key_len = strlen(key);
    for (const char *at = labels; at && *at;) {
        size_t item = strcspn(at, ",");
        if (item > key_len && at[key_len] == '=' && strncmp(at, key, key_len) == 0) {
            *len = item - key_len - 1;
            return at + key_len + 1;
        }
        at += item + (at[item] == ',');
    }
    return NULL;
}

static bool is_among(const struct selector_term *term, const char *value, size_t len) {
    for (size_t i = 0; i < term->n_values; i++)
        if (strlen(term->values[i]) == len && strncmp(term->values[i], value, len) == 0)
            return true;
    return false;
}

static bool compares(const struct selector_term *term, const char *value, size_t len) {
    char copy[32];
    int64_t found, limit;
    if (len >= sizeof copy)
        return false;
    text_copy(copy, len + 1, value);
    if (!text_to_int64(copy, &found) || !text_to_int64(term->values[0], &limit))
        return false;
    return term->op == SELECTOR_GREATER ? found > limit : found < limit;
}

static bool term_matches(const struct selector_term *term, const char *labels) {
    size_t len = 0;
    const char *value = find(labels, term->key, &len);
    switch (term->op) {
    case SELECTOR_IN:
        return value && is_among(term, value, len);
    case SELECTOR_NOT_IN:
        return !value || !is_among(term, value, len);
    case SELECTOR_EXISTS:
        return value;
    case SELECTOR_ABSENT:
        return !value;
    case SELECTOR_GREATER:
    case SELECTOR_LESS:
        break;
    }
    return value && compares(term, value, len);
}

bool selector_is_met(const struct selector *selector, const char *labels) {
    for (size_t i = 0; i < selector->n_terms; i++)
        if (!term_matches(&selector->terms[i], labels))
            return false;
    return true;
}

bool labels_value(const char *labels, const char *key, char *out, size_t size) {
    size_t len = 0;
    const char *value = find(labels, key, &len);
    if (!value)
        return false;
    len = len < size ? len : size - 1;
    memcpy(out, value, len);
    out[len] = '\0';
    return true;
}

bool labels_add(struct buffer *labels, const char *key, const char *value) {
    return buffer_printf(labels, "%s%s=%s", labels->len > 0 ? "," : "", key, value);
}

bool pattern_list_matches(const char *list, const char *name) {
    size_t name_len = strlen(name);
    for (const char *at = list; *at;) {
        size_t len = strcspn(at, ",");
        if (len > 0 && text_matches(at, len, name, name_len))
            return true;
        at += len + (at[len] == ',');
    }
    return false;
}
