// SPDX-License-Identifier: Apache-2.0
// The commands of the program, one file or folder each, and the description of their command lines: one table that the
// parser, the help, the manual pages and the shells' completion share.
#pragma once

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/problems.h"
#include "core/base/text.h"
#include "core/json/json.h"

#include <stdio.h>

#define EXIT_USAGE 2
#define FLAGS_MAX 24
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

struct flag {
    const char *name; // "config" of --config; NULL: only a letter
    char letter;      // 'f' of -f; 0: only a name
    bool required;
    const char *argument;            // "FILE"; NULL: the flag takes no value
    const char *fallback;            // the value if the flag is not given, or NULL
    const char *help;                // may have several lines
    const char *const *words;        // the allowed values, ends with NULL; NULL: any value
    bool (*check)(const char *text); // whether the value is valid; NULL: any value is
    const char *expected;            // by `check`, for its message: "the name of a namespace"
};
// Rows of a command's flags, with a value and without one; further members follow.
#define FLAG(long_name, short_name, placeholder, description, ...)                                                     \
    SWITCH(long_name, short_name, description, .argument = (placeholder), __VA_ARGS__)
#define SWITCH(long_name, short_name, description, ...)                                                                \
    { .name = (long_name), .letter = (short_name), .help = (description), __VA_ARGS__ }
#define FLAGS(rows) .flags = (rows), .n_flags = COUNT(rows)

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

#define CHECK_NAMESPACE .check = text_is_dns_label, .expected = "the name of a namespace"
#define CHECK_ACCOUNT .check = text_is_dns_label, .expected = "the name of a ServiceAccount"
#define CHECK_DURATION .check = flags_is_duration, .expected = "a duration, as in 30m"

#define FLAG_CONFIG FLAG("config", 0, "FILE", "the configuration file", .fallback = "/etc/wharf/wharf.yaml")
#define FLAG_ADAPTERS FLAG("adapters", 0, "DIR", "use this directory instead of adapters.directory")
#define FLAG_KUBECONFIG FLAG("kubeconfig", 0, "FILE", "your kubeconfig (default KUBECONFIG, else ~/.kube/config)")
#define FLAG_MANAGEMENT_CONTEXT                                                                                        \
    FLAG("management-context", 0, "CONTEXT",                                                                           \
         "the management cluster's context (default: that of --config, else the current one)")
#define FLAG_MANAGEMENT_KUBECONFIG                                                                                     \
    FLAG("management-kubeconfig", 0, "FILE", "the management cluster's kubeconfig, if another file than --kubeconfig")
#define FLAG_ACCOUNT                                                                                                   \
    FLAG("account", 0, "NAME",                                                                                         \
         "the host's ServiceAccount, after which its roles are named; hosts that share a\n"                            \
         "cluster need different accounts",                                                                            \
         .fallback = "wharf", CHECK_ACCOUNT)
#define FLAG_HOST_NAMESPACE                                                                                            \
    FLAG("namespace", 'n', "NAMESPACE", "the host's own namespace (default: the configuration's, else wharf-system)",  \
         CHECK_NAMESPACE)
#define FLAG_NAMESPACE FLAG("namespace", 'n', "NAME", "namespace of the workload (default: the context's)")

#define OPERAND_OBJECT "KIND/NAME" // begins the operand of commands about one object; kubectl's two words are accepted
#define OPERAND_WORKER "WORKER"
#define OPERAND_WORKERS "WORKER..." // one or more, up to OPERANDS_MAX
#define OPERANDS_MAX 64

// A parsed command line, and the result of the command.
struct call {
    const struct subcommand *command;
    const char *values[FLAGS_MAX]; // of the flags, in the order of flags_at; NULL: not given; "": a flag without a
                                   // value is given
    const char *operand[OPERANDS_MAX + 1]; // ends with NULL
    char *object;                          // "job/train" of an operand OPERAND_OBJECT
    char **rest;                           // the arguments after "--", ends with NULL; NULL: there is no "--"
    const struct flag *no_value;           // a flag without a value at the end of the line
    bool help;                             // --help is given
    struct remote *remote;                 // of a command that asks the host
    int code;                              // to exit with, if `run` returns no error
};

struct subcommand {
    const char *name; // "adapter new" of a command below another one
    struct error *(*run)(struct call *call);
    const struct subcommand *const *below; // commands of this one, ends with NULL; instead of `run`. NULL: none
    const char *operand;                   // "[COMMAND]", in brackets if optional; NULL: none is allowed
    const char *const *operand_words;      // the allowed operands, as `words` of a flag
    const struct flag *flags;
    size_t n_flags;
    bool asks_host; // has remote_flags too, by which call->remote is opened before `run`
    bool own_flags; // parses call->rest, the whole line, itself
    const char *summary;
    const char *text;
};
// Defines subcommand_NAME; further members follow.
#define SUBCOMMAND(word, function, purpose, description, ...)                                                          \
    const struct subcommand subcommand_##word = {                                                                      \
        .name = #word, .run = (function), .summary = (purpose), .text = (description), __VA_ARGS__}
