// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SHOWN_MAX 60 // bytes of a value in a sentence

struct block {
    struct block *next;
    max_align_t memory[];
};

void *settings_memory(struct settings *settings, size_t size) {
    struct block *block = calloc(1, sizeof *block + size);
    if (!block) {
        settings->problem = "out of memory";
        return NULL;
    }
    block->next = settings->blocks;
    settings->blocks = block;
    return block->memory;
}

void settings_forget(struct settings *settings) {
    for (struct block *next; settings->blocks; settings->blocks = next) {
        next = settings->blocks->next;
        free(settings->blocks);
    }
}

static const char *pointer_to(const struct place *at) {
    const char *up = at->up ? pointer_to(at->up) : "";
    if (!at->up || !up || !at->name)
        return at->up && up ? at->in->host->format(NULL, "%s/%zu", up, at->index) : up;
    char *escaped = settings_memory(at->in, 2 * strlen(at->name) + 1), *end = escaped;
    for (const char *c = at->name; escaped && *c; c++) {
        *end++ = *c == '/' ? '~' : *c;
        if (*c == '/' || *c == '~')
            *end++ = *c == '/' ? '1' : '0';
    }
    return escaped ? at->in->host->format(NULL, "%s/%s", up, escaped) : NULL;
}

void settings_tell(const struct place *at, const char *below, const char *sentence) {
    if (at->in->problem)
        return;
    const char *pointer = pointer_to(at);
    const char *problem = pointer && sentence ? at->in->host->format(NULL, "%s%s: %s", pointer, below, sentence) : NULL;
    at->in->problem = problem ? problem : "out of memory";
}

void settings_wrong(const struct place *at, const char *expected) {
    wharf_type type = at->in->host->type(at->value);
    const char *found = type == WHARF_ARRAY ? "a list" : type == WHARF_OBJECT ? "a mapping" : "nothing";
    size_t len = 0;
    if (type == WHARF_BOOL || type == WHARF_NUMBER || type == WHARF_STRING)
        found = at->in->host->print(NULL, at->value, &len);
    SETTINGS_TELL(at, "", "found %s, expected %s", !found || len > SHOWN_MAX ? "a long text" : found, expected);
}

struct place settings_member(const struct place *at, const char *name) {
    const wharf_host *host = at->in->host;
    const wharf_value *m = host->first(at->value);
    while (m && (!host->name(m) || strcmp(host->name(m), name) != 0))
        m = host->next(m);
    return (struct place){at->in, at, name, 0, host->type(m) == WHARF_NULL ? NULL : m};
}

// The same word but for upper and lower case, or for letters that are missing at one of both ends.
static bool is_near(const char *a, const char *b) {
    size_t len = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
    return len >= 3 && strncasecmp(a, b, len) == 0;
}

static void check_known(const struct place *member, const struct field *fields) {
    const char *near = NULL;
    for (const struct field *f = fields; f->name; f++) {
        if (strcmp(f->name, member->name) == 0)
            return;
        near = is_near(f->name, member->name) ? f->name : near;
    }
    if (near)
        SETTINGS_TELL(member, "", "unknown setting, did you mean \"%s\"?", near);
    const char *all = "";
    for (const struct field *f = fields; f->name && all; f++)
        all = member->in->host->format(NULL, "%s%s%s", all, *all ? ", " : "", f->name);
    SETTINGS_TELL(member, "", "unknown setting, expected one of %s", all ? all : "");
}

void *settings_each(const struct place *list, size_t size, settings_read *read, int rules) {
    const wharf_host *host = list->in->host;
    size_t count = host->count(list->value);
    if (list->value && (host->type(list->value) != WHARF_ARRAY || count == 0))
        settings_wrong(list, "a list that is not empty");
    char *elements = list->in->problem ? NULL : settings_memory(list->in, (count + 2) * size);
    struct place item = {list->in, list, NULL, 0, elements ? host->first(list->value) : NULL};
    for (; item.value && !list->in->problem; item.value = host->next(item.value), item.index++)
        read(&item, elements + item.index * size, rules);
    return elements;
}

