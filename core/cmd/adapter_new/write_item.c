// SPDX-License-Identifier: Apache-2.0
// Lists of a kind as source text. Structs are written by the names of their fields, or zeroed and assigned, so that the
// source stays free of warnings when the ABI's structs grow.
#include "core/cmd/adapter_new/write_code.h"

#include "core/base/text.h"
#include "core/cmd/main.h"

#include <ctype.h>

#define CELLS_MAX 6
#define LINE_MAX 80 // bytes of texts in one line

// The layout of a list's item.
enum cell { CELL_END, CELL_TEXT, CELL_TEXTS, CELL_NUMBER };

struct item {
    const char *type;      // of C
    const char *rust_type; // of Rust
    const char *helper;    // the function that makes one, in C++ and Rust
    struct {
        const char *field;
        enum cell cell;
        const char *rust_type;
    } cells[CELLS_MAX + 1];
};

#define TEXT_CELL(name)                                                                                                \
    { name, CELL_TEXT, "Text" }
#define NUMBER_CELL(name)                                                                                              \
    { name, CELL_NUMBER, "u32" }

const struct item item_carried = {
    "wharf_carried", "Carried", "carry", {TEXT_CELL("pointer"), TEXT_CELL("key"), NUMBER_CELL("when")}};
const struct item item_pods = {
    "wharf_pods", "Pods", "pods_at", {TEXT_CELL("templates"), {"counts", CELL_TEXTS, "*const Text"}}};
const struct item item_rule = {
    "wharf_phase_rule",
    "PhaseRule",
    "rule",
    {TEXT_CELL("pointer"), TEXT_CELL("value"), TEXT_CELL("status"), NUMBER_CELL("phase"), NUMBER_CELL("flags")}};
const struct item item_change = {"wharf_status_change",
                                 "StatusChange",
                                 "condition",
                                 {TEXT_CELL("name"), TEXT_CELL("value"), TEXT_CELL("reason"), TEXT_CELL("message")}};

bool is_rust(const struct writer *w) {
    return w->language == LANGUAGE_RUST;
}

void write_name(const struct writer *w, const char *name, size_t number) {
    for (const char *c = name; *c; c++)
        buffer_char(w->out, is_rust(w) ? (char)toupper((unsigned char)*c) : *c);
    if (number > 0)
        buffer_printf(w->out, "_%zu", number);
}

static void write_null(const struct writer *w) {
    static const char *const nulls[] = {"NULL", "nullptr", "null()"};
    buffer_text(w->out, nulls[w->language]);
}

// JSON's form of a string without control characters is that of all three languages.
void write_literal(const struct writer *w, const char *text) {
    if (!text) {
        write_null(w);
        return;
    }
    buffer_text(w->out, is_rust(w) ? "text!(" : "");
    buffer_json_string(w->out, text, strlen(text));
    buffer_text(w->out, is_rust(w) ? ")" : "");
}

void write_enum(const struct writer *w, const char *name) {
    buffer_printf(w->out, "%s%s", is_rust(w) ? "" : "WHARF_", name);
}

static void begin_texts(const struct writer *w, const char *name, size_t number, size_t count) {
    static const char *const before[] = {"static const char *const ", "constexpr const char *", "static "};
    buffer_text(w->out, before[w->language]);
    write_name(w, name, number);
    if (is_rust(w))
        buffer_printf(w->out, ": Shared<[Text; %zu]> = Shared([", count + 1);
    else
        buffer_text(w->out, "[] = {");
}

static void end_texts(const struct writer *w) {
    write_null(w);
    buffer_text(w->out, is_rust(w) ? "]);\n" : "};\n");
}

void write_texts(const struct writer *w, const char *name, size_t number, const char *const *texts) {
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
    buffer_text(w->out, wide ? "\n    " : "");
    end_texts(w);
}

void write_text_rows(const struct writer *w, const char *name, const struct rows *rows) {
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
    buffer_text(w->out, has_reason ? "\n    " : "");
    end_texts(w);
}

// -- items --

void write_helper(const struct writer *w, const struct item *item) {
    if (is_rust(w))
        buffer_printf(w->out, "const fn %s(", item->helper);
    else
        buffer_printf(w->out, "constexpr %s %s(", item->type, item->helper);
    for (size_t i = 0; item->cells[i].cell != CELL_END; i++) {
        static const char *const types[] = {
            [CELL_TEXT] = "const char *", [CELL_TEXTS] = "const char *const *", [CELL_NUMBER] = "uint32_t "};
        buffer_text(w->out, i > 0 ? ", " : "");
        if (is_rust(w))
            buffer_printf(w->out, "%s: %s", item->cells[i].field, item->cells[i].rust_type);
        else
            buffer_printf(w->out, "%s%s", types[item->cells[i].cell], item->cells[i].field);
    }
    if (is_rust(w))
        buffer_printf(w->out, ") -> %s {\n    %s { ", item->rust_type, item->rust_type);
    else
        buffer_printf(w->out, ") {\n    %s row{};\n", item->type);
    for (size_t i = 0; item->cells[i].cell != CELL_END; i++)
        if (is_rust(w))
            buffer_printf(w->out, "%s, ", item->cells[i].field);
        else
            buffer_printf(w->out, "    row.%s = %s;\n", item->cells[i].field, item->cells[i].field);
    if (item == &item_change)
        buffer_text(w->out, is_rust(w) ? "change: SET_CONDITION, when: ALWAYS, "
                                       : "    row.change = WHARF_SET_CONDITION;\n    row.when = WHARF_ALWAYS;\n");
    if (is_rust(w))
        buffer_printf(w->out, "..zero!(%s) }\n}\n\n", item->rust_type);
    else
        buffer_text(w->out, "    return row;\n}\n\n");
}

