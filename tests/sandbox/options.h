// SPDX-License-Identifier: Apache-2.0
// The command line of wharf-sandbox.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define WORKERS_DEFAULT 2
#define WORKERS_MAX 16
#define FILES_MAX 256
#define EXIT_USAGE 2

struct story_file {
    const char *path;
    const char *kind; // its plural, if said
    size_t crd;       // else: how many --crd came before it
};

struct options {
    const char *command; // "cut", "back", "list", "stop"; NULL: serve
    bool about_one;      // the command needs a cluster
    const char *cluster; // of cut and back
    const char *directory;
    size_t workers;
    const char *crds[FILES_MAX];
    size_t n_crds;
    struct story_file stories[FILES_MAX];
    size_t n_stories;
    const char *adapters; // a directory; NULL: only those that are installed
    bool run, detach;
};

// -1: go on; else the exit code, with everything said. `options` refers to argv.
int options_read(int argc, char **argv, struct options *options);
