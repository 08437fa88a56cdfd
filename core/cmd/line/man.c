// SPDX-License-Identifier: Apache-2.0
// `wharf help --man DIR`: a manual page (mdoc(7)) of each command, from the same tables as the help texts.
#include "core/cmd/main.h"

#include "core/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define DATE "January 2, 2026" // a constant, so that builds are reproducible

// One line of running text with each sentence on a separate line; escapes requests of mdoc.
static void put_text(FILE *out, const char *text, size_t len) {
    bool at_start = true;
    for (size_t i = 0; i < len; i++) {
        bool sentence =
            text[i] == ' ' && i > 0 && text[i - 1] == '.' && i + 1 < len && isupper((unsigned char)text[i + 1]);
        if (at_start && (text[i] == '.' || text[i] == '\''))
            fputs("\\&", out);
        if (text[i] == '\\')
            fputs("\\e", out);
        else
            fputc(sentence ? '\n' : text[i], out);
        at_start = sentence;
    }
    if (len > 0)
        fputc('\n', out);
}

// Empty lines divide paragraphs; indented lines stay verbatim.
static void put_paragraphs(FILE *out, const char *text) {
    bool literal = false, gap = false;
    for (const char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        bool indented = *line == ' ';
        if (literal && !indented)
            fputs(".Ed\n", out);
        if (indented && !literal)
            fputs(".Bd -literal -offset indent\n", out);
        else if (gap && !indented && len > 0)
            fputs(".Pp\n", out);
        size_t blanks = indented ? strspn(line, " ") : 0;
        put_text(out, line + blanks, len - blanks);
        literal = indented;
        gap = len == 0;
        line += len + (line[len] == '\n');
    }
    if (literal)
        fputs(".Ed\n", out);
}

static void put_flag(FILE *out, const struct flag *flag, const char *macro) {
    const char *argument = flag->argument ? flag->argument : "";
    fprintf(out, "%s", macro);
    if (flag->letter)
        fprintf(out, " Fl %c%s", flag->letter, flag->name ? " ," : "");
    if (flag->name)
        fprintf(out, " Fl -%s", flag->name);
    fprintf(out, "%s%s\n", *argument != '\0' ? " Ar " : "", argument);
}

static void put_synopsis(FILE *out, const struct subcommand *command) {
    fprintf(out, ".Sh SYNOPSIS\n.Nm wharf Cm %s\n", command->name);
    const struct flag *flag;
    for (size_t i = 0; (flag = flags_at(command, i)) && flags_at(command, i + 1); i++) { // without --help
        struct flag shortest = {
            .name = flag->letter ? NULL : flag->name, .letter = flag->letter, .argument = flag->argument};
        put_flag(out, &shortest, flag->required ? "." : ".Op");
    }
    if (command->operand)
        fprintf(out, ".Li \"%s\"\n", command->operand);
}

static void put_flags(FILE *out, const struct subcommand *command) {
    const struct flag *flag;
    if (!flags_at(command, 1))
        return;
    fputs(".Pp\nThe flags are:\n.Bl -tag -width Ds\n", out);
    for (size_t i = 0; (flag = flags_at(command, i)) && flags_at(command, i + 1); i++) {
        put_flag(out, flag, ".It");
        AUTO_TEXT words = flag->words ? flags_list(flag->words) : NULL;
        AUTO_TEXT help = text_format("%s%s%s", flag->help, words ? ": " : "", words ? words : "");
        put_paragraphs(out, help ? help : flag->help);
        if (flag->fallback)
            fprintf(out, ".Pq default Cm %s\n", flag->fallback);
    }
    fputs(".El\n", out);
}

static void put_page(FILE *out, const struct subcommand *command) {
    char title[64] = "WHARF-";
    for (size_t i = 0, at = strlen(title); command->name[i] != '\0' && at + 1 < sizeof title; i++, at++) {
        title[at] = (char)toupper((unsigned char)command->name[i]);
        title[at + 1] = '\0';
    }
    fprintf(out, ".\\\" SPDX-License-Identifier: Apache-2.0\n.Dd " DATE "\n.Dt %s 1\n.Os wharf\n", title);
    fprintf(out, ".Sh NAME\n.Nm wharf-%s\n.Nd %s\n", command->name, command->summary);
    put_synopsis(out, command);
    fputs(".Sh DESCRIPTION\n", out);
    put_paragraphs(out, command->text);
    put_flags(out, command);
    fputs(".Sh EXIT STATUS\nUnless said otherwise above: 0 on success, 1 if there are problems or findings, 2 if "
          "the\ncommand line is wrong.\n"
          ".Sh SEE ALSO\n.Xr wharf 1\n",
          out);
}

struct error *man_write(const char *directory, const struct subcommand *command) {
    AUTO_TEXT path = text_format("%s/wharf-%s.1", directory, command->name);
    if (!path)
        return error_no_memory();
    FILE *out = fopen(path, "we");
    if (!out)
        return error_new(ERROR_IO, "%s: %s", path, strerror(errno));
    put_page(out, command);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed)
        return error_new(ERROR_IO, "%s: cannot be written", path);
    return NULL;
}
