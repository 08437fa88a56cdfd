// SPDX-License-Identifier: Apache-2.0
#include "core/base/namespace_map.h"

#include "core/base/memory.h"
#include "core/base/text.h"

static const char namespace_word[] = "{namespace}", origin_word[] = "{origin}";

struct piece { // of a text
    const char *text;
    size_t len;
};

struct name_rule {
    struct piece pattern, name;
};

// The next rule of the map. False: there is no more.
static bool next_rule(const char **at, struct name_rule *rule) {
    const char *line = *at;
    size_t len = line ? strcspn(line, "\n") : 0;
    if (len == 0)
        return false;
    const char *sign = memchr(line, '=', len), *end = line + len;
    *at = end + (*end == '\n');
    sign = sign ? sign : end;
    const char *name = sign < end ? sign + 1 : end;
    *rule = (struct name_rule){{line, (size_t)(sign - line)}, {name, (size_t)(end - name)}};
    return true;
}

static bool rule_matches(const struct name_rule *rule, const char *name) {
    return text_matches(rule->pattern.text, rule->pattern.len, name, strlen(name));
}

// The number of the first rule that matches, and the rule; SIZE_MAX: none.
static size_t find_rule(const char *map, const char *name, struct name_rule *rule) {
    for (size_t number = 0; next_rule(&map, rule); number++)
        if (rule_matches(rule, name))
            return number;
    return SIZE_MAX;
}

static bool has_word(const struct piece *piece, const char *word) {
    size_t len = strlen(word);
    return piece->len >= len && memcmp(piece->text, word, len) == 0;
}

// Takes the word at the beginning of the text. NULL: there is none, and one character was taken.
static const char *take_word(struct piece *text) {
    const char *word = has_word(text, origin_word)      ? origin_word
                       : has_word(text, namespace_word) ? namespace_word
                                                        : NULL;
    size_t len = word ? strlen(word) : 1;
    text->text += len;
    text->len -= len;
    return word;
}

static bool add(char out[NAMESPACE_SIZE], size_t *len, const char *text, size_t text_len) {
    if (text_len >= NAMESPACE_SIZE - *len)
        return false;
    memcpy(out + *len, text, text_len);
    *len += text_len;
    out[*len] = '\0';
    return true;
}

// Appends the text with the words replaced. `name` NULL: ends at {namespace}, and *rest is the text behind it, or
// empty if the word does not occur. False: longer than any name.
static bool expand(struct piece text, const char *origin, const char *name, char out[NAMESPACE_SIZE],
                   struct piece *rest) {
    size_t len = 0;
    *out = '\0';
    while (text.len > 0) {
        const char *at = text.text, *word = take_word(&text);
        const char *value = !word ? at : word == origin_word ? origin : name;
        if (!value) {
            *rest = text;
            return true;
        }
        if (!add(out, &len, value, word ? strlen(value) : 1))
            return false;
    }
    *rest = (struct piece){NULL, 0};
    return true;
}

static bool name_by(const struct name_rule *rule, const char *origin, const char *name, char out[NAMESPACE_SIZE]) {
    struct piece rest;
    return expand(rule->name, origin, name, out, &rest) && text_is_dns_label(out);
}

// What the map says, with no regard to other namespaces.
static bool name_there(const char *map, const char *origin, const char *name, char out[NAMESPACE_SIZE]) {
    struct name_rule rule;
    if (find_rule(map, name, &rule) != SIZE_MAX)
        return name_by(&rule, origin, name, out);
    text_copy(out, NAMESPACE_SIZE, name);
    return true;
}

static bool is_fixed(const struct name_rule *rule) {
    return !memchr(rule->pattern.text, '*', rule->pattern.len);
}

