// SPDX-License-Identifier: Apache-2.0
// Lists of a kind as source text. Fields without a value are left out, so that the source stays free of warnings when
// the ABI's structs grow.
#include "core/cmd/adapter_new/write_code.h"

#include "core/base/text.h"
#include "core/cmd/main.h"

#include <ctype.h>

#define CELLS_MAX 10
#define LINE_MAX 80 // bytes of texts in one line

// The layout of a list's item: the fields in the order of the struct, up to the last one that is used.
enum cell { CELL_END, CELL_TEXT, CELL_TEXTS, CELL_NUMBER };

struct list_item {
    const char *type;      // of C
    const char *rust_type; // of Rust
    struct {
        const char *field;
        enum cell cell;
    } cells[CELLS_MAX + 1];
};

const struct list_item item_carried = {
    "wharf_carried", "Carried", {{"pointer", CELL_TEXT}, {"key", CELL_TEXT}, {"when", CELL_NUMBER}}};
const struct list_item item_pods = {"wharf_pods",
                                    "Pods",
                                    {{"templates", CELL_TEXT},
                                     {"counts", CELL_TEXTS},
                                     {"fallback", CELL_TEXT},
                                     {"offset", CELL_NUMBER},
                                     {"flags", CELL_NUMBER}}};
const struct list_item item_rule = {"wharf_phase_rule",
                                    "PhaseRule",
                                    {{"pointer", CELL_TEXT},
                                     {"value", CELL_TEXT},
                                     {"status", CELL_TEXT},
                                     {"reason", CELL_TEXT},
                                     {"phase", CELL_NUMBER},
                                     {"flags", CELL_NUMBER}}};
const struct list_item item_change = {"wharf_status_change",
                                      "StatusChange",
                                      {{"change", CELL_NUMBER},
                                       {"when", CELL_NUMBER},
                                       {"name", CELL_TEXT},
                                       {"value", CELL_TEXT},
                                       {"reason", CELL_TEXT},
                                       {"message", CELL_TEXT}}};

const struct list_item item_reference = {"wharf_reference",
                                         "Reference",
                                         {{"name", CELL_TEXT},
                                          {"of", CELL_TEXT},
                                          {"group", CELL_TEXT},
                                          {"version", CELL_TEXT},
                                          {"resource", CELL_TEXT},
                                          {"kind", CELL_TEXT},
                                          {"kind_at", CELL_TEXT},
                                          {"namespace_", CELL_TEXT},
                                          {"optional", CELL_TEXT},
                                          {"flags", CELL_NUMBER}}};

const struct list_item item_continuity = {
    "wharf_continuity", "Continuity", {{"pointer", CELL_TEXT}, {"name", CELL_TEXT}}};

bool is_rust(const struct code_writer *w) {
    return w->language == LANGUAGE_RUST;
}

void write_name(const struct code_writer *w, const char *name, size_t number) {
    for (const char *c = name; *c; c++)
        buffer_char(w->out, is_rust(w) ? (char)toupper((unsigned char)*c) : *c);
    if (number > 0)
        buffer_printf(w->out, "_%zu", number);
}

static void write_null(const struct code_writer *w) {
    static const char *const nulls[] = {"NULL", "nullptr", "null()"};
    buffer_text(w->out, nulls[w->language]);
}

// JSON's form of a string without control characters is that of all three languages.
void write_literal(const struct code_writer *w, const char *text) {
    if (!text) {
        write_null(w);
        return;
    }
    buffer_text(w->out, is_rust(w) ? "text!(" : "");
    buffer_json_string(w->out, text, strlen(text));
    buffer_text(w->out, is_rust(w) ? ")" : "");
}

void write_enum(const struct code_writer *w, const char *name) {
    buffer_printf(w->out, "%s%s", is_rust(w) ? "" : "WHARF_", name);
}

static void begin_texts(const struct code_writer *w, const char *name, size_t number, size_t count) {
    static const char *const before[] = {"static const char *const ", "constexpr const char *", "static "};
    buffer_text(w->out, before[w->language]);
    write_name(w, name, number);
    if (is_rust(w))
        buffer_printf(w->out, ": Shared<[Text; %zu]> = Shared([", count + 1);
    else
        buffer_text(w->out, "[] = {");
}

static void end_texts(const struct code_writer *w, bool lines) {
    buffer_text(w->out, lines ? "\n    " : "");
    write_null(w);
    buffer_text(w->out, lines ? ",\n" : "");
    buffer_text(w->out, is_rust(w) ? "]);\n" : "};\n");
}

