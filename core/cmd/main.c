// SPDX-License-Identifier: Apache-2.0
// The table of commands.
#include "core/cmd/main.h"

#include "core/base/suggest.h"
#include "core/cmd/line/complete.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static int run_adapter(const struct arguments *arguments);
static int run_help(const struct arguments *arguments);

static const struct flag adapter_flags[] = {
    {.name = "objects",
     .argument = "DIR",
     .help = "a folder with objects of its kinds, YAML or JSON; documents beside an object\n"
             "without a kind are steps of its life: a status of its mirror, a patch by a user"},
    {.name = "settings", .argument = "FILE", .help = "the adapter's settings, YAML"},
    {.name = "save", .argument = "DIR", .help = "write an object that reproduces each finding into this folder"},
    {.name = "quiet", .letter = 'q', .help = "print only findings, warnings and the summary"},
    {.name = "verbose", .letter = 'v', .help = "print messages and all fields in the lives of the objects"},
};

// Parses its own flags.
static const struct subcommand subcommand_adapter = {
    .name = "adapter",
    .run = run_adapter,
    .operand = "test FILE.so",
    .flags = adapter_flags,
    .n_flags = sizeof(adapter_flags) / sizeof(adapter_flags[0]),
    .summary = "test an adapter (for its author)",
    .text = "Loads an adapter in a separate process and calls its functions on the objects of a folder, on objects\n"
            "generated from what its kinds declare, and on damaged variants of both. Reports which rules of\n"
            "<wharf/adapter.h> it violates, and where they are written. With objects, also shows the phase after each\n"
            "step of their lives and which changes were carried, and warns of rules and pointers that match nothing.\n"
            "Exits with 0 if there are no findings, else with 1.\n",
};

enum { MAN, N_HELP_FLAGS };

static const struct flag help_flags[] = {
    [MAN] = {.name = "man",
             .argument = "DIR",
             .help = "write a manual page of each command, or of COMMAND, into this folder"},
};

static const struct subcommand subcommand_help = {
    .name = "help",
    .run = run_help,
    .operand = "[configuration [KEY]|COMMAND]",
    .flags = help_flags,
    .n_flags = N_HELP_FLAGS,
    .summary = "print help, also for one command",
    .text =
        "Prints help for all commands or for one; with configuration, the keys of the configuration file, or KEY and\n"
        "the keys below it.\n",
};

static const struct subcommand *const commands[] = {
    &subcommand_run,      &subcommand_check,   &subcommand_adapters, &subcommand_plan,       &subcommand_rbac,
    &subcommand_init,     &subcommand_guard,   &subcommand_join,     &subcommand_leave,      &subcommand_adapter,
    &subcommand_status,   &subcommand_explain, &subcommand_logs,     &subcommand_exec,       &subcommand_cordon,
    &subcommand_uncordon, &subcommand_drain,   &subcommand_retry,    &subcommand_completion, &subcommand_version,
    &subcommand_help};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

const struct subcommand *const *main_commands(size_t *count) {
    *count = N_COMMANDS;
    return commands;
}

static const struct subcommand *find_command(const char *name) {
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static void print_overview(FILE *out) {
    fputs("wharf runs Kubernetes workloads that are delegated with .spec.managedBy in worker clusters.\n\n"
          "Usage:\n  wharf COMMAND [flags]\n\nCommands:\n",
          out);
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\nUse \"wharf help COMMAND\" for more about a command, \"wharf help configuration\" for the configuration's "
          "keys.\n",
          out);
}

static int unknown_command(const char *name) {
    const char *known[N_COMMANDS];
    for (size_t i = 0; i < N_COMMANDS; i++)
        known[i] = commands[i]->name;
    const char *meant = suggest(name, known, N_COMMANDS);
    fprintf(stderr, "error: unknown command \"%s\" for \"wharf\"%s%s%s\n", name, meant ? ", did you mean \"" : "",
            meant ? meant : "", meant ? "\"?" : "");
    fputs("See 'wharf help' for usage.\n", stderr);
    return EXIT_USAGE;
}

static int write_pages(const char *directory, const struct subcommand *only) {
    struct error *error = NULL;
    for (size_t i = 0; !error && i < N_COMMANDS; i++)
        if (!only || commands[i] == only)
            error = man_write(directory, commands[i]);
    return error ? main_fail(error) : EXIT_SUCCESS;
}

static int run_help(const struct arguments *arguments) {
    const char *values[N_HELP_FLAGS + 1];
    int code = EXIT_SUCCESS;
    struct arguments before = *arguments;
    const char *key = NULL;
    if (before.argc == 2 && strcmp(before.argv[0], HELP_CONFIGURATION) == 0 && before.argv[1][0] != '-')
        key = before.argv[--before.argc];
    if (!flags_read(&subcommand_help, &before, values, &code))
        return code;
    const char *topic = values[N_HELP_FLAGS];
    if (topic && strcmp(topic, HELP_CONFIGURATION) == 0 && !values[MAN])
        return help_print_configuration(key);
    const struct subcommand *command = topic ? find_command(topic) : NULL;
    if (topic && !command)
        return unknown_command(topic);
    if (values[MAN])
        return write_pages(values[MAN], command);
    if (!topic) {
        print_overview(stdout);
        return EXIT_SUCCESS;
    }
    help_print(command);
    return EXIT_SUCCESS;
}

static int run_adapter(const struct arguments *arguments) {
    for (int i = 0; i < arguments->argc; i++) {
        if (strcmp(arguments->argv[i], "--help") != 0 && strcmp(arguments->argv[i], "-h") != 0)
            continue;
        help_print(&subcommand_adapter);
        return EXIT_SUCCESS;
    }
    return main_adapter(arguments);
}

static int unknown_flag(const char *flag) {
    fprintf(stderr, "error: unknown flag: %s", flag);
    for (size_t i = 0; i < N_COMMANDS; i++)
        for (size_t j = 0; j < commands[i]->n_flags; j++) {
            const char *name = commands[i]->flags[j].name;
            if (!name || strncmp(flag, "--", 2) != 0 || strcmp(flag + 2, name) != 0)
                continue;
            fprintf(stderr, ", did you mean \"wharf %s %s\"?\nSee 'wharf help' for usage.\n", commands[i]->name, flag);
            return EXIT_USAGE;
        }
    fputs("\nSee 'wharf help' for usage.\n", stderr);
    return EXIT_USAGE;
}

static bool is_called(const char *program, const char *name) {
    const char *slash = strrchr(program, '/');
    return strcmp(slash ? slash + 1 : program, name) == 0;
}

static int dispatch(int argc, char **argv) {
    if (argc > 0 && is_called(argv[0], COMPLETE_KUBECTL))
        return main_complete(&(struct arguments){.argc = argc - 1, .argv = argv + 1}, true);
    if (argc < 2) {
        print_overview(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = subcommand_help.name;
    else if (strcmp(name, "--version") == 0)
        name = subcommand_version.name;
    if (strcmp(name, COMPLETE_COMMAND) == 0)
        return main_complete(&(struct arguments){.argc = argc - 2, .argv = argv + 2}, false);
    const struct subcommand *command = find_command(name);
    if (command)
        return command->run(&(struct arguments){.argc = argc - 2, .argv = argv + 2});
    return name[0] == '-' ? unknown_flag(name) : unknown_command(name);
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN); // a closed pipe is reported by write
    signal(SIGXFSZ, SIG_IGN); // and so is a file beyond its size limit
    int code = dispatch(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("error: cannot write to standard output\n", stderr);
        return code == EXIT_SUCCESS ? EXIT_FAILURE : code;
    }
    return code;
}