// The cells of a row.
struct cells {
    const char *text[CELLS_MAX];   // of CELL_TEXT; NULL: none
    const char *number[CELLS_MAX]; // of CELL_NUMBER
    size_t list;                   // number of the array of CELL_TEXTS; 0: none
};

static bool is_unset(const struct item *item, const struct cells *cells, size_t i) {
    return item->cells[i].cell == CELL_TEXT ? !cells->text[i]
           : item->cells[i].cell == CELL_TEXTS
               ? cells->list == 0
               : strcmp(cells->number[i], "0") == 0 || strcmp(cells->number[i], "CARRY_ALWAYS") == 0;
}

static void write_cell(const struct writer *w, const struct item *item, const struct cells *cells, size_t i) {
    if (is_unset(item, cells, i) && item->cells[i].cell != CELL_NUMBER)
        write_null(w);
    else if (item->cells[i].cell == CELL_TEXT)
        write_literal(w, cells->text[i]);
    else if (item->cells[i].cell == CELL_TEXTS) {
        write_name(w, "counts", cells->list);
        buffer_text(w->out, is_rust(w) ? ".0.as_ptr()" : "");
    } else if (strcmp(cells->number[i], "0") == 0)
        buffer_text(w->out, "0");
    else
        write_enum(w, cells->number[i]);
}

static void write_item(const struct writer *w, const struct item *item, const struct cells *cells) {
    bool is_c = w->language == LANGUAGE_C;
    buffer_text(w->out, "    ");
    buffer_text(w->out, is_c ? "" : item->helper);
    buffer_char(w->out, is_c ? '{' : '(');
    if (is_c && item == &item_change)
        buffer_text(w->out, ".change = WHARF_SET_CONDITION, ");
    for (size_t i = 0, n = 0; item->cells[i].cell != CELL_END; i++) {
        if (is_c && is_unset(item, cells, i))
            continue;
        buffer_text(w->out, n++ > 0 ? ", " : "");
        if (is_c)
            buffer_printf(w->out, ".%s = ", item->cells[i].field);
        write_cell(w, item, cells, i);
    }
    buffer_text(w->out, is_c ? "},\n" : "),\n");
}

static const char *when_name(uint32_t when) {
    return when == WHARF_CARRY_WHILE_SUSPENDED ? "CARRY_WHILE_SUSPENDED" : "CARRY_ALWAYS";
}

static void write_template_row(const struct writer *w, const struct row *row) {
    static const char *const fields[] = {"/metadata/labels", "/metadata/annotations", "/spec/nodeSelector",
                                         "/spec/tolerations", "/spec/schedulingGates"};
    if (w->language == LANGUAGE_C) {
        buffer_text(w->out, "    WHARF_CARRIED_POD_TEMPLATE(");
        write_literal(w, row->text);
        buffer_text(w->out, ", ");
        write_literal(w, row->value);
        buffer_text(w->out, "),\n");
        return;
    }
    for (size_t i = 0; i < COUNT(fields); i++) {
        AUTO_TEXT pointer = text_format("%s%s", row->text, fields[i]);
        struct cells cells = {.text = {pointer, row->value}, .number = {NULL, NULL, when_name(row->number)}};
        w->out->failed |= !pointer;
        write_item(w, &item_carried, &cells);
    }
}

static void write_row(const struct writer *w, const struct item *item, const struct row *row, size_t *n_lists) {
    static const char *const phases[] = {"PENDING", "SUSPENDED", "ACTIVE", "SUCCEEDED", "FAILED"};
    struct cells cells = {.text = {row->text}};
    if (item == &item_carried && row->is_template) {
        write_template_row(w, row);
        return;
    }
    if (item == &item_carried)
        cells = (struct cells){.text = {row->text, row->value}, .number = {NULL, NULL, when_name(row->number)}};
    else if (item == &item_pods)
        cells.list = row->counts ? ++*n_lists : 0;
    else if (item == &item_rule)
        cells = (struct cells){
            .text = {row->text, row->value, row->status},
            .number = {NULL, NULL, NULL, phases[row->number], row->flags ? "RULE_WHILE_SUSPENDED" : "0"}};
    else
        cells = (struct cells){.text = {row->text, row->status, row->reason, row->message}};
    write_item(w, item, &cells);
}

static void write_list_end(const struct writer *w, const struct item *item) {
    if (is_rust(w))
        buffer_printf(w->out, "    zero!(%s),\n]);\n", item->rust_type);
    else if (w->language == LANGUAGE_CPP)
        buffer_text(w->out, "    {},\n};\n");
    else
        buffer_printf(w->out, "    {.%s = NULL},\n};\n", item->cells[0].field);
}

static size_t rows_written(const struct rows *rows) {
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++)
        count += rows->list[i].is_template ? 5 : 1;
    return count;
}

void write_reason(const struct writer *w, size_t indent, const char *why, const char **last) {
    if (why && (!*last || strcmp(*last, why) != 0))
        write_comment(w->out, indent, "//", why);
    *last = why;
}

void write_items(const struct writer *w, const char *name, const struct item *item, const struct rows *rows) {
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