// The namespace that has the name by this rule.
static bool name_here(const struct name_rule *rule, const char *origin, const char *there, char out[NAMESPACE_SIZE]) {
    char start[NAMESPACE_SIZE], end[NAMESPACE_SIZE];
    struct piece rest, none;
    size_t len = 0, there_len = strlen(there);
    if (!expand(rule->name, origin, NULL, start, &rest))
        return false;
    if (!rest.text) // one name for all
        return strcmp(start, there) == 0 && is_fixed(rule) && add(out, &len, rule->pattern.text, rule->pattern.len);
    if (!expand(rest, origin, "", end, &none) || there_len <= strlen(start) + strlen(end) ||
        !text_has_prefix(there, start) || !text_has_suffix(there, end))
        return false;
    return add(out, &len, there + strlen(start), there_len - strlen(start) - strlen(end));
}

// `number` is that of the rule, SIZE_MAX without one.
static bool is_of_rule(const char *map, const char *origin, size_t number, const char *name, const char *there) {
    struct name_rule rule;
    char again[NAMESPACE_SIZE];
    return text_is_dns_label(name) && find_rule(map, name, &rule) == number && name_there(map, origin, name, again) &&
           strcmp(again, there) == 0;
}

bool namespace_here(const char *map, const char *origin, const char *there, char out[NAMESPACE_SIZE]) {
    const char *at = map;
    struct name_rule rule;
    if (!text_is_dns_label(there))
        return false;
    for (size_t number = 0; next_rule(&at, &rule); number++)
        if (name_here(&rule, origin, there, out) && is_of_rule(map, origin, number, out, there))
            return true;
    text_copy(out, NAMESPACE_SIZE, there);
    return is_of_rule(map, origin, SIZE_MAX, out, there);
}

bool namespace_there(const char *map, const char *origin, const char *name, char out[NAMESPACE_SIZE]) {
    char again[NAMESPACE_SIZE];
    return text_is_dns_label(name) && name_there(map, origin, name, out) && namespace_here(map, origin, out, again) &&
           strcmp(again, name) == 0;
}

void namespace_describe_none(const char *map, const char *origin, const char *name, struct buffer *out) {
    char there[NAMESPACE_SIZE], owner[NAMESPACE_SIZE];
    struct name_rule rule;
    bool mapped = find_rule(map, name, &rule) != SIZE_MAX;
    if (mapped && rule.name.len == 0)
        buffer_printf(out, "the worker's namespaces.map has no rule for namespace %s", name);
    else if (!name_there(map, origin, name, there))
        buffer_printf(out,
                      "the worker's namespaces.map gives namespace %s no valid name: found \"%.*s\", expected an RFC "
                      "1123 label of "
                      "at most %d characters",
                      name, (int)rule.name.len, rule.name.text, NAMESPACE_SIZE - 1);
    else if (namespace_here(map, origin, there, owner))
        buffer_printf(out, "the worker's namespaces.map gives namespace %s the name %s, which is that of namespace %s",
                      name, there, owner);
    else
        buffer_printf(out, "the worker's namespaces.map gives several namespaces the name %s", there);
}

// Checks of a configuration -----------------------------------------------------------------------------------------

static bool has_only(struct piece text, const char *allowed) {
    for (size_t i = 0; i < text.len; i++)
        if (!strchr(allowed, text.text[i]))
            return false;
    return true;
}

#define LABEL_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789-"

// Removes the words. Returns how often {namespace} occurs.
static size_t literals(const char *name, struct buffer *out) {
    size_t count = 0;
    for (struct piece text = {name, strlen(name)}; text.len > 0;) {
        const char *at = text.text, *word = take_word(&text);
        count += word == namespace_word;
        if (!word)
            buffer_char(out, *at);
    }
    return count;
}

// Whether the namespace with `star` for each '*' has a name there.
static bool fits(const struct name_rule *rule, const char *origin, const char *star) {
    char name[NAMESPACE_SIZE] = "", there[NAMESPACE_SIZE];
    size_t len = 0;
    for (size_t i = 0; i < rule->pattern.len; i++) {
        const char *at = rule->pattern.text + i;
        if (!add(name, &len, *at == '*' ? star : at, *at == '*' ? strlen(star) : 1))
            return false;
    }
    return text_is_dns_label(name) && name_by(rule, origin, name, there);
}

