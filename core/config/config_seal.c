// SPDX-License-Identifier: Apache-2.0
// The section `seal`.
#include "core/base/text.h"
#include "core/config/config_reader.h"

#include <stdlib.h>
#include <string.h>

#define ENTRY_MAX 253 // of a key of a Secret (apimachinery validation.IsConfigMapKey)

static bool is_entry(const char *text) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    return strlen(text) <= ENTRY_MAX && text[strspn(text, allowed)] == '\0';
}

static void read_secret(struct config_reader *reader, const struct config_place *place, const struct json *value,
                        void *target) {
    static const struct config_field fields[] = {
        {"namespace", config_read_text, offsetof(struct config_seal, secret_namespace), false,
         .help = "Default: the pod's, else wharf-system.", CONFIG_LABEL},
        {"name", config_read_text, offsetof(struct config_seal, secret_name), false, .help = "Default wharf-seal.",
         .is_valid = text_is_dns_subdomain, .expected = "the name of a Secret (RFC 1123 subdomain)"},
        {"key", config_read_text, offsetof(struct config_seal, secret_key), false,
         .help = "Default key. The entry that signs; all are valid.", .is_valid = is_entry,
         .expected = "a key of a Secret (letters, digits, '-', '_' and '.')"},
    };
    struct config_seal *seal = target;
    seal->from_secret = config_mapping(reader, place, value, fields, CONFIG_COUNT(fields), seal);
}

void config_read_seal(struct config_reader *reader, const struct config_place *place, const struct json *value,
                      void *target) {
    static const struct config_field fields[] = {
        {"file", config_read_path, offsetof(struct config_seal, file), false,
         .help = "One key per line; the first signs, all are valid. The host creates a missing file."},
        {"secret", read_secret, 0, false,
         .help = "A Secret of the management cluster; the host creates a missing one."},
        {"adoptUnsealed", config_read_bool, offsetof(struct config_seal, adopt_unsealed), false,
         .help = "Default false. Mirrors without a seal in the first lists are sealed. For the first start with a key "
                 "that the "
                 "host did not create; after creating one it does so for an hour."},
    };
    struct config_seal *seal = target;
    if (!config_mapping(reader, place, value, fields, CONFIG_COUNT(fields), seal))
        return;
    if (seal->file && seal->from_secret)
        config_problem(reader, place, "found both file and secret, expected one of them");
}

void config_check_seal(struct config_reader *reader) {
    const struct config *config = reader->config;
    if (config->seal.adopt_unsealed && !config->seal.file && !config->seal.from_secret &&
        config->management.kubeconfig_path)
        problems_add(reader->problems,
                     "%s:%zu: seal.adoptUnsealed: found no file and no secret, expected one of them: "
                     "without a key nothing is sealed",
                     reader->file, config->seal.line);
}