#define ASKS_HOST .asks_host = true

extern const struct subcommand subcommand_run, subcommand_check, subcommand_adapters, subcommand_plan, subcommand_join,
    subcommand_init, subcommand_leave, subcommand_rbac, subcommand_status, subcommand_explain, subcommand_cordon,
    subcommand_uncordon, subcommand_drain, subcommand_retry, subcommand_completion, subcommand_logs, subcommand_exec,
    subcommand_guard, subcommand_top, subcommand_adapter, subcommand_adapter_new;

// All commands, in the order of the overview; ends with NULL.
extern const struct subcommand *const main_commands[];
const struct subcommand *main_find_command(const char *name); // NULL: unknown
// The command below `command` with this last word; NULL: unknown.
const struct subcommand *main_find_below(const struct subcommand *command, const char *word);

// line/flags.c
// The command's own flags, those for the host if it asks the host, and --help at last; NULL beyond.
const struct flag *flags_at(const struct subcommand *command, size_t index);
// Reads the arguments, which end with NULL, into call->values, operand and rest; ERROR_USAGE for anything else.
struct error *flags_read(struct call *call, char **arguments);
// The same without checking values, up to the first argument that is wrong.
struct error *flags_parse(struct call *call, char **arguments);
// The value of the flag of this name ("f": of -f); NULL: not given, or the command has no such flag.
const char *flags_value(const struct call *call, const char *name);
// The index of a flag's value among the flag's words; -1: no value.
int flags_word(const struct call *call, const char *name);
bool flags_is_duration(const char *text);
int64_t flags_duration(const char *text); // of a value that was checked; 0 for NULL
// "a, b or c"; NULL when out of memory. free()
char *flags_list(const char *const *words);

// line/help.c
void help_print(const struct subcommand *command);
#define HELP_CONFIGURATION "configuration"               // a topic that is not a command
struct error *help_print_configuration(const char *key); // NULL: all keys; else this key and the keys below
// Writes the manual page DIRECTORY/wharf-NAME.1.
struct error *man_write(const char *directory, const struct subcommand *command);

// line/complete.c
#define COMPLETE_COMMAND "__complete" // hidden: `wharf __complete WORD... LAST`
#define COMPLETE_FILES ":files"       // the only line where a file is expected
// kubectl runs a program of this name to complete "kubectl wharf".
#define COMPLETE_KUBECTL "kubectl_complete-wharf"
// Prints the candidates for the last word, one per line, each with a description after a tab. For kubectl, a line with
// the directive follows (github.com/spf13/cobra, ShellCompDirective).
int main_complete(char **words, bool for_kubectl);

// document.c. JSON documents from templates, for the output of commands and their writes.
// The template is JSON with ' for ". %s is a text, quoted and escaped; %j a struct json *; NULL for both: null. NULL
// when out of memory. free()
char *document_text(const char *template_, ...);
struct json *document_make(const char *template_, ...);
// Prints the document to stdout: as YAML, or as JSON on several lines.
struct error *document_print(const struct json *document, bool yaml);

// exec/session.c. Reads the server's last word on a session of `wharf exec`, a metav1.Status. NULL: *code is the exit
// code of the command; else why there is none.
struct error *session_result(const char *status, size_t len, int *code);

// Prints the problems to stderr, one per line behind the prefix; returns their number.
size_t main_print_problems(const char *prefix, const struct problems *problems);
// Prints "error: ..." to stderr, and for an invalid command line the help command; takes the error. Returns the exit
// code.
int main_fail(struct error *error, const struct subcommand *command);
// Logs the end of a service; takes the error, or NULL. Returns the exit code.
int main_log_end(struct error *error, const char *failed, const char *stopped);

// line/text_table.c. A table as in kubectl's output: each column is as wide as the widest cell.
struct text_table {
    size_t n_columns;
    char **cells; // row by row
    size_t count, cap;
    size_t limit; // columns of the terminal: the texts of the last column end between words there; 0: none
    bool failed;  // out of memory
};

// Appends a cell, a copy of the text; NULL and "" are printed as <none>. A row is complete with n_columns cells.
void text_table_add(struct text_table *table, const char *text);
// Prints the complete rows, from `first_row` on, without control characters; nothing when out of memory. Frees the
// table.
struct error *text_table_end(struct text_table *table, size_t first_row, FILE *out);