void write_texts(const struct code_writer *w, const char *name, size_t number, const char *const *texts) {
    size_t count = 0, len = 0;
    for (; texts[count]; count++)
        len += strlen(texts[count]);
    bool wide = len > LINE_MAX;
    begin_texts(w, name, number, count);
    for (size_t i = 0; i < count; i++) {
        buffer_text(w->out, wide ? "\n    " : "");
        write_literal(w, texts[i]);
        buffer_text(w->out, wide ? "," : ", ");
    }
    end_texts(w, wide);
}

void write_text_rows(const struct code_writer *w, const char *name, const struct guess_rows *rows) {
    const char *last = NULL;
    bool has_reason = false;
    for (size_t i = 0; i < rows->count; i++)
        has_reason = has_reason || rows->list[i].why;
    begin_texts(w, name, 0, rows->count);
    for (size_t i = 0; i < rows->count; i++) {
        buffer_text(w->out, has_reason ? "\n" : "");
        write_reason(w, 4, rows->list[i].why, &last);
        buffer_text(w->out, has_reason ? "    " : "");
        write_literal(w, rows->list[i].text);
        buffer_text(w->out, has_reason ? "," : ", ");
    }
    end_texts(w, has_reason);
}

// -- items --

// The cells of a row. Without a value: NULL.
struct cells {
    const char *value[CELLS_MAX]; // a text, or the name of a number without "WHARF_"
    size_t list;                  // number of the array of CELL_TEXTS; 0: none
};

static bool is_set(const struct list_item *item, const struct cells *cells, size_t i) {
    if (item->cells[i].cell == CELL_TEXTS)
        return cells->list > 0;
    return cells->value[i];
}

static void write_cell(const struct code_writer *w, const struct list_item *item, const struct cells *cells, size_t i) {
    if (item->cells[i].cell == CELL_NUMBER && !cells->value[i])
        buffer_text(w->out, "0");
    else if (item->cells[i].cell == CELL_NUMBER)
        write_enum(w, cells->value[i]);
    else if (item->cells[i].cell == CELL_TEXT || cells->list == 0)
        write_literal(w, cells->value[i]);
    else {
        write_name(w, "counts", cells->list);
        buffer_text(w->out, is_rust(w) ? ".0.as_ptr()" : "");
    }
}

// `{.pointer = "/spec/suspend"},` of C, `{"/spec/suspend"},` of C++, `Carried { pointer: text!("/spec/suspend"),
// ..Carried::NONE },` of Rust.
static void write_item(const struct code_writer *w, const struct list_item *item, const struct cells *cells) {
    static const char *const before[] = {".", "", ""}, *const between[] = {" = ", "", ": "};
    size_t count = 0;
    for (size_t i = 0; item->cells[i].cell != CELL_END; i++)
        count = is_set(item, cells, i) ? i + 1 : count;
    buffer_text(w->out, "    ");
    if (is_rust(w))
        buffer_printf(w->out, "%s { ", item->rust_type);
    else
        buffer_char(w->out, '{');
    for (size_t i = 0, n = 0; i < count; i++) {
        if (w->language != LANGUAGE_CPP && !is_set(item, cells, i))
            continue;
        buffer_text(w->out, n++ > 0 ? ", " : "");
        buffer_text(w->out, before[w->language]);
        buffer_text(w->out, w->language == LANGUAGE_CPP ? "" : item->cells[i].field);
        buffer_text(w->out, between[w->language]);
        write_cell(w, item, cells, i);
    }
    if (is_rust(w))
        buffer_printf(w->out, ", ..%s::NONE },\n", item->rust_type);
    else
        buffer_text(w->out, "},\n");
}

static const char *when_name(uint32_t when) {
    return when == WHARF_CARRY_WHILE_SUSPENDED ? "CARRY_WHILE_SUSPENDED" : NULL;
}

static void write_template_row(const struct code_writer *w, const struct guess_row *row) {
    if (!is_rust(w)) {
        buffer_text(w->out, "    WHARF_CARRIED_POD_TEMPLATE(");
        write_literal(w, row->text);
        buffer_text(w->out, ", ");
        write_literal(w, row->value);
        buffer_text(w->out, "),\n");
        return;
    }
    for (size_t i = 0; i < TEMPLATE_FIELDS; i++) {
        AUTO_TEXT pointer = text_format("%s%s", row->text, template_fields[i]);
        struct cells cells = {.value = {pointer, row->value, when_name(row->number)}};
        w->out->failed |= !pointer;
        write_item(w, &item_carried, &cells);
    }
}