bool namespace_rule_problem(const char *pattern, const char *name, const char *origin, struct buffer *out) {
    AUTO_BUFFER(rest, 4096);
    struct name_rule rule = {{pattern, strlen(pattern)}, {name, strlen(name)}};
    if (rule.pattern.len == 0 || rule.pattern.len >= NAMESPACE_SIZE || !has_only(rule.pattern, LABEL_CHARACTERS "*"))
        return buffer_printf(out, "found \"%s\", expected a namespace, or a pattern such as team-*", pattern);
    size_t count = literals(name, &rest);
    bool valid = rule.name.len > 0 && !rest.failed && has_only((struct piece){rest.data, rest.len}, LABEL_CHARACTERS);
    if (!valid || count > 1)
        return buffer_printf(
            out,
            "found \"%s\", expected a name of lower-case letters, digits, '-', {origin}, and {namespace} "
            "once",
            name);
    if (count == 0 && !is_fixed(&rule))
        return buffer_printf(out, "found \"%s\" without {namespace}, expected a separate name for each namespace",
                             name);
    if (origin && !text_is_dns_label(origin) && strstr(name, origin_word))
        return buffer_printf(out, "found origin \"%s\", expected an RFC 1123 label, since the name contains {origin}",
                             origin);
    if (!fits(&rule, origin ? origin : "x", "") && !fits(&rule, origin ? origin : "x", "x"))
        return buffer_printf(out,
                             "found \"%s\", which is no RFC 1123 label (at most %d characters, no '-' at either end) "
                             "for any namespace",
                             name, NAMESPACE_SIZE - 1);
    return false;
}

bool namespace_map_problem(const char *map, const char *origin, bool self, struct buffer *out) {
    struct name_rule rule;
    while (next_rule(&map, &rule)) {
        AUTO_TEXT pattern = strndup(rule.pattern.text, rule.pattern.len);
        AUTO_TEXT name = strndup(rule.name.text, rule.name.len);
        if (!pattern || !name)
            return buffer_text(out, "out of memory");
        if (namespace_rule_problem(pattern, name, origin, out))
            return true;
        char there[NAMESPACE_SIZE];
        bool same = strcmp(name, namespace_word) == 0 ||
                    (is_fixed(&rule) && name_by(&rule, origin, pattern, there) && strcmp(there, pattern) == 0);
        if (self && same)
            return buffer_printf(out,
                                 "found \"%s\" for \"%s\", expected another name: mirrors in the management cluster "
                                 "would collide with their workloads",
                                 name, pattern);
    }
    return map && *map && buffer_text(out, "found an empty rule, expected a pattern and a name");
}

char *namespace_map_read(const char *text, struct buffer *problem) {
    AUTO_TEXT map = strdup(text);
    if (!map)
        return NULL;
    for (char *at = map; *at; at++)
        *at = *at == ',' ? '\n' : *at;
    bool wrong = namespace_map_problem(map, NULL, false, problem) || namespace_map_collision(map, "x", problem);
    return wrong ? NULL : TAKE(map);
}

// Two patterns that both match some text ---------------------------------------------------------------------------

// The pattern of all names by this rule.
static void image_of(const struct name_rule *rule, const char *origin, const char *star, struct buffer *out) {
    char start[NAMESPACE_SIZE], end[NAMESPACE_SIZE] = "";
    struct piece rest, none;
    if (!expand(rule->name, origin, NULL, start, &rest) || (rest.text && !expand(rest, origin, "", end, &none)))
        return;
    buffer_text(out, start);
    for (size_t i = 0; rest.text && i < rule->pattern.len; i++)
        buffer_text(out, rule->pattern.text[i] == '*' ? star : (const char[]){rule->pattern.text[i], '\0'});
    buffer_text(out, end);
}

enum step { STEP_NONE, STEP_FIRST, STEP_SECOND, STEP_BOTH, STEP_FIRST_CHARACTER, STEP_SECOND_CHARACTER };

