// SPDX-License-Identifier: Apache-2.0
// The parts of source text that C, C++ and Rust share.
#pragma once

#include "core/cmd/adapter_new/write.h"

struct writer {
    const struct description *d;
    enum language language;
    struct buffer *out;
};

// The layout of a list's item.
struct item;
extern const struct item item_carried, item_pods, item_rule, item_change;

bool is_rust(const struct writer *writer);
void write_name(const struct writer *writer, const char *name, size_t number); // 0: none
void write_literal(const struct writer *writer, const char *text);             // NULL: a null
void write_enum(const struct writer *writer, const char *name);                // without "WHARF_"
// `static const char *const versions[] = {"v1", NULL};`
void write_texts(const struct writer *writer, const char *name, size_t number, const char *const *texts);
// The same of rows, with their reasons.
void write_text_rows(const struct writer *writer, const char *name, const struct rows *rows);
// The reason as a comment, unless it is that of the row before.
void write_reason(const struct writer *writer, size_t indent, const char *why, const char **last);
// The function that makes an item, in C++ and Rust.
void write_helper(const struct writer *writer, const struct item *item);
// An array of the items.
void write_items(const struct writer *writer, const char *name, const struct item *item, const struct rows *rows);
