// SPDX-License-Identifier: Apache-2.0
#include "tests/world/selector.h"
#include "core/json/pointer.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *trim(char *text) {
    while (*text == ' ')
        text++;
    size_t len = strlen(text);
    while (len > 0 && text[len - 1] == ' ')
        text[--len] = '\0';
    return text;
}

// Cuts at the next comma that is not within parentheses; NULL at the end.
static char *next_term(char **rest) {
    char *start = *rest;
    if (!start || !*start)
        return NULL;
    int depth = 0;
    for (char *at = start; *at; at++) {
        depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
        if (*at == ',' && depth == 0) {
            *at = '\0';
            *rest = at + 1;
            return start;
        }
    }
    *rest = NULL;
    return start;
}

static bool add_value(struct selector *selector, struct selector_term *term, char *value) {
    value = trim(value);
    if (selector->values == SELECTOR_VALUES || strpbrk(value, "=! ()"))
        return false;
    selector->value[selector->values++] = value;
    term->count++;
    return true;
}

// "key in (a,b)" and "key notin (a,b)"
static bool read_set(struct selector *selector, struct selector_term *term, char *open) {
    char *close = strchr(open, ')');
    if (!close || close[1])
        return false;
    *open = *close = '\0';
    char *key = trim((char *)term->key), *word = strrchr(key, ' ');
    if (!word)
        return false;
    *word++ = '\0';
    if (strcmp(word, "in") != 0 && strcmp(word, "notin") != 0)
        return false;
    term->op = *word == 'i' ? SELECTOR_IN : SELECTOR_NOT_IN;
    term->key = trim(key);
    for (char *rest = open + 1, *value; (value = next_term(&rest));)
        if (!add_value(selector, term, value))
            return false;
    return term->count > 0;
}

static bool read_term(struct selector *selector, char *text) {
    if (selector->terms == SELECTOR_TERMS)
        return false;
    struct selector_term *term = &selector->term[selector->terms++];
    text = trim(text);
    *term = (struct selector_term){.op = SELECTOR_EXISTS, .key = text, .first = selector->values};
    char *open = strchr(text, '('), *equal = strchr(text, '=');
    if (open)
        return read_set(selector, term, open);
    if (!equal && *text == '!') {
        term->op = SELECTOR_ABSENT;
        term->key = trim(text + 1);
    } else if (equal) {
        bool negated = equal > text && equal[-1] == '!';
        char *value = equal[1] == '=' ? equal + 2 : equal + 1;
        equal[negated ? -1 : 0] = '\0';
        term->op = negated ? SELECTOR_NOT_IN : SELECTOR_IN;
        term->key = trim(text);
        if (!add_value(selector, term, value))
            return false;
    }
    return *term->key && !strchr(term->key, ' ');
}

// The fields by which Events can be selected, in both groups.
static bool add_event_field(struct selector *selector, const char *name, const char *value) {
    static const char *const names[][2] = {{"kind", "/regarding/kind"},
                                           {"namespace", "/regarding/namespace"},
                                           {"name", "/regarding/name"},
                                           {"uid", "/regarding/uid"},
                                           {"apiVersion", "/regarding/apiVersion"},
                                           {"resourceVersion", "/regarding/resourceVersion"},
                                           {"fieldPath", "/regarding/fieldPath"}};
    const char *pointer = strcmp(name, "reason") == 0 ? "/reason" : strcmp(name, "type") == 0 ? "/type" : NULL;
    const char *dot = strchr(name, '.');
    bool about = text_has_prefix(name, "involvedObject.") || text_has_prefix(name, "regarding.");
    for (size_t i = 0; about && i < sizeof names / sizeof *names; i++)
        if (strcmp(dot + 1, names[i][0]) == 0)
            pointer = names[i][1];
    if (!pointer || selector->fields == SELECTOR_FIELDS)
        return false;
    selector->field[selector->fields].pointer = pointer;
    selector->field[selector->fields++].value = value;
    return true;
}

static bool add_phase(struct selector *selector, const char *value, bool differs) {
    if (selector->fields == SELECTOR_FIELDS)
        return false;
    selector->field[selector->fields].pointer = "/status/phase";
    selector->field[selector->fields].differs = differs;
    selector->field[selector->fields++].value = value;
    return true;
}

