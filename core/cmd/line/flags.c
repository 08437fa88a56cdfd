// SPDX-License-Identifier: Apache-2.0
// The flags of a command, read with getopt_long.
#include "core/cmd/main.h"

#include "core/base/suggest.h"
#include "core/base/text.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS_MAX 24
#define HELP 'h'
#define LONG_BASE 256 // what getopt_long returns for a long flag is this plus its index

struct reading {
    const struct subcommand *command;
    const char **values;
    char letters[2 * FLAGS_MAX + 4];
    struct option options[FLAGS_MAX + 2];
};

int flags_usage_error(const struct subcommand *command, const char *format, ...) {
    fputs("error: ", stderr);
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nSee 'wharf %s --help' for usage.\n", command->name);
    return EXIT_USAGE;
}

// "--config", or "-f" for a flag without a name.
static void spell(const struct flag *flag, char *out, size_t size) {
    if (flag->name)
        snprintf(out, size, "--%s", flag->name);
    else
        snprintf(out, size, "-%c", flag->letter);
}

static void prepare(struct reading *reading) {
    const struct subcommand *command = reading->command;
    size_t n_letters = 0, n_options = 0;
    reading->letters[n_letters++] = '+'; // no reordering
    reading->letters[n_letters++] = ':'; // missing arguments are reported as ':'
    reading->letters[n_letters++] = HELP;
    for (size_t i = 0; i < command->n_flags && i < FLAGS_MAX; i++) {
        const struct flag *flag = &command->flags[i];
        if (flag->letter)
            reading->letters[n_letters++] = flag->letter;
        if (flag->letter && flag->argument)
            reading->letters[n_letters++] = ':';
        if (flag->name)
            reading->options[n_options++] = (struct option){.name = flag->name,
                                                            .has_arg = flag->argument ? required_argument : no_argument,
                                                            .val = LONG_BASE + (int)i};
    }
    reading->options[n_options] = (struct option){.name = "help", .val = HELP};
}

static const struct flag *find_flag(const struct subcommand *command, int option) {
    for (size_t i = 0; i < command->n_flags; i++)
        if (option == LONG_BASE + (int)i || (command->flags[i].letter && option == command->flags[i].letter))
            return &command->flags[i];
    return NULL;
}

// The flag that was probably meant: the only one with this prefix, or the most similar one.
static const char *meant_by(const struct subcommand *command, const char *word) {
    const char *names[FLAGS_MAX + 1];
    const char *begins = NULL;
    size_t count = 0, n_begins = 0;
    for (size_t i = 0; i < command->n_flags && i < FLAGS_MAX; i++)
        if (command->flags[i].name)
            names[count++] = command->flags[i].name;
    names[count++] = "help";
    for (size_t i = 0; i < count; i++) {
        if (*word == '\0' || !text_has_prefix(names[i], word))
            continue;
        begins = names[i];
        n_begins++;
    }
    return n_begins == 1 ? begins : suggest(word, names, count);
}

static int unknown_flag(const struct subcommand *command, const char *argument) {
    AUTO_TEXT flag = strndup(argument, strcspn(argument, "="));
    const char *shown = flag ? flag : argument;
    const char *meant = meant_by(command, shown + strspn(shown, "-"));
    return flags_usage_error(command, "unknown flag: %s%s%s%s", shown, meant ? ", did you mean --" : "",
                             meant ? meant : "", meant ? "?" : "");
}

// getopt_long accepts "--conf" for "--config"; wharf does not, so that a new flag never breaks a script.
static bool is_abbreviated(const struct reading *reading, const char *argument, int option) {
    const struct flag *flag = find_flag(reading->command, option);
    const char *name = flag ? flag->name : "help";
    if (!text_has_prefix(argument, "--") || !name || (option < LONG_BASE && option != HELP))
        return false;
    return strlen(name) != strcspn(argument + 2, "=");
}

