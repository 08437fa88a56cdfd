// SPDX-License-Identifier: Apache-2.0
// The description as settings of the generic adapter (docs/generic.md).
#include "core/cmd/adapter_new/write.h"

#include "core/adapter/phase.h"
#include "core/cmd/main.h"

#define AT 8 // columns before the settings of the kind

static void add_mark(struct buffer *out, size_t indent, const char *why, const char **last) {
    if (why && (!last || !*last || strcmp(*last, why) != 0))
        write_comment(out, indent, "#", why);
    if (last)
        *last = why;
}

// A plain scalar where YAML reads the same text back, else in quotes.
static void add_text(struct buffer *out, const char *text) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/.-_*~";
    if (*text && text[strspn(text, plain)] == '\0' && !strchr("*-~", *text) && yaml_is_string(text))
        buffer_text(out, text);
    else
        buffer_json_string(out, text, strlen(text));
}

static void add_texts(struct buffer *out, const char *const *texts) {
    buffer_char(out, '[');
    for (size_t i = 0; texts[i]; i++) {
        buffer_text(out, i > 0 ? ", " : "");
        add_text(out, texts[i]);
    }
    buffer_char(out, ']');
}

static void add_line(struct buffer *out, size_t indent, const char *name, const char *text) {
    buffer_printf(out, "%*s%s: ", (int)indent, "", name);
    add_text(out, text);
    buffer_char(out, '\n');
}

static void add_missing(struct buffer *out, const struct description *d, enum member member, size_t indent,
                        const char *name) {
    if (d->members[member].note)
        write_missing(out, indent, "#", name, d->members[member].note);
}

static void add_single(struct buffer *out, const struct description *d, enum member member, size_t indent,
                       const char *name) {
    const struct guess_row *row = description_row(d, member);
    if (!row) {
        add_missing(out, d, member, indent, name);
        return;
    }
    add_mark(out, indent, row->why, NULL);
    add_line(out, indent, name, row->text);
}

// `name: [a, b]`
static void add_row_texts(struct buffer *out, const struct description *d, enum member member, size_t indent,
                          const char *name) {
    const struct guess_rows *rows = &d->members[member];
    if (rows->note)
        write_comment(out, indent, "#", rows->note);
    if (rows->count == 0)
        return;
    add_mark(out, indent, rows->list[0].why, NULL);
    buffer_printf(out, "%*s%s: [", (int)indent, "", name);
    for (size_t i = 0; i < rows->count; i++) {
        buffer_text(out, i > 0 ? ", " : "");
        add_text(out, rows->list[i].text);
    }
    buffer_text(out, "]\n");
}

static void add_field(struct buffer *out, const char *name, const char *text) {
    if (!text)
        return;
    buffer_printf(out, ", %s: ", name);
    add_text(out, text);
}

// -- items --

typedef void add_item(struct buffer *out, const struct guess_row *row);

static void add_carried_one(struct buffer *out, const struct guess_row *row, const char *end) {
    AUTO_TEXT pointer = text_format("%s%s", row->text, end);
    bool is_long = row->value || row->number == WHARF_CARRY_WHILE_SUSPENDED;
    out->failed |= !pointer;
    buffer_printf(out, "%*s- %s", AT, "", is_long ? "{field: " : "");
    add_text(out, pointer ? pointer : "");
    add_field(out, "key", row->value);
    add_field(out, "when", row->number == WHARF_CARRY_WHILE_SUSPENDED ? "WhileSuspended" : NULL);
    buffer_text(out, is_long ? "}\n" : "\n");
}

static void add_carried(struct buffer *out, const struct guess_row *row) {
    for (size_t i = 0; row->is_template && i < TEMPLATE_FIELDS; i++)
        add_carried_one(out, row, template_fields[i]);
    if (!row->is_template)
        add_carried_one(out, row, "");
}

static void add_pattern(struct buffer *out, const struct guess_row *row) {
    buffer_printf(out, "%*s- ", AT, "");
    add_text(out, row->text);
    buffer_char(out, '\n');
}

static void add_pods(struct buffer *out, const struct guess_row *row) {
    buffer_printf(out, "%*s- {template: ", AT, "");
    add_text(out, row->text);
    buffer_text(out, row->flags ? ", podSpec: true" : "");
    if (row->counts) {
        buffer_text(out, ", count: ");
        add_texts(out, row->counts);
    }
    buffer_text(out, "}\n");
}

static void add_rule(struct buffer *out, const struct guess_row *row) {
    bool is_usual = row->is_condition && strcmp(row->text, "/status/conditions") == 0;
    buffer_printf(out, "%*s- {%s: ", AT, "", row->is_condition ? "condition" : row->value ? "value" : "exists");
    if (row->value)
        add_text(out, row->value);
    else
        buffer_text(out, "true");
    add_field(out, "status", row->status);
    add_field(out, "field", is_usual ? NULL : row->text);
    buffer_printf(out, "%s, phase: %s}\n", row->flags == WHARF_RULE_WHILE_SUSPENDED ? ", whileSuspended: true" : "",
                  phase_word(row->number));
}

