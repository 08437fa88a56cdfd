// SPDX-License-Identifier: Apache-2.0
// The data of a kind as source text in C, C++ and Rust. A list becomes an array of its own.
#include "core/cmd/adapter_new/write_code.h"

#include "core/cmd/main.h"

// The members in the order of wharf_kind. `item` NULL: a text, or with `is_list` a list of texts.
static const struct {
    const char *name;
    bool is_list;
    const struct list_item *item;
} members[N_MEMBERS] = {
    [GROUP] = {"group", false, NULL},
    [VERSIONS] = {"versions", true, NULL},
    [KIND] = {"kind", false, NULL},
    [PLURAL] = {"plural", false, NULL},
    [FLAGS] = {"flags", false, NULL},
    [MANAGED_BY] = {"managed_by", false, NULL},
    [MANAGED_BY_BUILTIN] = {"managed_by_builtin", false, NULL},
    [MANAGED_BY_ALLOWED] = {"managed_by_allowed", true, NULL},
    [SUSPEND] = {"suspend", false, NULL},
    [SUSPEND_VALUE] = {"suspend_value", false, NULL},
    [CARRIED] = {"carried", true, &item_carried},
    [REMOVED] = {"removed", true, NULL},
    [PODS] = {"pods", true, &item_pods},
    [STATUS_REMOVED] = {"status_removed", true, NULL},
    [OBSERVED_GENERATION] = {"observed_generation", false, NULL},
    [CONDITION_TIME] = {"condition_time", false, NULL},
    [SUSPENDED_STATUS] = {"suspended_status", true, &item_change},
    [RESUMED_STATUS] = {"resumed_status", true, &item_change},
    [PHASES] = {"phases", true, &item_rule},
    [FINISHED_AT] = {"finished_at", false, NULL},
    [REFERENCES] = {"references", true, &item_reference},
    [CONTINUITY] = {"continuity", true, &item_continuity},
};

const char *write_member_name(enum member member) {
    return members[member].name;
}

static void write_lists(const struct code_writer *w) {
    for (enum member i = 0; i < N_MEMBERS; i++) {
        const struct guess_rows *rows = &w->d->members[i];
        if (!members[i].is_list || rows->count == 0)
            continue;
        if (rows->note)
            write_comment(w->out, 0, "//", rows->note);
        if (members[i].item)
            write_items(w, members[i].name, members[i].item, rows);
        else
            write_text_rows(w, members[i].name, rows);
        buffer_char(w->out, '\n');
    }
}

static void write_flags(const struct code_writer *w, uint32_t flags) {
    static const char *const names[] = {"KIND_NO_STATUS_SUBRESOURCE", "KIND_NEVER_FINISHES"};
    for (size_t i = 0, n = 0; i < COUNT(names); i++)
        if (flags & (UINT32_C(1) << i)) {
            buffer_text(w->out, n++ > 0 ? " | " : "");
            write_enum(w, names[i]);
        }
}

static void write_member(const struct code_writer *w, enum member i) {
    const struct guess_rows *rows = &w->d->members[i];
    if (rows->note && rows->count == 0)
        write_missing(w->out, 4, "//", members[i].name, rows->note);
    else if (rows->note && !members[i].is_list)
        write_comment(w->out, 4, "//", rows->note);
    if (rows->count == 0)
        return;
    if (!members[i].is_list && rows->list[0].why)
        write_comment(w->out, 4, "//", rows->list[0].why);
    if ((i == REFERENCES || i == CONTINUITY) && w->language == LANGUAGE_C) { // with the size of its elements
        buffer_text(w->out,
                    i == REFERENCES ? "    WHARF_REFERENCES(references),\n" : "    WHARF_CONTINUITY(continuity),\n");
        return;
    }
    static const char *const before[] = {"    .", "    kind.", "    "};
    buffer_text(w->out, before[w->language]);
    buffer_text(w->out, members[i].name);
    buffer_text(w->out, is_rust(w) ? ": " : " = ");
    if (members[i].is_list) {
        write_name(w, members[i].name, 0);
        buffer_text(w->out, is_rust(w) ? ".0.as_ptr()" : "");
    } else if (i == FLAGS)
        write_flags(w, rows->list[0].number);
    else
        write_literal(w, rows->list[0].text);
    buffer_text(w->out, w->language == LANGUAGE_CPP ? ";\n" : ",\n");
}

// The parts around the data.
PART(c_begin, "core/cmd/adapter_new/parts/c.begin");
PART(c_kind, "core/cmd/adapter_new/parts/c.kind");
PART(c_end, "core/cmd/adapter_new/parts/c.end");
PART(cpp_begin, "core/cmd/adapter_new/parts/cpp.begin");
PART(cpp_kind, "core/cmd/adapter_new/parts/cpp.kind");
PART(cpp_end, "core/cmd/adapter_new/parts/cpp.end");
PART(rust_begin, "core/cmd/adapter_new/parts/rust.begin");
PART(rust_kind, "core/cmd/adapter_new/parts/rust.kind");
PART(rust_end, "core/cmd/adapter_new/parts/rust.end");

bool write_code(const struct description *d, enum language language, struct buffer *out) {
    static const char *const parts[][3] = {{adapter_part_c_begin, adapter_part_c_kind, adapter_part_c_end},
                                           {adapter_part_cpp_begin, adapter_part_cpp_kind, adapter_part_cpp_end},
                                           {adapter_part_rust_begin, adapter_part_rust_kind, adapter_part_rust_end}};
    struct code_writer writer = {d, language, out};
    write_template(d, "", parts[language][0], out);
    write_lists(&writer);
    write_template(d, "", parts[language][1], out);
    for (enum member i = 0; i < N_MEMBERS; i++)
        write_member(&writer, i);
    write_template(d, "", parts[language][2], out);
    return !out->failed;
}
