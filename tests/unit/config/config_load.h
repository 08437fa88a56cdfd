// SPDX-License-Identifier: Apache-2.0
// Loads a configuration from text.
#ifndef WHARF_TESTS_CONFIG_LOAD_H
#define WHARF_TESTS_CONFIG_LOAD_H

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

#endif
