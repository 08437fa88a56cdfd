// SPDX-License-Identifier: Apache-2.0
// `wharf help configuration`: the keys as the tables that read them know them. docs/configuration.md has its output.
#include "core/cmd/main.h"
#include "core/config/config.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH 100
#define INDENT 4

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

static void print_key(void *ctx, const struct config_key *key) {
    (void)ctx;
    printf("\n%s%s\n", key->path, key->required ? "  (required)" : "");
    char expected[512];
    snprintf(expected, sizeof expected, "Expects %s.", key->expected);
    print_wrapped(expected);
    print_wrapped(key->help);
}

int help_print_configuration(void) {
    puts("The keys of the configuration file, which is YAML. [] is an item of a list. Paths are absolute, or relative "
         "to\n"
         "the directory of the file. Durations are Go's: 15m, 1h30m. wharf check --config FILE reports all problems.");
    struct error *error = config_describe(print_key, NULL);
    return error ? main_fail(error) : EXIT_SUCCESS;
}
