// SPDX-License-Identifier: Apache-2.0
// The input of a plan with each allocation failing.
#include "core/cmd/plan/plan.h"
#include "tests/unit/fault/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char yaml_text[] = "apiVersion: v1\nkind: Thing\n---\napiVersion: v1\nkind: ThingList\n"
                                "items:\n- {metadata: {name: a}}\n- {metadata: {name: b}}\n";
static const char json_text_[] = "{\"apiVersion\": \"v1\", \"kind\": \"Thing\", \"smile\": \"\\ud83d\\ude00\"}";
static char yaml_path[] = "/tmp/wharf-plan-XXXXXX", json_path_[] = "/tmp/wharf-plan-XXXXXX";
static struct problems problems;

static struct error *read_input(const char *path, void **out) {
    struct plan_input *input = calloc(1, sizeof(*input));
    if (!input)
        return error_no_memory();
    struct error *error = plan_input_read(path, &problems, input);
    if (!error) {
        *out = input;
        return NULL;
    }
    plan_input_free(input);
    free(input);
    return error;
}

static struct error *read_yaml(void **out) {
    return read_input(yaml_path, out);
}

static struct error *read_json(void **out) {
    return read_input(json_path_, out);
}

static bool is_three(const void *out) {
    return ((const struct plan_input *)out)->count == 3;
}

static bool is_one(const void *out) {
    return ((const struct plan_input *)out)->count == 1;
}

static void drop(void *out) {
    plan_input_free(out);
    free(out);
}

static struct error *read_status(void **out) {
    return plan_input_status(json_path_, (struct json **)out);
}

static bool refused(const void *out) {
    (void)out;
    return true;
}

static void reading_objects_survives_running_out_of_memory(void **state) {
    (void)state;
    fault_try(&(struct fault_case){"YAML and a list", read_yaml, is_three, drop});
    fault_try(&(struct fault_case){"JSON", read_json, is_one, drop});
    problems_free(&problems);
}

static struct error *read_bare_status(void **out) {
    struct error *error = read_status(out);
    if (!error || error->code == ERROR_NO_MEMORY)
        return error;
    error_free(error); // an object without a status is none
    *out = NULL;
    return NULL;
}

static void drop_json(void *out) {
    json_free(out);
}

static void reading_a_status_survives_running_out_of_memory(void **state) {
    (void)state;
    fault_try(&(struct fault_case){"status", read_bare_status, refused, drop_json});
}

static int write_file(char *path, const char *text) {
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        return -1;
    return close(fd);
}

static int setup(void **state) {
    (void)state;
    return write_file(yaml_path, yaml_text) != 0 || write_file(json_path_, json_text_) != 0 ? -1 : 0;
}

static int teardown(void **state) {
    (void)state;
    unlink(yaml_path);
    unlink(json_path_);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_objects_survives_running_out_of_memory),
        cmocka_unit_test(reading_a_status_survives_running_out_of_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
