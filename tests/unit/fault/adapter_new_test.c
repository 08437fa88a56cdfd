// SPDX-License-Identifier: Apache-2.0
// Guesses from a CRD, and what is written of them, with each allocation failing.
#include "core/cmd/adapter_new/write.h"
#include "tests/unit/fault/fault.h"

#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CRD "tests/unit/cmd/crds/services.yaml"

// -- guesses --

static struct error *guess(const char *kind, void **out) {
    struct description *description = calloc(1, sizeof(*description));
    if (!description)
        return error_no_memory();
    description->name = "sample";
    struct error *error = guess_kind(CRD, kind, description);
    *out = description;
    if (!error)
        return NULL;
    description_cleanup(description);
    free(description);
    return error;
}

static struct error *guess_service(void **out) {
    return guess("fleet", out);
}

static struct error *guess_film(void **out) {
    return guess("film", out);
}

static void drop(void *out) {
    description_cleanup(out);
    free(out);
}

static void guessing_survives_running_out_of_memory(void **state) {
    (void)state;
    fault_try(&(struct fault_case){"a service", guess_service, NULL, drop});
    fault_try(&(struct fault_case){"a job", guess_film, NULL, drop});
}

// -- texts --

static struct description description; // guessed once

static struct error *text(bool (*write)(struct buffer *out), void **out) {
    AUTO_BUFFER(buffer, 1 << 20);
    *out = write(&buffer) ? buffer_take(&buffer, NULL) : NULL;
    return *out ? NULL : error_no_memory();
}

static bool write_c(struct buffer *out) {
    return write_code(&description, LANGUAGE_C, out);
}

static bool write_rust(struct buffer *out) {
    return write_code(&description, LANGUAGE_RUST, out);
}

static bool write_settings(struct buffer *out) {
    return write_generic(&description, out);
}

static struct error *code_in_c(void **out) {
    return text(write_c, out);
}

static struct error *code_in_rust(void **out) {
    return text(write_rust, out);
}

static struct error *settings(void **out) {
    return text(write_settings, out);
}

// The last text ends with the last member: nothing is missing.
static bool is_whole_c(const void *out) {
    return strstr(out, ".host = &host);");
}

static bool is_whole_rust(const void *out) {
    return strstr(out, "host: &HOST");
}

static bool is_whole(const void *out) {
    return strstr(out, "finishedAt: /status/finishTime");
}

static void writing_survives_running_out_of_memory(void **state) {
    (void)state;
    fault_try(&(struct fault_case){"C", code_in_c, is_whole_c, free});
    fault_try(&(struct fault_case){"Rust", code_in_rust, is_whole_rust, free});
    fault_try(&(struct fault_case){"settings", settings, is_whole, free});
}

// -- the sample --

static struct error *make_sample(void **out) {
    *out = sample_object(&description);
    return *out ? NULL : error_no_memory();
}

static struct error *make_life(void **out) {
    *out = sample_life(&description, &description.members[PHASES].list[0]);
    return *out ? NULL : error_no_memory();
}

static bool has_manager(const void *out) {
    return json_is_scalar(json_path(out, "spec", "managedBy", NULL), "example.com/other");
}

static bool is_done(const void *out) {
    return json_is_scalar(json_path(json_first(out), "status", "state", NULL), "done") &&
           json_is_scalar(json_get(json_first(out), "phase"), "Succeeded");
}

static void drop_json(void *out) {
    json_free(out);
}

static void the_sample_survives_running_out_of_memory(void **state) {
    (void)state;
    fault_try(&(struct fault_case){"sample", make_sample, has_manager, drop_json});
    fault_try(&(struct fault_case){"life", make_life, is_done, drop_json});
}

static int setup(void **state) {
    (void)state;
    description.name = "sample";
    struct error *error = guess_kind(CRD, "film", &description);
    error_free(error);
    return error ? -1 : 0;
}

static int teardown(void **state) {
    (void)state;
    description_cleanup(&description);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guessing_survives_running_out_of_memory),
        cmocka_unit_test(writing_survives_running_out_of_memory),
        cmocka_unit_test(the_sample_survives_running_out_of_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
