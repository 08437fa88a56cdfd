// SPDX-License-Identifier: Apache-2.0
// `wharf COMMAND --help`; `wharf help configuration [KEY]`: the keys from the tables of the reader, of which
// docs/configuration.md has the output; manual pages (mdoc(7)) from the tables of commands; and the output of problems
// and errors.
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/cmd/main.h"
#include "core/config/config.h"

#include <ctype.h>
#include <errno.h>

#define SPELLING_MAX 64
#define WIDTH 100
#define INDENT 4
#define KEYS_MAX 512

// "      --config FILE", "  -f, --file FILE", "  -f FILE".
static void spell(const struct flag *flag, char out[SPELLING_MAX]) {
    char letter[8] = "      ";
    if (flag->letter)
        snprintf(letter, sizeof(letter), "  -%c%s", flag->letter, flag->name ? ", " : "");
    snprintf(out, SPELLING_MAX, "%s%s%s%s%s", letter, flag->name ? "--" : "", flag->name ? flag->name : "",
             flag->argument ? " " : "", flag->argument ? flag->argument : "");
}

static int width_of(const struct flag *flag) {
    char spelling[SPELLING_MAX];
    spell(flag, spelling);
    return (int)strlen(spelling);
}

static void print_flag(const struct flag *flag, int width) {
    char spelling[SPELLING_MAX];
    AUTO_TEXT words = flag->words ? flags_list(flag->words) : NULL;
    spell(flag, spelling);
    printf("%-*s  ", width, spelling);
    for (const char *at = flag->help; *at; at++)
        if (*at == '\n')
            printf("\n%*s", width + 2, "");
        else
            putchar(*at);
    printf("%s%s", words ? ": " : "", words ? words : "");
    if (flag->fallback)
        printf(" (default %s)", flag->fallback);
    putchar('\n');
}

static void print_one(const struct subcommand *command) {
    int width = 0;
    const struct flag *flag;
    printf("%s\nUsage:\n  wharf %s", command->text, command->name);
    if (command->operand)
        printf(" %s", command->operand);
    for (size_t i = 0; (flag = flags_at(command, i)); i++) {
        if (flag->required && flag->letter)
            printf(" -%c %s", flag->letter, flag->argument);
        else if (flag->required)
            printf(" --%s %s", flag->name, flag->argument);
        width = width_of(flag) > width ? width_of(flag) : width;
    }
    printf("%s\n\nFlags:\n", flags_at(command, 1) ? " [flags]" : "");
    for (size_t i = 0; (flag = flags_at(command, i)); i++)
        print_flag(flag, width);
}

void help_print(const struct subcommand *command) {
    if (!command->below) {
        print_one(command);
        return;
    }
    fputs(command->text, stdout);
    for (size_t i = 0; command->below[i]; i++) {
        putchar('\n');
        print_one(command->below[i]);
    }
}

// Breaks the text at spaces.
static void print_wrapped(const char *text) {
    while (*text) {
        size_t len = strlen(text);
        if (len > WIDTH - INDENT) {
            len = WIDTH - INDENT;
            while (len > 0 && text[len] != ' ')
                len--;
        }
        printf("%*s%.*s\n", INDENT, "", (int)len, text);
        text += len + strspn(text + len, " ");
    }
}

static void print_key(const struct config_key *key) {
    printf("%s%s\n", key->path, key->required ? "  (required)" : "");
    char expected[512];
    snprintf(expected, sizeof expected, "Expects %s.", key->expected);
    print_wrapped(expected);
    print_wrapped(key->help);
}

// "workers[].name" and "workers.name" are the same. The length of the part of `path` that is `key`; 0: another one.
static size_t match(const char *path, const char *key) {
    const char *at = path;
    while (*key != '\0')
        if (text_has_prefix(at, "[]") && !text_has_prefix(key, "[]"))
            at += 2;
        else if (*at++ != *key++)
            return 0;
    return (size_t)(at - path);
}

// The search for KEY and the keys below.
struct key_question {
    const char *key; // NULL: all
    size_t found;
    char *paths[KEYS_MAX]; // of all, for suggestions
    size_t count;
};