static void add_change(struct buffer *out, const struct guess_row *row) {
    buffer_printf(out, "%*s- {condition: ", AT, "");
    add_text(out, row->text);
    add_field(out, "status", row->status);
    add_field(out, "reason", row->reason);
    add_field(out, "message", row->message);
    buffer_text(out, "}\n");
}

static void add_reference(struct buffer *out, const struct guess_row *row) {
    const char *word = row->refers ? "name" : (row->flags & WHARF_REFERENCE_VOLUMES) != 0 ? "volume" : "container";
    buffer_printf(out, "%*s- {%s: ", AT, "", word);
    add_text(out, row->text);
    add_field(out, "kind", row->refers ? row->refers->kind : NULL);
    add_field(out, "optionalField", row->value);
    buffer_text(out, "}\n");
}

static void add_continuity(struct buffer *out, const struct guess_row *row) {
    buffer_printf(out, "%*s- {field: ", AT, "");
    add_text(out, row->text);
    add_field(out, "name", row->value);
    buffer_text(out, "}\n");
}

static void add_list(struct buffer *out, const struct description *d, enum member member, const char *name,
                     add_item *add) {
    const struct guess_rows *rows = &d->members[member];
    const char *last = NULL;
    if (rows->count == 0) {
        add_missing(out, d, member, AT, name);
        return;
    }
    if (rows->note)
        write_comment(out, AT, "#", rows->note);
    buffer_printf(out, "%*s%s:\n", AT, "", name);
    for (size_t i = 0; i < rows->count; i++) {
        add_mark(out, AT, rows->list[i].why, &last);
        add(out, &rows->list[i]);
    }
}

static void add_flags(struct buffer *out, const struct description *d) {
    const struct guess_row *flags = description_row(d, FLAGS);
    if (!flags)
        return;
    add_mark(out, AT, flags->why, NULL);
    if (flags->number & WHARF_KIND_NO_STATUS_SUBRESOURCE)
        buffer_printf(out, "%*sstatusSubresource: false\n", AT, "");
    if (flags->number & WHARF_KIND_NEVER_FINISHES)
        buffer_printf(out, "%*sneverFinishes: true\n", AT, "");
}

bool write_generic(const struct description *d, struct buffer *out) {
    buffer_printf(
        out,
        "# %s (%s) for the generic adapter of wharf, guessed from the schema of the CRD: compare each comment\n"
        "# with the kind's controller. docs/generic.md describes all settings.\n"
        "adapters:\n  enabled:\n  - name: generic\n    settings:\n      kinds:\n      - group: ",
        d->kind, d->group);
    add_text(out, d->group);
    buffer_char(out, '\n');
    add_row_texts(out, d, VERSIONS, AT, "versions");
    add_line(out, AT, "kind", d->kind);
    add_line(out, AT, "plural", d->plural);
    add_flags(out, d);
    buffer_printf(out, "%*smanagedBy:\n", AT, "");
    add_single(out, d, MANAGED_BY, AT + 2, "field");
    add_single(out, d, MANAGED_BY_BUILTIN, AT + 2, "builtIn");
    add_row_texts(out, d, MANAGED_BY_ALLOWED, AT + 2, "allowed");
    if (description_row(d, SUSPEND))
        buffer_printf(out, "%*ssuspend:\n", AT, "");
    if (description_row(d, SUSPEND))
        add_single(out, d, SUSPEND, AT + 2, "field");
    else
        add_missing(out, d, SUSPEND, AT, "suspend");
    add_single(out, d, SUSPEND_VALUE, AT + 2, "value");
    add_list(out, d, CARRIED, "carry", add_carried);
    add_list(out, d, REMOVED, "remove", add_pattern);
    add_list(out, d, PODS, "pods", add_pods);
    add_list(out, d, REFERENCES, "references", add_reference);
    add_list(out, d, CONTINUITY, "continuity", add_continuity);
    add_list(out, d, PHASES, "phases", add_rule);
    add_single(out, d, FINISHED_AT, AT, "finishedAt");
    add_single(out, d, OBSERVED_GENERATION, AT, "observedGeneration");
    add_single(out, d, CONDITION_TIME, AT, "conditionTime");
    add_list(out, d, STATUS_REMOVED, "statusRemove", add_pattern);
    add_list(out, d, SUSPENDED_STATUS, "suspendedStatus", add_change);
    add_list(out, d, RESUMED_STATUS, "resumedStatus", add_change);
    return !out->failed;
}
