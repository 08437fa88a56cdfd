// SPDX-License-Identifier: Apache-2.0
// wharf-sandbox: what its parts share.
#pragma once

#include "tests/sandbox/adapters.h"
#include "tests/sandbox/options.h"
#include "tests/support/control.h"
#include "tests/support/fixture.h"
#include "tests/support/scene.h"

struct sandbox {
    const struct options *options;
    char *directory;
    bool default_directory;
    bool made;   // the directory was not there before
    char *wharf; // the program
    struct crds crds;
    struct fixture **fixtures; // stories of each crd; NULL: none
    struct adapter_list adapters;
    struct scene *scene;
    struct control *control;
};

// The directory that options name, or the default one. NULL when out of memory.
char *sandbox_directory(const struct options *options);

// kinds.c: reads the files that options name; brings the kinds to all clusters of the scene.
struct error *kinds_load(struct sandbox *sandbox);
struct error *kinds_install(struct sandbox *sandbox);
void kinds_free(struct sandbox *sandbox);

// guide.c: wharf.yaml and an example, and what to do next.
struct error *guide_write(const struct sandbox *sandbox);
void guide_remove(const struct sandbox *sandbox);
void guide_print(const struct sandbox *sandbox);
