// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/adapter_new/write.h"

#include "core/base/text.h"

#define WIDTH 110

void write_comment(struct buffer *out, size_t indent, const char *mark, const char *text) {
    size_t room = WIDTH - indent - strlen(mark) - 1;
    while (*text) {
        size_t len = strlen(text);
        if (len > room) {
            len = room;
            while (len > 0 && text[len] != ' ')
                len--;
            len = len > 0 ? len : strcspn(text, " ");
        }
        buffer_printf(out, "%*s%s %.*s\n", (int)indent, "", mark, (int)len, text);
        text += len + strspn(text + len, " ");
    }
}

void write_missing(struct buffer *out, size_t indent, const char *mark, const char *member, const char *text) {
    AUTO_TEXT sentence = text_format("%s: %s", member, text);
    out->failed |= !sentence;
    write_comment(out, indent, mark, sentence ? sentence : "");
}

// "`spec.managedBy: wharf.dev/host`", "the label `example.com/managed-by: wharf`".
static void write_managed(const struct description *d, struct buffer *out) {
    static const char labels[] = "/metadata/labels/";
    const struct guess_row *field = description_row(d, MANAGED_BY), *allowed = description_row(d, MANAGED_BY_ALLOWED);
    bool is_label = text_has_prefix(field->text, labels);
    buffer_text(out, is_label ? "the label `" : "`");
    for (const char *c = field->text + (is_label ? strlen(labels) : 1); *c; c++)
        if (*c == '~')
            buffer_char(out, *++c == '0' ? '~' : '/');
        else
            buffer_char(out, *c == '/' ? '.' : *c);
    buffer_printf(out, ": %s`", allowed ? allowed->text : "wharf.dev/host");
}

void write_template(const struct description *d, const char *source, const char *template_, struct buffer *out) {
    bool is_new = d->members[REFERENCES].count + d->members[CONTINUITY].count > 0; // has a flag or a field of ABI 1.2
    for (size_t i = 0; i < d->members[PODS].count; i++)
        is_new |= d->members[PODS].list[i].flags != 0;
    for (size_t i = 0; i < d->members[PHASES].count; i++)
        is_new |= d->members[PHASES].list[i].flags == WHARF_RULE_EXISTS;
    const char *const words[][2] = {{"@MINOR@", is_new ? "2" : "0"}, {"@NAME@", d->name},     {"@KIND@", d->kind},
                                    {"@GROUP@", d->group},           {"@PLURAL@", d->plural}, {"@SOURCE@", source}};
    for (const char *at = template_; *at;) {
        size_t i = 0;
        while (i < sizeof words / sizeof *words && !text_has_prefix(at, words[i][0]))
            i++;
        bool managed = text_has_prefix(at, "@MANAGED@");
        if (managed)
            write_managed(d, out);
        else if (i < sizeof words / sizeof *words)
            buffer_text(out, words[i][1]);
        else
            buffer_char(out, *at);
        at += managed ? strlen("@MANAGED@") : i < sizeof words / sizeof *words ? strlen(words[i][0]) : 1;
    }
}
