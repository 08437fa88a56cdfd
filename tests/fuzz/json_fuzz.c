// SPDX-License-Identifier: Apache-2.0
// What the parser takes must come back the same after printing. For libFuzzer (clang -fsanitize=fuzzer
// -DWHARF_LIBFUZZER), or as an ordinary program that runs over the files given to it and over changed copies of them.
#include "core/base/text.h"
#include "core/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    AUTO_JSON first = NULL;
    AUTO_JSON second = NULL;
    struct error *error = json_parse((const char *)data, size, &first);
    if (error) {
        error_free(error);
        return 0;
    }
    size_t len;
    AUTO_TEXT text = json_text(first, &len);
    if (!text || json_parse(text, len, &second) || !json_equal(first, second))
        abort();
    AUTO_TEXT again = json_text(second, NULL);
    if (!text_equal(text, again))
        abort();
    return 0;
}

#ifndef WHARF_LIBFUZZER
#define CHANGED_COPIES 1000

static void run_changed(struct random *random, char *data, size_t len) {
    static const char interesting[] = "{}[]\",:\\u0e-.\xC3\xED\xFF\n 1";
    for (int i = 0; i < CHANGED_COPIES && len > 0; i++) {
        size_t at = random_below(random, len);
        char before = data[at];
        data[at] = interesting[random_below(random, sizeof interesting)];
        LLVMFuzzerTestOneInput((const uint8_t *)data, len - random_below(random, 2) * random_below(random, len));
        if (random_below(random, 4) > 0)
            data[at] = before;
    }
}

int main(int argc, char **argv) {
    struct random random = {1};
    for (int i = 1; i < argc; i++) {
        struct buffer file;
        buffer_init(&file, 1 << 26);
        struct error *error = text_read_file(argv[i], file.max, &file);
        if (error) {
            fprintf(stderr, "%s\n", error_text(error));
            error_free(error);
            return 1;
        }
        LLVMFuzzerTestOneInput((const uint8_t *)file.data, file.len);
        run_changed(&random, file.data, file.len);
        buffer_free(&file);
    }
    return 0;
}
#endif
