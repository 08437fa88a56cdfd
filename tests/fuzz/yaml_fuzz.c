// SPDX-License-Identifier: Apache-2.0
// YAML: what is read, printed and read again is the same document.
#include "tests/fuzz/fuzz.h"

#include "core/base/text.h"
#include "core/json/json.h"
#include "core/json/yaml.h"

#define PRINTED_MAX ((size_t)64 << 20)

static void comes_back(const struct json *value) {
    AUTO_BUFFER(text, PRINTED_MAX);
    __attribute__((cleanup(yaml_cleanup))) struct yaml again = {0};
    if (!yaml_print(value, &text))
        return;
    struct error *error = yaml_parse("printed", text.data, text.len, &again);
    if (error)
        fuzz_fail("what was printed cannot be read: %s\n%s", error_text(error), text.data);
    if (!json_equal(value, again.value))
        fuzz_fail("a document does not come back from its YAML:\n%s", text.data);
}

void fuzz_one(const uint8_t *data, size_t size) {
    __attribute__((cleanup(yaml_cleanup))) struct yaml one = {0};
    __attribute__((cleanup(yaml_cleanup))) struct yaml all = {0};
    struct error *error = yaml_parse("input", (const char *)data, size, &one);
    if (!error)
        comes_back(one.value);
    error_free(error);
    error_free(yaml_parse_all("input", (const char *)data, size, &all));
}
