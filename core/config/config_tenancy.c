// SPDX-License-Identifier: Apache-2.0
// tenancy: a word, or a section with the word and the policy for what runs once a consent is withdrawn.
#include "core/config/config_reader.h"

#define AT(member) offsetof(struct tenancy_options, member)
#define MODES CONFIG_WORDS({"none", false}, {"impersonate", true})

static const struct config_field tenancy[] = {
    {"mode", config_read_switch, AT(impersonate),
     .help = "Default none. impersonate: the writes for a namespace in workers are those of user wharf:NAMESPACE, of "
             "group wharf:tenants, and a worker's namespace has to consent (annotation wharf.dev/tenant).",
     .required = true, MODES},
    {"withdrawn", config_read_switch, AT(remove_withdrawn),
     .help = "Default keep. Once a worker's namespace no longer consents, its mirrors end there, or the host deletes "
             "them and places the workloads elsewhere.",
     CONFIG_WORDS({"keep", false}, {"remove", true})},
    {.key = NULL},
};

bool config_read_tenancy(const struct config_value *value) {
    struct tenancy_options *options = value->target;
    if (value->reader->describe || json_is(value->json, JSON_OBJECT))
        return config_mapping(value, tenancy, options);
    struct config_value mode = *value;
    mode.field = tenancy;
    mode.target = &options->impersonate;
    return config_read_switch(&mode);
}

void config_check_tenancy(const struct config_value *root) {
    const struct engine_settings *engine = &root->reader->config->engine;
    const struct json *key = json_get(root->json, "createNamespaces");
    struct config_value at = config_child(root, key, 0);
    if (engine->tenancy.impersonate && engine->create_namespaces)
        config_problem(&at, "found true, expected false with tenancy: impersonate, since nobody has consented in a "
                            "namespace that the host creates");
}