static void answer(void *ctx, const struct config_key *key) {
    struct key_question *question = ctx;
    size_t len = question->key ? match(key->path, question->key) : 0;
    if (question->count < KEYS_MAX && (question->paths[question->count] = strdup(key->path)))
        question->count++;
    if (question->key && (len == 0 || !strchr(".[", key->path[len])))
        return;
    if (!question->key || question->found > 0)
        putchar('\n');
    question->found++;
    print_key(key);
}

// The nearest key, or the first that ends with KEY.
static struct error *unknown(const struct key_question *question) {
    const char *meant = NULL;
    AUTO_TEXT tail = text_format(".%s", question->key);
    for (size_t i = 0; tail && !meant && i < question->count; i++)
        meant = text_has_suffix(question->paths[i], tail) ? question->paths[i] : NULL;
    if (!meant)
        meant = suggest(question->key, (const char *const *)question->paths, question->count);
    return error_new(ERROR_USAGE, "unknown key \"%s\"%s%s%s wharf help configuration lists all keys", question->key,
                     meant ? ", did you mean \"" : ":", meant ? meant : "", meant ? "\"?" : "");
}

struct error *help_print_configuration(const char *key) {
    struct key_question question = {.key = key};
    if (!key)
        puts("The keys of the configuration file, which is YAML. [] is an item of a list. Paths are absolute, or "
             "relative to\n"
             "the directory of the file. Durations are Go's: 15m, 1h30m. wharf check --config FILE reports all "
             "problems.");
    struct error *error = config_describe(answer, &question);
    if (!error && question.found == 0)
        error = unknown(&question);
    for (size_t i = 0; i < question.count; i++)
        free(question.paths[i]);
    return error;
}

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
    fprintf(out, ".Nm wharf Cm %s\n", command->name);
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

static void put_description(FILE *out, const struct subcommand *command, bool is_below) {
    if (is_below) {
        fprintf(out, ".Ss %s\n", command->name);
        put_paragraphs(out, command->text);
    }
    put_flags(out, command);
}

static void put_page(FILE *out, const struct subcommand *command) {
    fputs(".\\\" SPDX-License-Identifier: Apache-2.0\n.Dd " DATE "\n.Dt WHARF-", out);
    for (const char *letter = command->name; *letter; letter++)
        fputc(toupper((unsigned char)*letter), out);
    fputs(" 1\n.Os wharf\n", out);
    fprintf(out, ".Sh NAME\n.Nm wharf-%s\n.Nd %s\n", command->name, command->summary);
    fputs(".Sh SYNOPSIS\n", out);
    const struct subcommand *const itself[] = {command, NULL}, *const *all = command->below ? command->below : itself;
    for (size_t i = 0; all[i]; i++)
        put_synopsis(out, all[i]);
    fputs(".Sh DESCRIPTION\n", out);
    put_paragraphs(out, command->text);
    for (size_t i = 0; all[i]; i++)
        put_description(out, all[i], command->below);
    fputs(".Sh EXIT STATUS\nUnless said otherwise above: 0 on success, 1 if there are problems or findings, 2 if "
          "the\ncommand line is wrong, 141 if the reader of the output has gone.\n"
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

size_t main_print_problems(const char *prefix, const struct problems *problems) {
    for (size_t i = 0; i < problems->count; i++) {
        fputs(prefix, stderr);
        text_print_line(stderr, problems->list[i]);
    }
    if (problems->lost > 0)
        fprintf(stderr, "%s%zu more problems, omitted for lack of memory\n", prefix, problems->lost);
    return problems->count + problems->lost;
}

static int main_exit_code(const struct error *error) {
    return !error ? EXIT_SUCCESS : error->code == ERROR_USAGE ? EXIT_USAGE : EXIT_FAILURE;
}

int main_fail(struct error *error, const struct subcommand *command) {
    fputs("error: ", stderr);
    text_print_line(stderr, error_text(error));
    int code = main_exit_code(error);
    if (code == EXIT_USAGE)
        fprintf(stderr, "See 'wharf %s%s' for usage.\n", command ? command->name : "help", command ? " --help" : "");
    error_free(error);
    return code;
}

int main_log_end(struct error *error, const char *failed, const char *stopped) {
    if (error)
        log_fields(LOG_ERROR, failed, {"error", error_text(error)});
    else
        log_plain(LOG_INFO, stopped);
    int code = main_exit_code(error);
    error_free(error);
    return code;
}
