// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <string.h>
#include <strings.h>

#define SHOWN_MAX 60 // bytes of a value in a sentence

static const char *pointer_to(const struct place *at) {
    if (!at->up)
        return "";
    const char *pointer = host->format(NULL, "%s/", pointer_to(at->up));
    if (!at->name)
        return host->format(NULL, "%s%zu", pointer, at->index);
    for (const char *c = at->name; *c; c++)
        pointer = host->format(NULL, "%s%.*s%s", pointer, *c != '~' && *c != '/', c,
                               *c == '~'   ? "~0"
                               : *c == '/' ? "~1"
                                           : "");
    return pointer;
}

void settings_report(const struct place *at, const char *name, const char *sentence) {
    struct place member = name ? settings_member(at, name) : *at;
    if (!*at->problem)
        *at->problem = host->format(NULL, "%s: %s", pointer_to(&member), sentence);
}

static void report_wrong(const struct place *at, const char *expected) {
    wharf_type type = host->type(at->value);
    const char *found = type == WHARF_ARRAY ? "a list" : type == WHARF_OBJECT ? "a mapping" : "nothing";
    size_t len = 0;
    if (type == WHARF_BOOL || type == WHARF_NUMBER || type == WHARF_STRING)
        found = host->print(NULL, at->value, &len);
    settings_report(at, NULL,
                    host->format(NULL, "found %s, expected %s", len > SHOWN_MAX ? "a long text" : found, expected));
}

struct place settings_member(const struct place *at, const char *name) {
    const wharf_value *m = host->first(at->value);
    while (m && (!host->name(m) || strcmp(host->name(m), name) != 0))
        m = host->next(m);
    return (struct place){at->problem, at, name, 0, host->type(m) == WHARF_NULL ? NULL : m};
}

static const char *read_text(const struct place *at, const struct field *field) {
    const char *text = host->string(at->value);
    wharf_type type = host->type(at->value);
    if ((field->type == SCALAR || field->type == SCALARS) && (type == WHARF_BOOL || type == WHARF_NUMBER))
        return host->print(NULL, at->value, NULL);
    if (!text || (!*text && !(field->rules & EMPTY)))
        report_wrong(at, field->rules & POINTER ? "a JSON pointer" : "a text");
    return text;
}

static uint32_t read_word(const struct place *at, const char *const *words) {
    const char *text = host->string(at->value), *all = "";
    for (uint32_t i = 0; words[i]; i++) {
        if (text && strcmp(words[i], text) == 0)
            return i;
        all = host->format(NULL, "%s%s%s", all, !i ? "" : words[i + 1] ? ", " : " or ", words[i]);
    }
    report_wrong(at, all);
    return 0;
}

static void read_integer(const struct place *at, int32_t *number) {
    int64_t value = host->integer(at->value, INT64_MAX);
    *number = value < INT32_MIN || value > INT32_MAX ? 0 : (int32_t)value;
    if (*number != value)
        report_wrong(at, "a whole number");
}

// Zeroed elements of this size for the items of a list, and two more. NULL: a problem.
static char *make_items(const struct place *list, size_t size) {
    size_t count = host->count(list->value);
    if (host->type(list->value) != WHARF_ARRAY || count == 0)
        report_wrong(list, "a list that is not empty");
    return *list->problem ? NULL : host->memory(NULL, (count + 2) * size);
}

void *settings_read_list(const struct place *list, const struct shape *shape, const char ***problems) {
    char *elements = make_items(list, shape->size);
    *problems = elements ? (const char **)(void *)make_items(list, sizeof(char *)) : NULL;
    struct place item = {NULL, list, NULL, 0, host->first(list->value)};
    for (; *problems && item.value; item.value = host->next(item.value), item.index++) {
        item.problem = &(*problems)[item.index];
        settings_read(&item, shape, elements + item.index * shape->size);
    }
    return *problems ? elements : NULL;
}

static void *read_items(const struct place *list, const struct field *field) {
    size_t size = field->type == LIST ? field->of->size : sizeof(char *);
    char *elements = make_items(list, size);
    struct place item = {list->problem, list, NULL, 0, host->first(list->value)};
    for (; elements && item.value && !*list->problem; item.value = host->next(item.value), item.index++)
        if (field->type == LIST)
            settings_read(&item, field->of, elements + item.index * size);
        else
            ((const char **)(void *)elements)[item.index] = read_text(&item, field);
    return elements;
}

static void read_field(const struct place *at, const struct field *field, char *target) {
    void *slot = target + field->offset;
    if ((field->type == FLAG || field->type == NOT_FLAG) && host->type(at->value) != WHARF_BOOL)
        report_wrong(at, "true or false");
    else if (field->type == FLAG || field->type == NOT_FLAG)
        *(uint32_t *)slot |= host->boolean(at->value, 0) == (field->type == FLAG) ? field->bit : 0;
    else if (field->type == WORD)
        *(uint32_t *)slot = read_word(at, field->words);
    else if (field->type == PART)
        settings_read(at, field->of, target);
    else if (field->type == INTEGER)
        read_integer(at, slot);
    else if (field->type == TEXT || field->type == SCALAR)
        *(const char **)slot = read_text(at, field);
    else
        *(void **)slot = read_items(at, field);
}

// The same word except for upper and lower case, or for letters that are missing at the end of one.
static int is_near(const char *a, const char *b) {
    size_t len = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
    return len >= 3 && strncasecmp(a, b, len) == 0;
}

static void check_known(const struct place *member, const struct field *fields) {
    const char *near = NULL, *all = "";
    for (const struct field *f = fields; f->name; f++) {
        if (strcmp(f->name, member->name) == 0)
            return;
        near = is_near(f->name, member->name) ? f->name : near;
        all = host->format(NULL, "%s%s%s", all, *all ? ", " : "", f->name);
    }
    settings_report(member, NULL,
                    near ? host->format(NULL, "unknown setting, did you mean \"%s\"?", near)
                         : host->format(NULL, "unknown setting, expected one of %s", all));
}

void settings_read(const struct place *at, const struct shape *shape, void *target) {
    const struct field *fields = shape->fields;
    if (shape->is_short && host->type(at->value) != WHARF_OBJECT) {
        read_field(at, fields, target);
        return;
    }
    if (host->type(at->value) != WHARF_OBJECT)
        report_wrong(at, "a mapping");
    for (const wharf_value *m = host->first(at->value); m && !*at->problem; m = host->next(m))
        check_known(&(struct place){at->problem, at, host->name(m), 0, m}, fields);
    for (const struct field *f = fields; f->name && !*at->problem; f++) {
        struct place member = settings_member(at, f->name);
        if (!member.value && (f->rules & REQUIRED))
            settings_report(&member, NULL, "found nothing, expected a value: it is required");
        else if (member.value)
            read_field(&member, f, target);
    }
    if (shape->finish && !*at->problem)
        shape->finish(at, target);
}
