// SPDX-License-Identifier: Apache-2.0
// `wharf adapter test`: runs the conformance kit (core/conform), a separate program that parses the flags.
#include "core/base/text.h"
#include "core/cmd/main.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct flag flags[] = {
    VALUE_FLAG("objects", 0, "DIR",
               "a folder with objects of its kinds, YAML or JSON; documents beside an object\n"
               "without a kind are steps of its life: a status of its mirror, a patch by a user"),
    VALUE_FLAG("settings", 0, "FILE", "the adapter's settings, YAML"),
    VALUE_FLAG("save", 0, "DIR", "write an object that reproduces each finding into this folder"),
    FLAG("quiet", 'q', "print only findings, warnings and the summary"),
    FLAG("verbose", 'v', "print messages and all fields in the lives of the objects"),
};

// Where the kit is, relative to the folder of this program: as built, and as installed.
static const char *const places[] = {"wharf-conformance", "../libexec/wharf/wharf-conformance"};

// The folder of this program; NULL if unknown.
static char *own_folder(void) {
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (len <= 0)
        return NULL;
    path[len] = '\0';
    return text_directory(path);
}

// Returns only if the kit cannot be run.
static struct error *run_kit(struct call *call) {
    char **argv = call->rest;
    if (!argv[0])
        return error_new(ERROR_USAGE, "a subcommand is required: wharf adapter test FILE.so");
    if (strcmp(argv[0], "test") != 0)
        return error_new(ERROR_USAGE, "unknown subcommand: %s", argv[0]);
    AUTO_TEXT folder = own_folder();
    if (!folder)
        return error_new(ERROR_IO, "/proc/self/exe: %s; the conformance kit is expected beside it", strerror(errno));
    for (size_t i = 0; i < COUNT(places); i++) {
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

SUBCOMMAND(adapter, run_kit, "test an adapter (for its author)",
           "Loads an adapter in a separate process and calls its functions on the objects of a folder, on objects\n"
           "generated from the declarations of its kinds, and on damaged variants of both. Reports which rules of\n"
           "<wharf/adapter.h> the adapter violates, and where the header states them. With objects, also shows the\n"
           "phase after each step of their lives and which changes were carried, and warns of rules and pointers\n"
           "that match nothing. Exits with 0 if there are no findings, else with 1.\n",
           .own_flags = true, .operand = "test FILE.so", FLAGS(flags));
