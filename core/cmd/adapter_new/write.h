// SPDX-License-Identifier: Apache-2.0
// A description as text.
#pragma once

#include "core/base/buffer.h"
#include "core/cmd/adapter_new/description.h"

// The content of a file as the text adapter_part_<name>, which the assembler reads.
#define PART(name, path)                                                                                               \
    __asm__(".pushsection .rodata\n"                                                                                   \
            "adapter_part_" #name ":\n"                                                                                \
            ".incbin \"" path "\"\n"                                                                                   \
            ".byte 0\n"                                                                                                \
            ".popsection\n");                                                                                          \
    extern const char adapter_part_##name[] __attribute__((visibility("hidden")))

enum language { LANGUAGE_C, LANGUAGE_CPP, LANGUAGE_RUST };

// write_code.c. The source of an adapter. False when out of memory.
bool write_code(const struct description *description, enum language language, struct buffer *out);
const char *write_member_name(enum member member); // of wharf_kind

// write_generic.c. The settings of the generic adapter, as a part of a configuration.
bool write_generic(const struct description *description, struct buffer *out);

// write_text.c
// Appends a sentence as comments, broken between words: each line begins with the indentation and the mark.
void write_comment(struct buffer *out, size_t indent, const char *mark, const char *text);
// The same about a member without a value: "suspend: No field was found."
void write_missing(struct buffer *out, size_t indent, const char *mark, const char *member, const char *text);
// Appends a template; @NAME@, @KIND@, @GROUP@, @PLURAL@, @SOURCE@ and @MANAGED@ become those of the description,
// @MINOR@ the least minor version of the ABI.
void write_template(const struct description *description, const char *source, const char *template_,
                    struct buffer *out);

// write_files.c
// Writes the directory of an adapter; a directory that exists must be empty.
struct error *write_directory(struct description *description, enum language language, const char *directory);
const char *write_source_name(struct description *description, enum language language);
