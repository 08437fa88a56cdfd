// SPDX-License-Identifier: Apache-2.0
// `wharf adapter test`: runs the conformance kit (core/conform), a program of its own.
#include "core/base/text.h"
#include "core/cmd/main.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int usage(const char *problem, const char *what) {
    fprintf(stderr, "error: %s%s\nSee 'wharf adapter --help' for usage.\n", problem, what);
    return EXIT_USAGE;
}

// Where the kit is, relative to the folder of this program: as built, and as installed.
static const char *const places[] = {"wharf-conformance", "../libexec/wharf/wharf-conformance"};

#define N_PLACES (sizeof(places) / sizeof(places[0]))

// The folder of this program; NULL if it cannot be determined.
static char *own_folder(void) {
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (len <= 0)
        return NULL;
    path[len] = '\0';
    return text_directory(path);
}

// Returns only if the kit cannot be run.
static struct error *run_kit(char **argv) {
    AUTO_TEXT folder = own_folder();
    if (!folder)
        return error_new(ERROR_IO, "/proc/self/exe: %s; the conformance kit is expected beside it", strerror(errno));
    for (size_t i = 0; i < N_PLACES; i++) {
        AUTO_TEXT path = text_format("%s/%s", folder, places[i]);
        if (!path)
            return error_no_memory();
        argv[0] = path;
        execv(path, argv);
        if (errno != ENOENT && errno != ENOTDIR)
            return error_new(ERROR_IO, "%s: %s", path, strerror(errno));
    }
    return error_new(ERROR_NOT_FOUND,
                     "the conformance kit is missing: found neither %s/%s nor %s/%s; `make` builds it, "
                     "`make install` installs it",
                     folder, places[0], folder, places[1]);
}

int main_adapter(const struct arguments *arguments) {
    if (arguments->argc == 0)
        return usage("a subcommand is required: ", "wharf adapter test FILE.so");
    if (strcmp(arguments->argv[0], "test") != 0)
        return usage("unknown subcommand: ", arguments->argv[0]);
    return main_fail(run_kit(arguments->argv));
}
