// SPDX-License-Identifier: Apache-2.0
// Loads a configuration from text.
#pragma once

#include "core/base/text.h"
#include "core/config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define HEAD "apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\n"
#define WORKERS "workers:\n- {name: w1, kubeconfig: w1.kubeconfig}\n"
#define ADAPTERS "adapters: {enabled: [{name: job}]}\n"
#define GOOD HEAD WORKERS ADAPTERS

static inline struct config *load(const char *text, struct problems *problems) {
    char file[] = "/tmp/config_test.XXXXXX";
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    struct config *config = NULL;
    *problems = (struct problems){.count = 0};
    assert_null(config_load(file, problems, &config));
    unlink(file);
    return config;
}

// Without a problem.
static inline struct config *load_good(const char *text) {
    struct problems problems;
    struct config *config = load(text, &problems);
    if (problems.count > 0)
        fail_msg("%s: %s", text, problems.list[0]);
    return config;
}

// The first problem of this text has these words; NULL ends them.
static inline void expect_problem(const char *text, const char *const *says) {
    struct problems problems;
    struct config *config = load(text, &problems);
    if (problems.count == 0)
        fail_msg("%s", text);
    for (; *says; says++)
        if (!strstr(problems.list[0], *says))
            fail_msg("\"%s\" does not say \"%s\"", problems.list[0], *says);
    problems_free(&problems);
    config_free(config);
}
