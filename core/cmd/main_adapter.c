// SPDX-License-Identifier: Apache-2.0
// `wharf adapter test`: the conformance kit for authors of adapters.
#include "core/cmd/main.h"
#include "core/conform/conform.h"

#include <stdlib.h>
#include <string.h>

static int usage(const char *problem, const char *what) {
    fprintf(stderr, "error: %s%s\nSee 'wharf adapter --help' for usage.\n", problem, what);
    return EXIT_USAGE;
}

// -1: it is none of the flags; else the exit code, 0 if all is well.
static int read_flag(const struct arguments *arguments, int *at, struct conform_options *options) {
    const struct {
        const char *name;
        const char **value;
    } flags[] = {{"--objects", &options->objects}, {"--settings", &options->settings}, {"--save", &options->save}};
    const char *argument = arguments->argv[*at];
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        size_t len = strlen(flags[i].name);
        if (strncmp(argument, flags[i].name, len) != 0 || (argument[len] != '\0' && argument[len] != '='))
            continue;
        const char *value = argument[len] == '='        ? argument + len + 1
                            : *at + 1 < arguments->argc ? arguments->argv[++*at]
                                                        : "";
        if (value[0] == '\0')
            return usage("flag needs an argument: ", flags[i].name);
        if (*flags[i].value)
            return usage("flag given twice: ", flags[i].name);
        *flags[i].value = value;
        return 0;
    }
    return -1;
}

static int read_arguments(const struct arguments *arguments, struct conform_options *options) {
    for (int i = 1; i < arguments->argc; i++) {
        const char *argument = arguments->argv[i];
        int code = read_flag(arguments, &i, options);
        if (code > 0)
            return code;
        if (code == 0)
            continue;
        if (argument[0] == '-' && argument[1] != '\0')
            return usage("unknown flag: ", argument);
        if (options->file)
            return usage("unexpected argument: ", argument);
        options->file = argument;
    }
    return options->file ? 0 : usage("a file is required: ", "wharf adapter test FILE.so");
}

int main_adapter(const struct arguments *arguments) {
    if (arguments->argc == 0)
        return usage("a subcommand is required: ", "wharf adapter test FILE.so");
    if (strcmp(arguments->argv[0], "test") != 0)
        return usage("unknown subcommand: ", arguments->argv[0]);
    struct conform_options options = {.file = NULL};
    int code = read_arguments(arguments, &options);
    if (code != 0)
        return code;
    struct conform_result result = {.calls = 0};
    struct error *error = conform_run(&options, stdout, &result);
    if (error)
        return main_fail(error);
    return result.findings > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
