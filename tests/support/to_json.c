// SPDX-License-Identifier: Apache-2.0
// Prints the YAML documents of files as one JSON array, for drivers that cannot read YAML.
#include "core/base/text.h"
#include "core/json/yaml.h"

#include <stdio.h>
#include <stdlib.h>

#define FILE_MAX ((size_t)16 << 20)

static struct error *add_file(const char *path, struct json *all) {
    AUTO_BUFFER(text, FILE_MAX);
    struct error *error = text_read_file(path, FILE_MAX, &text);
    __attribute__((cleanup(yaml_cleanup))) struct yaml yaml = {.value = NULL};
    if (!error)
        error = yaml_parse_all(path, text.data ? text.data : "", text.len, &yaml);
    for (const struct json *d = error ? NULL : json_first(yaml.value); d && !error; d = json_next(d))
        error = json_append(all, json_copy(d)) ? NULL : error_no_memory();
    return error;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE...\n", argv[0]);
        return 2;
    }
    AUTO_JSON all = json_new_array();
    struct error *error = all ? NULL : error_no_memory();
    for (int i = 1; i < argc && !error; i++)
        error = add_file(argv[i], all);
    AUTO_TEXT text = error ? NULL : json_text(all, NULL);
    if (!error && !text)
        error = error_no_memory();
    if (error) {
        fprintf(stderr, "%s\n", error->message);
        error_free(error);
        return EXIT_FAILURE;
    }
    return puts(text) < 0 || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