static bool read_field(struct selector *selector, const struct kind *kind, char *text, char message[256]) {
    char *equal = strchr(text, '=');
    bool differs = equal && equal > text && equal[-1] == '!';
    if (!equal || (differs && (kind->special != SPECIAL_POD || !text_has_prefix(text, "status.phase!=")))) {
        snprintf(message, 256, "invalid field selector: %.200s", text);
        return false;
    }
    char *value = equal[1] == '=' ? equal + 2 : equal + 1;
    equal[differs ? -1 : 0] = '\0';
    if (kind->special == SPECIAL_POD && strcmp(text, "status.phase") == 0 && add_phase(selector, value, differs))
        return true;
    if (strcmp(text, "metadata.name") == 0) {
        if (selector->name && strcmp(selector->name, value) != 0)
            selector->nothing = true;
        selector->name = value;
    } else if (strcmp(text, "metadata.namespace") == 0) {
        if (selector->namespace_ && strcmp(selector->namespace_, value) != 0)
            selector->nothing = true;
        free(selector->namespace_);
        selector->namespace_ = world_strdup(value);
    } else if (kind->special != SPECIAL_EVENT || !add_event_field(selector, text, value)) {
        snprintf(message, 256, "field label \"%.100s\" not supported", text);
        return false;
    }
    return true;
}

bool selector_read(struct selector *selector, const struct kind *kind, const char *namespace_, const char *labels,
                   const char *fields, char message[256]) {
    *selector = (struct selector){.namespace_ = *namespace_ ? world_strdup(namespace_) : NULL};
    size_t labels_size = labels ? strlen(labels) + 1 : 1, fields_size = fields ? strlen(fields) + 1 : 1;
    selector->text = world_alloc(labels_size + fields_size);
    if (labels)
        memcpy(selector->text, labels, labels_size);
    char *field_text = selector->text + labels_size;
    if (fields)
        memcpy(field_text, fields, fields_size);
    for (char *rest = selector->text, *term; (term = next_term(&rest));)
        if (!read_term(selector, term)) {
            snprintf(message, 256, "unable to parse requirement: %.200s", labels);
            return false;
        }
    for (char *rest = field_text, *field; (field = next_term(&rest));)
        if (!read_field(selector, kind, field, message))
            return false;
    return true;
}

void selector_free(struct selector *selector) {
    free(selector->text);
    free(selector->namespace_);
    *selector = (struct selector){0};
}

static const char *label_value(const struct blob *blob, const char *key) {
    for (const char *at = blob->labels; *at;) {
        const char *value = at + strlen(at) + 1;
        if (strcmp(at, key) == 0)
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

static bool has_value(const struct selector *selector, const struct selector_term *term, const char *value) {
    for (size_t i = 0; i < term->count; i++)
        if (strcmp(selector->value[term->first + i], value) == 0)
            return true;
    return false;
}

static bool term_matches(const struct selector *selector, const struct selector_term *term, const struct blob *blob) {
    const char *value = label_value(blob, term->key);
    switch (term->op) {
    case SELECTOR_EXISTS:
        return value;
    case SELECTOR_ABSENT:
        return !value;
    case SELECTOR_IN:
        return value && has_value(selector, term, value);
    case SELECTOR_NOT_IN:
        return !value || !has_value(selector, term, value);
    }
    return false;
}

static bool fields_match(const struct selector *selector, const struct blob *blob) {
    AUTO_JSON value = NULL;
    error_free(json_parse(blob->text, blob->len, &value));
    for (size_t i = 0; i < selector->fields; i++)
        if ((strcmp(json_string_or(pointer_find(value, selector->field[i].pointer), ""), selector->field[i].value) !=
             0) != selector->field[i].differs)
            return false;
    return true;
}

bool selector_matches(const struct selector *selector, const struct blob *blob) {
    if (!blob || selector->nothing)
        return false;
    size_t len = blob->namespace_len;
    if (selector->namespace_ &&
        (strlen(selector->namespace_) != len || memcmp(selector->namespace_, blob->key, len) != 0))
        return false;
    if (selector->name && strcmp(selector->name, blob->key + (len ? len + 1 : 0)) != 0)
        return false;
    for (size_t i = 0; i < selector->terms; i++)
        if (!term_matches(selector, &selector->term[i], blob))
            return false;
    return selector->fields == 0 || fields_match(selector, blob);
}
