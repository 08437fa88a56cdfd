// SPDX-License-Identifier: Apache-2.0
// Configuration files: each gives a configuration, or problems that are told.
#include "tests/fuzz/fuzz.h"

#include "core/config/config.h"

void fuzz_one(const uint8_t *data, size_t size) {
    struct problems problems = {0};
    struct config *config = NULL;
    struct error *error = config_load(fuzz_file((const char *)data, size), &problems, &config);
    if (error)
        fuzz_fail("loading ends with an error: %s", error_text(error));
    if (!config && problems.count == 0)
        fuzz_fail("nothing is loaded, and nothing is said");
    for (size_t i = 0; i < problems.count; i++)
        if (problems.list[i][0] == '\0')
            fuzz_fail("a problem that says nothing");
    problems_free(&problems);
    config_free(config);
}
