// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/adapter_new/description.h"

#include "core/base/memory.h"
#include "core/base/text.h"

const char *const template_fields[TEMPLATE_FIELDS + 1] = {"/metadata/labels",      "/metadata/annotations",
                                                          "/spec/nodeSelector",    "/spec/tolerations",
                                                          "/spec/schedulingGates", NULL};

void description_cleanup(struct description *description) {
    places_free(&description->spec);
    places_free(&description->status);
    for (size_t i = 0; i < description->members[PODS].count; i++)
        free((void *)(uintptr_t)description->members[PODS].list[i].counts);
    for (size_t i = 0; i < N_MEMBERS; i++)
        free(description->members[i].list);
    for (size_t i = 0; i < description->n_kept; i++)
        free(description->kept[i]);
    free(description->kept);
    yaml_cleanup(&description->file);
}

const char *description_text(struct description *description, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = text_vformat(format, args);
    va_end(args);
    char **slot = text ? array_next(&description->kept, description->n_kept, sizeof(*slot)) : NULL;
    if (!slot) {
        free(text);
        description->failed = true;
        return "";
    }
    description->n_kept++;
    *slot = text;
    return text;
}

struct guess_row *description_add(struct description *description, enum member member, const char *text,
                                  const char *why) {
    static struct guess_row lost;
    struct guess_rows *rows = &description->members[member];
    struct guess_row *row = array_next(&rows->list, rows->count, sizeof(*row));
    if (!row) {
        description->failed = true;
        return &lost;
    }
    rows->count++;
    row->text = text;
    row->why = why;
    return row;
}

void description_note(struct description *description, enum member member, const char *note) {
    description->members[member].note = note;
}

const struct guess_row *description_row(const struct description *description, enum member member) {
    return description->members[member].count > 0 ? &description->members[member].list[0] : NULL;
}
