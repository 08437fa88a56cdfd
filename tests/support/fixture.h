// SPDX-License-Identifier: Apache-2.0
// The fixtures of a workload kind, from tests/fixtures/<plural>/: one object, its expected mirror, and stories: what
// the kind's controller and a user do to it, step by step. See tests/fixtures/README.md.
#pragma once

#include "core/base/error.h"
#include "core/json/json.h"

#include <stddef.h>

enum step_type {
    STEP_STATUS, // the controller writes the mirror's whole status
    STEP_PATCH,  // a user patches the workload (a merge patch)
    STEP_LOST, // the worker is lost, and the mirror with it; the next STEP_STATUS is that of a new mirror (attempt + 1)
    STEP_UNPLACED, // first step only: the workload has no mirror yet (suspended before it was placed); the mirror comes
                   // with the first STEP_STATUS after it
};

struct step {
    enum step_type type;
    const struct json *status;   // STATUS
    const struct json *patch;    // PATCH
    const struct json *mirror;   // PATCH: the spec that the mirror then has, as a merge patch on mirror.yaml's spec;
                                 // NULL: as `patch` has it under spec
    const struct json *workload; // the status that the workload then has; NULL: STATUS the same, others unchanged
    const char *phase;  // of the workload after the step: "Pending", "Suspended", "Active", "Succeeded", "Failed";
                        // NULL: not said
    const char *reason; // of that phase; NULL: not said
    const char *event;  // a part of the Event's text that the step leads to; NULL: none may come
    size_t line;        // in the file
};

struct story {
    char *name; // "succeeded": the file's name without .yaml
    struct step *steps;
    size_t n_steps;
    struct json *documents; // what steps point into
};

struct fixture {
    char *plural;          // the folder's name
    struct json *workload; // workload.yaml
    struct json *mirror;   // mirror.yaml: metadata.labels and metadata.annotations without marks, and all but metadata
                           // and status
    struct story *stories; // in the order of their names
    size_t n_stories;
};

// Reads a folder. An error names the file and the line.
struct error *fixture_load(const char *folder, struct fixture **out);
void fixture_free(struct fixture *fixture);

// Adds one story from a file, named as the file is. For fixtures that are stories only, without objects.
struct error *fixture_add_story(struct fixture *fixture, const char *path);

// The story of this name, or NULL.
const struct story *fixture_story(const struct fixture *fixture, const char *name);
