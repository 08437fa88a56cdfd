// SPDX-License-Identifier: Apache-2.0
// Settings of the generic adapter: each is refused with a sentence, or gives kinds that the host takes or refuses with
// a sentence, and that work on an object.
#include "tests/fuzz/fuzz.h"

#include "core/adapter/adapters.h"
#include "core/adapter/services.h"
#include "core/adapter/services/services_memory.h"
#include "core/base/text.h"
#include "core/engine/mirror/mirror.h"
#include "core/json/yaml.h"

#include <string.h>

extern const wharf_module wharf_adapter_generic;

static const char object[] =
    "{\"apiVersion\":\"example.com/"
    "v1\",\"kind\":\"Simulation\",\"metadata\":{\"name\":\"a\",\"namespace\":\"b\",\"uid\":"
    "\"u\",\"resourceVersion\":\"1\",\"generation\":1,\"labels\":{\"l\":\"1\"}},\"spec\":{\"managedBy\":\"fuzz.example/"
    "x\",\"suspend\":false,\"workers\":3,\"list\":[{\"name\":\"a\",\"n\":1},{\"name\":\"b\"}],\"template\":{\"spec\":{"
    "\"containers\":[{\"name\":\"c\"}]}}},\"status\":{\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}],"
    "\"state\":\"Running\",\"completionTime\":\"2026-01-02T03:04:05Z\"}}";

static void use_kind(const struct kind *kind) {
    AUTO_JSON workload = NULL;
    AUTO_JSON made = NULL;
    if (json_parse(object, sizeof object - 1, &workload))
        fuzz_fail("out of memory");
    struct adapter_call call;
    adapter_call_begin(&call, &(struct call_context){.kind = &kind->abi,
                                                     .given = kind->given,
                                                     .cluster = "w1",
                                                     .attempt = 1,
                                                     .version = kind->abi.versions[0],
                                                     .object = "b/a",
                                                     .mirror_state = WHARF_MIRROR_NONE});
    struct mirror_context job = {.kind = kind, .origin = "fuzz", .call = &call, .workload = workload, .attempt = 1};
    mirror_make(&job, &made);
    adapter_call_end(&call);
}

static void check_kind(const wharf_kind *given) {
    struct kind *kind = NULL;
    struct error *error = kind_check(given, NULL, "fuzz.example/x", &kind);
    if (error && error->message[0] == '\0')
        fuzz_fail("a kind is refused without a reason");
    error_free(error);
    if (kind)
        use_kind(kind);
    kind_free(kind);
}

void fuzz_one(const uint8_t *data, size_t size) {
    __attribute__((cleanup(yaml_cleanup))) struct yaml settings = {0};
    struct error *error = yaml_parse("settings", (const char *)data, size, &settings);
    if (error || !json_is(settings.value, JSON_OBJECT)) {
        error_free(error);
        return;
    }
    const wharf_module *module = &wharf_adapter_generic;
    const wharf_kind *const *kinds = module->kinds;
    services_loading("generic");
    if (module->host)
        *module->host = services_table();
    const char *problem = module->start(services_table(), (const wharf_value *)settings.value, &kinds);
    if (problem && *problem == '\0')
        fuzz_fail("settings are refused without a reason");
    for (size_t i = 0; !problem && kinds[i]; i++)
        check_kind(kinds[i]);
    services_loading("generic");
    adapter_call_end(services_call(NULL)); // what is made at loading lives as long as the process, and this one goes on
    services_loading(NULL);
}
