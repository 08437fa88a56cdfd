// SPDX-License-Identifier: Apache-2.0
// The references of any JSON, by the data and the functions of each shipped kind: of a workload, and of each object
// that refers to others. The input: a byte for the kind, then the text.
#include "tests/fuzz/fuzz.h"

#include "core/base/text.h"
#include "tests/simulation/kinds.h"

#include <string.h>

static bool is_name(const char *text) {
    return text[0] && strlen(text) <= 253 && !strchr(text, '/') && !strchr(text, '%') && strcmp(text, "..") != 0;
}

static int compare(const struct reference *a, const struct reference *b) {
    int order = strcmp(a->resource, b->resource);
    order = order ? order : strcmp(a->namespace_, b->namespace_);
    return order ? order : strcmp(a->name, b->name);
}

static void check(const struct kind *kind, const struct references *found, size_t most) {
    struct reference_resource known;
    if (found->count > most)
        fuzz_fail("%zu references", found->count);
    for (size_t i = 0; i < found->count; i++) {
        const struct reference *one = found->list[i];
        if (i > 0 && compare(found->list[i - 1], one) >= 0)
            fuzz_fail("%s %s is not in its place", one->resource, one->name);
        if (!is_name(one->name))
            fuzz_fail("\"%s\" is no name", one->name);
        if (one->namespace_[0] ? one->cluster_scoped || !text_is_dns_label(one->namespace_) : false)
            fuzz_fail("\"%s\" is no namespace of a %s", one->namespace_, one->kind);
        if (!reference_resource_of(&kind->abi, one->resource, &known) || strcmp(known.kind, one->kind) != 0 ||
            strcmp(known.version, one->version) != 0 || known.cluster_scoped != one->cluster_scoped)
            fuzz_fail("%s is no resource of %s", one->resource, kind->plural_group);
    }
}

static void try_workload(const struct kind *kind, const struct json *object) {
    struct adapter_call call;
    struct references found;
    adapter_call_begin(&call, &(struct call_context){.kind = &kind->abi, .given = kind->given, .version = "v1"});
    wharf_result result = references_of(&call, object, &found);
    if (result == WHARF_REFUSED && !adapter_answer_message(&call, NULL))
        fuzz_fail("%s is refused without a reason", kind->plural_group);
    if (result != WHARF_OK && found.count > 0)
        fuzz_fail("references with result %u", result);
    check(kind, &found, REFERENCES_MAX);
    references_clear(&found);
    adapter_call_end(&call);
}

static void try_object(struct kind *kind, const struct json *object) {
    struct reference_resource resource;
    struct references found;
    for (size_t i = 0; reference_resource_at(&kind, 1, i, &resource); i++) {
        if (!references_of_object(&kind, 1, resource.resource, object, &found))
            fuzz_fail("out of memory");
        if (found.count > 0 && !reference_resource_refers(&kind, 1, resource.resource))
            fuzz_fail("%s refers to others", resource.resource);
        check(kind, &found, REFERENCES_MAX + 1);
        references_clear(&found);
    }
}

void fuzz_one(const uint8_t *data, size_t size) {
    size_t count = 0;
    const struct sim_kind *kinds = sim_kinds(&count);
    AUTO_JSON object = NULL;
    if (size == 0)
        return;
    error_free(json_parse((const char *)data + 1, size - 1, &object));
    if (!object)
        return;
    try_workload(kinds[data[0] % count].kind, object);
    try_object(kinds[data[0] % count].kind, object);
}
