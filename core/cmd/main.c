// SPDX-License-Identifier: Apache-2.0
// The table of commands.

#include "core/adapter/services/net.h"
#include "core/base/text.h"
#include "core/cmd/remote/remote.h"

#include <wharf/adapter.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef WHARF_COMMIT
#define WHARF_COMMIT "" // not known
#endif

static struct error *run_version(struct call *call) {
    (void)call;
    const char *commit = WHARF_COMMIT;
    printf("wharf %s (%s%s%sadapter ABI %d.%d)\n", WHARF_VERSION, *commit ? "commit " : "", commit, *commit ? ", " : "",
           WHARF_ABI_MAJOR, WHARF_ABI_MINOR);
    return NULL;
}

static SUBCOMMAND(
    version, run_version, "print the version",
    "Prints the version of the host, the commit of its sources, if known, and the version of its adapter ABI.\n");

static const struct flag help_flags[] = {
    FLAG("man", 0, "DIR", "write a manual page of each command, or of COMMAND, into this folder"),
};

static struct error *run_help(struct call *call);

static SUBCOMMAND(
    help, run_help, "print help, also for one command",
    "Prints help for all commands or for one; with configuration, the keys of the configuration file, or KEY and\n"
    "the keys below it.\n",
    .operand = "[configuration [KEY]|COMMAND]", FLAGS(help_flags));

const struct subcommand *const main_commands[] = {&subcommand_run,
                                                  &subcommand_check,
                                                  &subcommand_adapters,
                                                  &subcommand_plan,
                                                  &subcommand_rbac,
                                                  &subcommand_init,
                                                  &subcommand_guard,
                                                  &subcommand_join,
                                                  &subcommand_leave,
                                                  &subcommand_adapter,
                                                  &subcommand_status,
                                                  &subcommand_top,
                                                  &subcommand_explain,
                                                  &subcommand_logs,
                                                  &subcommand_exec,
                                                  &subcommand_cordon,
                                                  &subcommand_uncordon,
                                                  &subcommand_drain,
                                                  &subcommand_retry,
                                                  &subcommand_completion,
                                                  &subcommand_version,
                                                  &subcommand_help,
                                                  NULL};

#define N_COMMANDS (COUNT(main_commands) - 1)

const struct subcommand *main_find_command(const char *name) {
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(main_commands[i]->name, name) == 0)
            return main_commands[i];
    return NULL;
}

const struct subcommand *main_find_below(const struct subcommand *command, const char *word) {
    for (size_t i = 0; command->below && command->below[i]; i++)
        if (strcmp(strrchr(command->below[i]->name, ' ') + 1, word) == 0)
            return command->below[i];
    return NULL;
}

static void print_overview(FILE *out) {
    fputs("wharf runs Kubernetes workloads that are delegated with .spec.managedBy in worker clusters.\n\n"
          "Usage:\n  wharf COMMAND [flags]\n\nCommands:\n",
          out);
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", main_commands[i]->name, main_commands[i]->summary);
    fputs("\nUse \"wharf help COMMAND\" for more about a command, \"wharf help configuration\" for the configuration's "
          "keys.\n",
          out);
}

static struct error *unknown_command(const char *name) {
    const char *known[N_COMMANDS];
    for (size_t i = 0; i < N_COMMANDS; i++)
        known[i] = main_commands[i]->name;
    const char *meant = suggest(name, known, N_COMMANDS);
    return error_new(ERROR_USAGE, "unknown command \"%s\" for \"wharf\"%s%s%s", name, meant ? ", did you mean \"" : "",
                     meant ? meant : "", meant ? "\"?" : "");
}

static struct error *unknown_flag(const char *flag) {
    const struct flag *known;
    for (size_t i = 0; i < N_COMMANDS; i++)
        for (size_t j = 0; (known = flags_at(main_commands[i], j)); j++)
            if (known->name && strncmp(flag, "--", 2) == 0 && strcmp(flag + 2, known->name) == 0)
                return error_new(ERROR_USAGE, "unknown flag: %s, did you mean \"wharf %s %s\"?", flag,
                                 main_commands[i]->name, flag);
    return error_new(ERROR_USAGE, "unknown flag: %s", flag);
}

static struct error *run_help(struct call *call) {
    const char *topic = call->operand[0], *folder = flags_value(call, "man");
    bool configuration = topic && strcmp(topic, HELP_CONFIGURATION) == 0;
    if (configuration && !folder)
        return help_print_configuration(call->operand[1]);
    const struct subcommand *command = topic ? main_find_command(topic) : NULL;
    if (topic && !command)
        return unknown_command(topic);
    struct error *error = NULL;
    if (command && !folder)
        help_print(command);
    else if (!folder)
        print_overview(stdout);
    for (size_t i = 0; folder && !error && i < N_COMMANDS; i++)
        if (!command || main_commands[i] == command)
            error = man_write(folder, main_commands[i]);
    return error;
}

static int run_command(const struct subcommand *command, char **arguments) {
    struct call call = {.command = command};
    struct error *error = flags_read(&call, arguments);
    if (!error && call.help) {
        help_print(command);
        return EXIT_SUCCESS;
    }
    if (!error && command->asks_host)
        error = remote_open_call(&call);
    if (!error)
        error = command->run(&call);
    remote_close(call.remote);
    free(call.object);
    (void)fflush(stdout);
    return error ? main_fail(error, command) : call.code;
}

// `wharf adapter new`; `wharf adapter --help`.
static int run_below(const struct subcommand *command, char **arguments) {
    const char *word = arguments[0];
    const struct subcommand *below = word ? main_find_below(command, word) : NULL;
    if (below)
        return run_command(below, arguments + 1);
    if (word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
        help_print(command);
        return EXIT_SUCCESS;
    }
    return main_fail(word ? error_new(ERROR_USAGE, "unknown subcommand: %s, expected %s", word, command->operand)
                          : error_new(ERROR_USAGE, "a subcommand is required: %s", command->operand),
                     command);
}

static int dispatch(int argc, char **argv) {
    if (argc > 0 && strcmp(program_invocation_short_name, COMPLETE_KUBECTL) == 0)
        return main_complete(argv + 1, true);
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
        return main_complete(argv + 2, false);
    const struct subcommand *command = main_find_command(name);
    if (command && command->below)
        return run_below(command, argv + 2);
    if (command)
        return run_command(command, argv + 2);
    return main_fail(name[0] == '-' ? unknown_flag(name) : unknown_command(name), NULL);
}

// A status of 0 would tell a caller that all is well, and keep a service manager from starting the host again.
static void end_in_adapter(void) {
    if (net_report("exit() was called"))
        _exit(EXIT_FAILURE);
}

int main(int argc, char **argv) {
    if (atexit(end_in_adapter) != 0)
        return EXIT_FAILURE;
    signal(SIGPIPE, SIG_IGN);               // a closed pipe is reported by write
    signal(SIGXFSZ, SIG_IGN);               // and so is a file beyond its size limit
    (void)setvbuf(stdout, NULL, _IOLBF, 0); // commands that wait show their progress
    return text_end_output(dispatch(argc, argv));
}
