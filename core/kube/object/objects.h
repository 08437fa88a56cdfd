// SPDX-License-Identifier: Apache-2.0
// The YAML and JSON documents below a directory, as input for adapters.
#pragma once

#include "core/base/problems.h"
#include "core/json/json.h"

struct document {
    char *source; // "objects/job.yaml:2", the second document of that file
    char *folder; // of the file
    struct json *value;
};

struct documents {
    struct document *list;
    size_t count;
};

// Reads every .yaml, .yml and .json file below `folder`, sorted by name; `folder` may also be a file. The items of a
// List are separate documents. Unreadable files are added to `problems`; an error is returned only if the directory
// does not exist or when out of memory.
struct error *documents_read(const char *folder, struct problems *problems, struct documents *out);

// Reads one file with one document.
struct error *document_read(const char *path, struct json **out);

void documents_free(struct documents *documents);
