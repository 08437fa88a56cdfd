// SPDX-License-Identifier: Apache-2.0
// The parts of source text that C, C++ and Rust share.
#pragma once

#include "core/cmd/adapter_new/write.h"

struct code_writer {
    const struct description *d;
    enum language language;
    struct buffer *out;
};

// The layout of a list's item.
struct list_item;
extern const struct list_item item_carried, item_pods, item_rule, item_change, item_reference, item_continuity;

bool is_rust(const struct code_writer *writer);
void write_name(const struct code_writer *writer, const char *name, size_t number); // 0: none
void write_literal(const struct code_writer *writer, const char *text);             // NULL: a null
void write_enum(const struct code_writer *writer, const char *name);                // without "WHARF_"
// `static const char *const versions[] = {"v1", NULL};`
void write_texts(const struct code_writer *writer, const char *name, size_t number, const char *const *texts);
// The same of rows, with their reasons.
void write_text_rows(const struct code_writer *writer, const char *name, const struct guess_rows *rows);
// The reason as a comment, unless it is that of the row before.
void write_reason(const struct code_writer *writer, size_t indent, const char *why, const char **last);
// An array of the items.
void write_items(const struct code_writer *writer, const char *name, const struct list_item *item,
                 const struct guess_rows *rows);