// 0: continue; else the exit code.
static int keep(struct reading *reading, int option, const char *argument) {
    const struct subcommand *command = reading->command;
    const struct flag *flag = find_flag(command, option);
    if (!flag)
        return unknown_flag(command, argument);
    char name[64];
    spell(flag, name, sizeof(name));
    const char **value = &reading->values[flag - command->flags];
    if (flag->argument && (!optarg || *optarg == '\0'))
        return flags_usage_error(command, "flag needs an argument: %s", name);
    if (flag->argument && *value)
        return flags_usage_error(command, "flag given twice: %s", name);
    *value = flag->argument ? optarg : "";
    return 0;
}

// A flag that getopt_long rejects.
static int wrong_flag(const struct reading *reading, int option, const char *argument) {
    const struct subcommand *command = reading->command;
    const struct flag *flag = find_flag(command, optopt);
    if ((!flag && optopt != HELP) || is_abbreviated(reading, argument, optopt))
        return unknown_flag(command, argument);
    char name[64] = "--help";
    if (flag)
        spell(flag, name, sizeof(name));
    return flags_usage_error(command, option == ':' ? "flag needs an argument: %s" : "flag takes no argument: %s",
                             name);
}

static bool is_object(const struct subcommand *command) {
    return command->operand && text_has_prefix(command->operand, MAIN_OBJECT);
}

// With the flag that takes it if there is one that has to be given, or that it has to follow "--".
static int unexpected(const struct reading *reading, const char *argument) {
    const struct subcommand *command = reading->command;
    char name[64];
    if (command->operand && strstr(command->operand, " -- "))
        return flags_usage_error(command,
                                 "unexpected argument: %s: the command follows --, as in wharf %s job/train -- ls",
                                 argument, command->name);
    for (size_t i = 0; !command->operand && i < command->n_flags; i++) {
        if (!command->flags[i].required || reading->values[i])
            continue;
        spell(&command->flags[i], name, sizeof(name));
        return flags_usage_error(command, "unexpected argument: %s, did you mean %s %s?", argument, name, argument);
    }
    return flags_usage_error(command, "unexpected argument: %s", argument);
}

static int keep_operand(struct reading *reading, const char *argument) {
    const struct subcommand *command = reading->command;
    const char **operand = &reading->values[command->n_flags];
    if (*operand && is_object(command) && !operand[1] && !strchr(*operand, '/'))
        operand++;
    if (!command->operand || *operand)
        return unexpected(reading, argument);
    *operand = argument;
    return 0;
}

// -1: continue; else the exit code.
static int read_next(struct reading *reading, int argc, char **argv) {
    const char *argument = argv[optind];
    int option = getopt_long(argc, argv, reading->letters, reading->options, NULL);
    int code = 0;
    if (option == -1 && optind >= argc)
        return -1;
    if (option == -1)
        code = keep_operand(reading, argv[optind++]);
    else if (option == '?' || option == ':')
        code = wrong_flag(reading, option, argument);
    else if (is_abbreviated(reading, argument, option))
        code = unknown_flag(reading->command, argument);
    else if (option != HELP)
        code = keep(reading, option, argument);
    else
        help_print(reading->command);
    return option == HELP || code != 0 ? code : -1;
}

// Required flags, and defaults.
static int complete(const struct reading *reading) {
    const struct subcommand *command = reading->command;
    for (size_t i = 0; i < command->n_flags; i++) {
        const struct flag *flag = &command->flags[i];
        char name[64];
        spell(flag, name, sizeof(name));
        if (flag->required && !reading->values[i])
            return flags_usage_error(command, "flag is required: %s", name);
        if (!reading->values[i])
            reading->values[i] = flag->fallback;
    }
    return -1;
}

bool flags_read(const struct subcommand *command, const struct arguments *arguments, const char **values, int *code) {
    struct reading reading = {.command = command, .values = values};
    int argc = arguments->argc + 1;
    char **argv = arguments->argv - 1;
    for (size_t i = 0; i <= command->n_flags + is_object(command); i++)
        values[i] = NULL;
    prepare(&reading);
    opterr = 0;
    optind = 1;
    *code = -1;
    while (*code < 0 && optind < argc)
        *code = read_next(&reading, argc, argv);
    if (*code < 0)
        *code = complete(&reading);
    return *code < 0;
}
