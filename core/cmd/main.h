// SPDX-License-Identifier: Apache-2.0
// The commands of the program, one file or folder each, and what they share. A command returns the exit code: 0, 1 if
// it found problems, EXIT_USAGE for an invalid command line.
#ifndef WHARF_CMD_MAIN_H
#define WHARF_CMD_MAIN_H

#include "core/base/error.h"
#include "core/base/problems.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define EXIT_USAGE 2

// What follows the command's name; argv[-1] is that name.
struct arguments {
    int argc;
    char **argv;
};

struct flag {
    const char *name; // "config" of --config; NULL: it has a letter only
    char letter;      // 'f' of -f; 0: it has a name only
    bool required;
    const char *argument; // "FILE"; NULL: it takes none
    const char *fallback; // its value where it is not given, or NULL
    const char *help;     // may have several lines
};

#define FLAG_CONFIG                                                                                                    \
    { .name = "config", .argument = "FILE", .fallback = "/etc/wharf/wharf.yaml", .help = "the configuration file" }
#define FLAG_ADAPTERS                                                                                                  \
    { .name = "adapters", .argument = "DIR", .help = "use this directory instead of adapters.directory" }

#define FLAG_KUBECONFIG                                                                                                \
    { .name = "kubeconfig", .argument = "FILE", .help = "your kubeconfig (default KUBECONFIG, else ~/.kube/config)" }
#define FLAG_MANAGEMENT_CONTEXT                                                                                        \
    {                                                                                                                  \
        .name = "management-context", .argument = "CONTEXT",                                                           \
        .help = "the management cluster's (default: that of --config, else the current one)"                           \
    }
#define FLAG_MANAGEMENT_KUBECONFIG                                                                                     \
    { .name = "management-kubeconfig", .argument = "FILE", .help = "if it is in another file than --kubeconfig" }
#define FLAG_ACCOUNT                                                                                                   \
    {                                                                                                                  \
        .name = "account", .argument = "NAME", .fallback = "wharf",                                                    \
        .help = "the host's ServiceAccount, after which its roles are named; hosts that share a\n"                     \
                "cluster need different ones"                                                                          \
    }
#define FLAG_HOST_NAMESPACE                                                                                            \
    {                                                                                                                  \
        .name = "namespace", .letter = 'n', .argument = "NAMESPACE",                                                   \
        .help = "the host's own namespace (default: the configuration's, else wharf-system)"                           \
    }

#define MAIN_OBJECT "KIND/NAME" // how the operand of commands about one object begins

struct subcommand {
    const char *name;
    int (*run)(const struct arguments *arguments);
    const char *operand; // "[COMMAND]"; NULL: none is allowed
    const struct flag *flags;
    size_t n_flags;
    const char *summary;
    const char *text;
};

extern const struct subcommand subcommand_run, subcommand_check, subcommand_adapters, subcommand_plan, subcommand_join,
    subcommand_init, subcommand_leave, subcommand_rbac, subcommand_version, subcommand_status, subcommand_explain,
    subcommand_cordon, subcommand_uncordon, subcommand_drain, subcommand_retry, subcommand_completion, subcommand_logs,
    subcommand_exec, subcommand_guard;

// All of them, in the order of the overview.
const struct subcommand *const *main_commands(size_t *count);

int main_adapter(const struct arguments *arguments);

// flags.c. Fills a value for each flag, and one more for the operand (MAIN_OBJECT: two more, as kubectl's `job train`
// is accepted for `job/train`: the second one is NULL for `job/train`); NULL: not given, "" for a flag without argument
// that is given. False: *code is the exit code; help or an error was printed.
bool flags_read(const struct subcommand *command, const struct arguments *arguments, const char **values, int *code);
int flags_usage_error(const struct subcommand *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

// help.c
void help_print(const struct subcommand *command);
#define HELP_CONFIGURATION "configuration"     // a topic that is not a command
int help_print_configuration(const char *key); // NULL: all keys; else it and those below it

// man.c. Writes DIRECTORY/wharf-NAME.1.
struct error *man_write(const char *directory, const struct subcommand *command);

// report.c
// Prints one per line to stderr; returns their number.
size_t main_print_problems(const struct problems *problems);
// EXIT_USAGE for ERROR_USAGE, else 1; 0 for NULL.
int main_exit_code(const struct error *error);
// "error: ..." to stderr; takes the error. Returns its exit code.
int main_fail(struct error *error);

#endif
