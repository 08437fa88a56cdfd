// SPDX-License-Identifier: Apache-2.0
// References as text, one a line: "secrets team/key optional at /spec/...".
#pragma once

#include "core/adapter/references.h"
#include "tests/unit/quoted.h"

#define REFERENCES(...) ((const wharf_reference[]){__VA_ARGS__, {.name = NULL}})

static inline void show_references(const struct references *references, struct buffer *out) {
    for (size_t i = 0; i < references->count; i++) {
        const struct reference *one = references->list[i];
        assert_true(one->version[0] && one->kind[0]);
        buffer_printf(out, "%s %s%s%s%s%s%s at %s\n", one->resource, one->namespace_,
                      one->cluster_scoped && !one->namespace_[0] ? "" : "/", one->name,
                      one->optional ? " optional" : "", one->is_made ? " made" : "",
                      one->cluster_scoped ? " of the cluster" : "", one->where);
    }
}

static inline void assert_references(const wharf_kind *kind, const char *text, const char *expected) {
    __attribute__((cleanup(references_clear))) struct references found = {.list = NULL};
    AUTO_JSON object = parsed(text);
    AUTO_BUFFER(shown, SIZE_MAX / 2);
    struct adapter_call call;
    adapter_call_begin(&call, &(struct call_context){.kind = kind});
    assert_int_equal(references_of(&call, object, &found), WHARF_OK);
    adapter_call_end(&call);
    show_references(&found, &shown);
    if (strcmp(shown.data ? shown.data : "", expected) != 0)
        fail_msg("of %s\nfound:\n%sexpected:\n%s", text, shown.data ? shown.data : "", expected);
}

static inline void assert_references_by_kinds(struct kind *const *kinds, size_t n_kinds, const char *resource,
                                              const char *text, const char *expected) {
    __attribute__((cleanup(references_clear))) struct references found = {.list = NULL};
    AUTO_JSON object = parsed(text);
    AUTO_BUFFER(shown, SIZE_MAX / 2);
    assert_true(references_of_object(kinds, n_kinds, resource, object, &found));
    show_references(&found, &shown);
    if (strcmp(shown.data ? shown.data : "", expected) != 0)
        fail_msg("of %s %s\nfound:\n%sexpected:\n%s", resource, text, shown.data ? shown.data : "", expected);
}

static inline void assert_references_of_object(const wharf_kind *abi, const char *resource, const char *text,
                                               const char *expected) {
    struct kind kind = {.abi = *abi};
    struct kind *const kinds[] = {&kind};
    assert_references_by_kinds(kinds, 1, resource, text, expected);
}
