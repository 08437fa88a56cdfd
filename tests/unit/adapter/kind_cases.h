// SPDX-License-Identifier: Apache-2.0
// A valid kind, and what is refused of it.
#pragma once

#include "core/adapter/adapters.h"

#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SUSPEND                                                                                                        \
    { .pointer = "/spec/suspend" }
#define CARRIED(...) ((const wharf_carried[]){SUSPEND, __VA_ARGS__, {.pointer = NULL}})
#define RULES(...) ((const wharf_phase_rule[]){__VA_ARGS__, {.pointer = NULL}})
#define CHANGES(...) ((const wharf_status_change[]){__VA_ARGS__, {.name = NULL}})
#define PODS(...) ((const wharf_pods[]){{__VA_ARGS__}, {.templates = NULL}})
#define LONG_63 "example.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static wharf_result phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    (void)call;
    (void)object;
    (void)out;
    return WHARF_OK;
}

static wharf_kind good(void) {
    static const char *const versions[] = {"v1", "v1beta1", NULL};
    static const wharf_carried carried[] = {SUSPEND, {.pointer = NULL}};
    return (wharf_kind){
        WHARF_KIND_SIZES,
        .group = "example.com",
        .versions = versions,
        .kind = "Thing",
        .plural = "things",
        .managed_by = "/spec/managedBy",
        .managed_by_builtin = "example.com/builtin",
        .suspend = "/spec/suspend",
        .carried = carried,
        .phase = phase,
    };
}

static void assert_accepted(const wharf_kind *given, const char *configured, const char *expected) {
    struct kind *kind = NULL;
    struct error *error = kind_check(given, configured, "wharf.dev/host", &kind);
    if (error)
        fail_msg("refused: %s", error_text(error));
    assert_string_equal(kind->managed_by, expected);
    assert_ptr_equal(kind->given, given);
    kind_free(kind);
}

static void assert_refused(const wharf_kind *given, const char *configured, const char *first, const char *second) {
    struct kind *kind = NULL;
    struct error *error = kind_check(given, configured, "wharf.dev/host", &kind);
    if (!error)
        fail_msg("accepted, expected a problem with %s", first);
    if (!text_has_prefix(error_text(error), first) || !strstr(error_text(error), second))
        fail_msg("\"%s\" is not about %s, or does not say %s", error_text(error), first, second);
    error_free(error);
}

struct wrong {
    const char *field, *says;
    wharf_kind kind;
};

static void assert_all_refused(const struct wrong *cases, size_t count) {
    for (size_t i = 0; i < count; i++)
        assert_refused(&cases[i].kind, NULL, cases[i].field, cases[i].says);
}

#define WRONG(named, sentence) cases[i].field = (named), cases[i].says = (sentence), i++