static const char *pointer_fault(const char *text, int rules) {
    static const char *const maps[] = {"/metadata/labels/", "/metadata/annotations/"};
    for (const char *at = text; *at; at++) {
        if (at[0] == '/' && (at[1] == '/' || at[1] == '\0'))
            return "a pointer without empty names";
        if (at[0] == '~' && at[1] != '0' && at[1] != '1' && !((rules & PATTERN) && at[1] == '2'))
            return "a JSON pointer, in which a \"~\" in a name is written ~0, and a \"/\" ~1";
        if (strncmp(at, "/*", 2) == 0 && (at[2] == '/' || at[2] == '\0') && !(rules & PATTERN))
            return "a pointer to one field, without \"*\"";
    }
    if (*text != '/')
        return "a JSON pointer (RFC 6901) like /spec/suspend";
    if (rules & STATUS)
        return strncmp(text, "/status/", 8) == 0 ? NULL : "a pointer that begins with /status/";
    for (size_t i = 0; i < 2 && (rules & LABELS); i++)
        if (strncmp(text, maps[i], strlen(maps[i])) == 0)
            return strchr(text + strlen(maps[i]), '/') ? "one label or annotation: a \"/\" in its name is written ~1"
                                                       : NULL;
    size_t len = strcspn(text + 1, "/");
    if (len == 8 && strncmp(text, "/metadata", 9) == 0)
        return rules & LABELS
                   ? "a field of the spec, a label or an annotation: the rest of metadata is not mirrored"
                   : "a field of the spec: labels and annotations are always carried, and no more of metadata";
    bool other = (len == 6 && strncmp(text, "/status", 7) == 0) || (len == 4 && strncmp(text, "/kind", 5) == 0) ||
                 (len == 10 && strncmp(text, "/apiVersion", 11) == 0);
    return other ? "a field of the spec" : NULL;
}

const char *settings_text(const struct place *at, int rules) {
    const char *text = at->in->host->string(at->value);
    const char *fault = text && (*text || (rules & EMPTY)) ? NULL : rules & POINTER ? "a JSON pointer" : "a text";
    if (!fault && (rules & POINTER))
        fault = pointer_fault(text, rules);
    if (fault)
        settings_wrong(at, fault);
    return fault ? NULL : text;
}

static void read_text(const struct place *item, void *element, int rules) {
    const char **text = element;
    *text = settings_text(item, rules);
    for (size_t i = 1; i <= item->index && *text; i++)
        if (strcmp(text[-(ptrdiff_t)i], *text) == 0)
            SETTINGS_TELL(item, "", "found \"%s\" a second time, expected it once", *text);
}

void settings_fields(const struct place *at, const struct field *fields, void *target) {
    const wharf_host *host = at->in->host;
    if (host->type(at->value) != WHARF_OBJECT)
        settings_wrong(at, "a mapping");
    for (const wharf_value *m = host->first(at->value); m && !at->in->problem; m = host->next(m))
        check_known(&(struct place){at->in, at, host->name(m), 0, m}, fields);
    for (const struct field *f = fields; f->name && !at->in->problem; f++) {
        struct place member = settings_member(at, f->name);
        if (!member.value && (f->rules & REQUIRED))
            settings_tell(&member, "", "found nothing, expected a value: it is required");
        if (!member.value || (f->rules & OTHER))
            continue;
        void *slot = (char *)target + f->offset; // there may be no target where all fields are others
        if (f->rules & LIST)
            *(const char ***)slot = settings_each(&member, sizeof(char *), read_text, f->rules);
        else
            *(const char **)slot = settings_text(&member, f->rules);
    }
}

bool settings_bool(const struct place *at, const char *name, bool fallback) {
    struct place member = settings_member(at, name);
    if (member.value && at->in->host->type(member.value) != WHARF_BOOL)
        settings_wrong(&member, "true or false");
    return at->in->host->boolean(member.value, fallback) != 0;
}