// How the two patterns, read up to i and j, go on: past a '*', or with one character of the text.
static void go_on(const char *a, const char *b, unsigned char *table, size_t width, size_t i, size_t j) {
    unsigned char *at = table + i * width + j;
    if (a[i] == '*' && at[width] == STEP_NONE)
        at[width] = STEP_FIRST;
    if (b[j] == '*' && at[1] == STEP_NONE)
        at[1] = STEP_SECOND;
    if (a[i] && b[j] && a[i] == b[j] && a[i] != '*' && at[width + 1] == STEP_NONE)
        at[width + 1] = STEP_BOTH;
    if (a[i] == '*' && b[j] && b[j] != '*' && at[1] == STEP_NONE)
        at[1] = STEP_SECOND_CHARACTER;
    if (b[j] == '*' && a[i] && a[i] != '*' && at[width] == STEP_NONE)
        at[width] = STEP_FIRST_CHARACTER;
}

// A text that both patterns match. False: there is none, or none that is short enough.
static bool patterns_meet(const char *a, const char *b, char out[NAMESPACE_SIZE]) {
    size_t a_len = strlen(a), b_len = strlen(b), width = b_len + 2, at = NAMESPACE_SIZE - 1;
    unsigned char *table = calloc(a_len + 2, width);
    if (!table)
        return false;
    *table = STEP_BOTH;
    for (size_t i = 0; i <= a_len; i++)
        for (size_t j = 0; j <= b_len; j++)
            if (table[i * width + j] != STEP_NONE)
                go_on(a, b, table, width, i, j);
    bool meet = table[a_len * width + b_len] != STEP_NONE;
    out[at] = '\0';
    for (size_t i = a_len, j = b_len; meet && (i > 0 || j > 0);) { // backwards
        enum step step = table[i * width + j];
        bool second = step == STEP_SECOND || step == STEP_SECOND_CHARACTER;
        i -= !second;
        j -= second || step == STEP_BOTH;
        if (step == STEP_FIRST || step == STEP_SECOND)
            continue;
        meet = at > 0;
        if (meet)
            out[--at] = second ? b[j] : a[i];
    }
    free(table);
    if (meet)
        memmove(out, out + at, NAMESPACE_SIZE - at);
    return meet;
}

struct numbered_rule {
    struct name_rule rule;
    size_t number;
};

// `star` and `other_star` replace each '*' of the patterns: "x*" finds a name where an empty text is none.
static bool describe_collision(const char *map, const char *origin, const struct numbered_rule *a, const char *star,
                               const struct numbered_rule *b, const char *other_star, struct buffer *out) {
    AUTO_BUFFER(image, 4096);
    AUTO_BUFFER(other, 4096);
    char there[NAMESPACE_SIZE], first[NAMESPACE_SIZE], second[NAMESPACE_SIZE];
    image_of(&a->rule, origin, star, &image);
    image_of(&b->rule, origin, other_star, &other);
    return image.len > 0 && other.len > 0 && patterns_meet(image.data, other.data, there) &&
           name_here(&a->rule, origin, there, first) && name_here(&b->rule, origin, there, second) &&
           is_of_rule(map, origin, a->number, first, there) && is_of_rule(map, origin, b->number, second, there) &&
           buffer_printf(out, "namespaces %s and %s would both be namespace %s there", first, second, there);
}

static bool rules_collide(const char *map, const char *origin, const struct numbered_rule *a,
                          const struct numbered_rule *b, struct buffer *out) {
    static const char *const stars[] = {"*", "x*"};
    for (size_t i = 0; i < 4; i++)
        if (describe_collision(map, origin, a, stars[i % 2], b, stars[i / 2], out))
            return true;
    return false;
}

bool namespace_map_collision(const char *map, const char *origin, struct buffer *out) {
    const char *at = map;
    struct numbered_rule a = {.number = 0}, b;
    for (; next_rule(&at, &a.rule); a.number++) {
        const char *rest = at;
        for (b.number = a.number + 1; next_rule(&rest, &b.rule); b.number++)
            if (rules_collide(map, origin, &a, &b, out))
                return true;
    }
    return false;
}