static const char *rule_flag(uint32_t flags) {
    return flags == WHARF_RULE_EXISTS            ? "RULE_EXISTS"
           : flags == WHARF_RULE_WHILE_SUSPENDED ? "RULE_WHILE_SUSPENDED"
                                                 : NULL;
}

static struct cells reference_cells(const struct guess_row *row) {
    const wharf_reference *kind = row->refers;
    if (!kind)
        return (struct cells){.value = {row->text, [9] = (row->flags & WHARF_REFERENCE_VOLUMES) != 0
                                                             ? "REFERENCE_VOLUMES"
                                                             : "REFERENCE_CONTAINERS"}};
    return (struct cells){
        .value = {row->text, NULL, kind->group, kind->version, kind->resource, kind->kind, NULL, NULL, row->value,
                  (kind->flags & WHARF_REFERENCE_CLUSTER_SCOPED) != 0 ? "REFERENCE_CLUSTER_SCOPED" : NULL}};
}

static void write_row(const struct code_writer *w, const struct list_item *item, const struct guess_row *row,
                      size_t *n_lists) {
    static const char *const phases[] = {"PENDING", "SUSPENDED", "ACTIVE", "SUCCEEDED", "FAILED"};
    struct cells cells = {.value = {row->text}};
    if (item == &item_carried && row->is_template) {
        write_template_row(w, row);
        return;
    }
    if (item == &item_carried)
        cells = (struct cells){.value = {row->text, row->value, when_name(row->number)}};
    else if (item == &item_pods)
        cells = (struct cells){.value = {row->text, NULL, NULL, NULL, row->flags ? "PODS_ARE_SPECS" : NULL},
                               .list = row->counts ? ++*n_lists : 0};
    else if (item == &item_reference)
        cells = reference_cells(row);
    else if (item == &item_continuity)
        cells = (struct cells){.value = {row->text, row->value}};
    else if (item == &item_rule)
        cells = (struct cells){
            .value = {row->text, row->value, row->status, NULL, phases[row->number], rule_flag(row->flags)}};
    else
        cells = (struct cells){.value = {"SET_CONDITION", "ALWAYS", row->text, row->status, row->reason, row->message}};
    write_item(w, item, &cells);
}

static void write_list_end(const struct code_writer *w, const struct list_item *item) {
    if (is_rust(w))
        buffer_printf(w->out, "    %s::NONE,\n]);\n", item->rust_type);
    else if (w->language == LANGUAGE_CPP)
        buffer_text(w->out, "    {},\n};\n");
    else
        buffer_printf(w->out, "    {.%s = NULL},\n};\n", item == &item_change ? "name" : item->cells[0].field);
}

static size_t rows_written(const struct guess_rows *rows) {
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++)
        count += rows->list[i].is_template ? TEMPLATE_FIELDS : 1;
    return count;
}

void write_reason(const struct code_writer *w, size_t indent, const char *why, const char **last) {
    if (why && (!*last || strcmp(*last, why) != 0))
        write_comment(w->out, indent, "//", why);
    *last = why;
}

void write_items(const struct code_writer *w, const char *name, const struct list_item *item,
                 const struct guess_rows *rows) {
    const char *last = NULL;
    size_t n_lists = 0;
    for (size_t i = 0; item == &item_pods && i < rows->count; i++)
        if (rows->list[i].counts)
            write_texts(w, "counts", ++n_lists, rows->list[i].counts);
    n_lists = 0;
    buffer_text(w->out, w->language == LANGUAGE_C ? "static const " : is_rust(w) ? "static " : "constexpr ");
    if (!is_rust(w))
        buffer_printf(w->out, "%s ", item->type);
    write_name(w, name, 0);
    if (is_rust(w))
        buffer_printf(w->out, ": Shared<[%s; %zu]> = Shared([\n", item->rust_type, rows_written(rows) + 1);
    else
        buffer_text(w->out, "[] = {\n");
    for (size_t i = 0; i < rows->count; i++) {
        write_reason(w, 4, rows->list[i].why, &last);
        write_row(w, item, &rows->list[i], &n_lists);
    }
    write_list_end(w, item);
}
