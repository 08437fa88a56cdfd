// SPDX-License-Identifier: Apache-2.0
// dependencies: the objects that workloads refer to. The names of resources depend on the adapters, so their check is
// elsewhere (core/host/check/).
#include "core/config/config_reader.h"
#include "core/config/dependencies.h"

#define AT(member) offsetof(struct dependency_options, member)
#define LETTERS                                                                                                        \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" // of kinds, too: the check suggests their resource
#define RESOURCES                                                                                                      \
    .item = "a list of resources, such as [configmaps]", .characters = LETTERS "0123456789-.",                         \
    .expected = "a resource, such as configmaps or tasks.tekton.dev", .may_be_empty = true

const struct config_field config_dependencies[] = {
    {"copy", config_read_words, AT(copy),
     .help = "Default: none. The host copies objects of these resources into the worker before the mirror.", RESOURCES},
    {"check", config_read_words, AT(check),
     .help = "Default: none. A worker must have the objects of these resources to get the mirror.", RESOURCES},
    {"secrets", config_read_word, AT(secrets),
     .help = "Default labelled. Which Secrets are copied, where copy has secrets: those with the label wharf.dev/copy: "
             "\"true\", or all.",
     CONFIG_WORDS({"labelled", SECRETS_LABELLED}, {"all", SECRETS_ALL})},
    {"watch", config_read_switch, AT(by_name),
     .help = "Default all. Whether the host watches the metadata of all objects of these resources, or only the "
             "objects in use by their names, which needs fewer rights (docs/security.md).",
     CONFIG_WORDS({"all", false}, {"names", true})},
    {.key = NULL},
};

static void check_list(const struct config_value *section, const char *key, const struct dependency_options *others) {
    struct config_value list = config_child(section, json_get(section->json, key), 0);
    size_t i = 0;
    for (const struct json *item = json_first(list.json); item; item = json_next(item)) {
        struct config_value at = config_child(&list, item, i++);
        const char *resource = json_string_or(item, "");
        for (const struct json *former = json_first(list.json); former != item; former = json_next(former))
            if (text_equal(resource, json_string(former))) {
                config_problem(&at, "found %s twice in the list, expected it once", resource);
                break;
            }
        if (dependency_use_of(others, resource) != DEPENDENCY_IGNORED)
            config_problem(&at, "found %s in copy and in check, expected it in one of them", resource);
    }
}

bool config_check_dependencies(const struct config_value *value) {
    const struct dependency_options *options = &value->reader->config->engine.dependencies;
    const struct dependency_options copied = {.copy = options->copy};
    check_list(value, "copy", &(struct dependency_options){.copy = NULL});
    check_list(value, "check", &copied);
    if (options->secrets == SECRETS_ALL && dependency_use_of(&copied, "secrets") == DEPENDENCY_IGNORED)
        config_problem(value, "secrets: found all, but copy has no secrets; expected both or neither");
    return true;
}
