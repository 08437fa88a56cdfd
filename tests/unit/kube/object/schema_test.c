// SPDX-License-Identifier: Apache-2.0
// What an OpenAPI v3 document says of a field.
#include "core/kube/object/span.h"

#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GVK(kind) "'x-kubernetes-group-version-kind':[{'group':'example.com','kind':'" kind "','version':'v1'}]"
#define DOCUMENT                                                                                                       \
    " {'openapi':'3.0.0','paths':{'/apis':{'get':{'x':['\\'}']}}},'components':{'schemas':{"                           \
    "'com.example.Other':{'type':'object','properties':{'spec':{'properties':{'managedBy':{}}}}," GVK(                 \
        "Other") "},"                                                                                                  \
                 "'com.example.Ref':{'properties':{'spec':{'allOf':[{'$ref':'#/components/schemas/"                    \
                 "com.example.Spec'}],"                                                                                \
                 "'default':{}}}," GVK(                                                                                \
                     "Ref") "},"                                                                                       \
                            "'com.example.Spec':{'properties':{'managedBy':{'type':'string'},'runPolicy':{'$ref':"     \
                            "'#/components/schemas/com.example.Policy'}}},"                                            \
                            "'com.example.Policy':{'properties':{'suspend':{},'rules':{'type':'array','items':"        \
                            "{'$ref':'#/components/schemas/com.example.Rule'}}}},"                                     \
                            "'com.example.Rule':{'properties':{'name':{}}},"                                           \
                            "'com.example.Old':{'properties':{'spec':{'properties':{'suspend':{'description':'"        \
                            "managedBy'}}}}," GVK(                                                                     \
                                "Old") "},"                                                                            \
                                       "'com.example.Open':{'properties':{'spec':{'x-kubernetes-preserve-unknown-"     \
                                       "fields':true,'properties':{'a':{}}}}," GVK(                                    \
                                           "Open") "},"                                                                \
                                                   "'com.example.Untyped':{'type':'object'," GVK(                      \
                                                       "Untyped") "},"                                                 \
                                                                  "'com.example.Map':{'properties':{'spec':{'"         \
                                                                  "additionalProperties':{'type':'string'}}}," GVK(    \
                                                                      "Map") "},"                                      \
                                                                             "'com.example.Loop':{'$ref':'#/"          \
                                                                             "components/schemas/"                     \
                                                                             "com.example.Loop'," GVK(                 \
                                                                                 "Loop") "},"                          \
                                                                                         "'com.example.Dangling':{'"   \
                                                                                         "properties':{'spec':{'$ref'" \
                                                                                         ":'#/components/schemas/"     \
                                                                                         "none'}}," GVK(               \
                                                                                             "Dangling") "}}}}"

static char *document(void) {
    char *text = strdup(DOCUMENT);
    for (char *at = text; at && *at; at++)
        if (*at == '\'')
            *at = '"';
    return text;
}

static void a_field_is_found_through_references(void **state) {
    (void)state;
    static const struct {
        const char *kind, *pointer;
        enum schema_answer answer;
    } cases[] = {
        {"Other", "/spec/managedBy", SCHEMA_HAS},
        {"Ref", "/spec/managedBy", SCHEMA_HAS},
        {"Ref", "/spec/runPolicy/suspend", SCHEMA_HAS},
        {"Ref", "/spec/runPolicy/managedBy", SCHEMA_LACKS},
        {"Ref", "/spec/runPolicy/rules/*/name", SCHEMA_HAS},
        {"Ref", "/spec/runPolicy/rules/*/managedBy", SCHEMA_LACKS},
        {"Old", "/spec/managedBy", SCHEMA_LACKS},
        {"Old", "/spec/suspend", SCHEMA_HAS},
        {"Old", "/metadata/labels/managed-by", SCHEMA_HAS},
        {"Open", "/spec/managedBy", SCHEMA_HAS},
        {"Untyped", "/spec/managedBy", SCHEMA_HAS},
        {"Map", "/spec/managedBy", SCHEMA_HAS},
        {"Loop", "/spec/managedBy", SCHEMA_HAS},
        {"Dangling", "/spec/managedBy", SCHEMA_UNKNOWN},
        {"Missing", "/spec/managedBy", SCHEMA_UNKNOWN},
    };
    AUTO_TEXT text = document();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct schema_kind kind = {"example.com", "v1", cases[i].kind};
        if (schema_find(text, strlen(text), &kind, cases[i].pointer) != cases[i].answer)
            fail_msg("%s %s", cases[i].kind, cases[i].pointer);
    }
    struct schema_kind other = {"example.com", "v2", "Old"};
    assert_int_equal(schema_find(text, strlen(text), &other, "/spec/managedBy"), SCHEMA_UNKNOWN);
}

// Whatever a server sends, also a part of it, nothing beyond it is read (see valgrind) and nothing is held against it.
static void a_broken_document_is_no_answer(void **state) {
    (void)state;
    AUTO_TEXT text = document();
    struct schema_kind kind = {"example.com", "v1", "Old"};
    size_t whole = strlen(text);
    for (size_t len = 0; len < whole; len++) {
        char *part = malloc(len + 1);
        assert_non_null(part);
        memcpy(part, text, len);
        part[len] = '\0';
        (void)schema_find(part, len, &kind, "/spec/managedBy");
        free(part);
    }
    static const char *const others[] = {"",
                                         "{",
                                         "[]",
                                         "null",
                                         "{\"components\":1}",
                                         "{\"components\":{\"schemas\":[]}}",
                                         "{\"components\":{\"schemas\":{\"a\":\"b\"}}}",
                                         "not found"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(schema_find(others[i], strlen(others[i]), &kind, "/spec/managedBy"), SCHEMA_UNKNOWN);
}

static void the_path_is_that_of_the_group(void **state) {
    (void)state;
    AUTO_TEXT batch = schema_path("batch", "v1");
    AUTO_TEXT core = schema_path("", "v1");
    assert_string_equal(batch, "/openapi/v3/apis/batch/v1");
    assert_string_equal(core, "/openapi/v3/api/v1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_field_is_found_through_references),
        cmocka_unit_test(a_broken_document_is_no_answer),
        cmocka_unit_test(the_path_is_that_of_the_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
