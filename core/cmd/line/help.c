// SPDX-License-Identifier: Apache-2.0
// `wharf COMMAND --help`, and the output of problems and errors.
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/cmd/main.h"

#include <stdlib.h>
#include <string.h>

#define SPELLING_MAX 64

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
    spell(flag, spelling);
    printf("%-*s  ", width, spelling);
    for (const char *line = flag->help; line;) {
        size_t len = strcspn(line, "\n");
        bool last = line[len] == '\0';
        printf("%.*s%s", (int)len, line, last ? "" : "\n");
        line = last ? NULL : line + len + 1;
        if (line)
            printf("%*s", width + 2, "");
    }
    AUTO_TEXT words = flag->words ? flags_list(flag->words) : NULL;
    printf("%s%s", words ? ": " : "", words ? words : "");
    if (flag->fallback)
        printf(" (default %s)", flag->fallback);
    putchar('\n');
}

void help_print(const struct subcommand *command) {
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

size_t main_print_problems(const struct problems *problems) {
    for (size_t i = 0; i < problems->count; i++)
        text_print_line(stderr, problems->list[i]);
    if (problems->lost > 0)
        fprintf(stderr, "%zu more problems, omitted for lack of memory\n", problems->lost);
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
