// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/main.h"

#include "core/base/log.h"
#include "core/base/text.h"

#include <stdlib.h>

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
