// SPDX-License-Identifier: Apache-2.0
// The section `seal`.
#include "core/base/text.h"
#include "core/config/config_reader.h"

#include <stdlib.h>
#include <string.h>

#define ENTRY_MAX 253 // of a key of a Secret (apimachinery validation.IsConfigMapKey)

void config_seal_clear(struct config_seal *seal) {
    free(seal->file);
    free(seal->secret_namespace);
    free(seal->secret_name);
    free(seal->secret_key);
    *seal = (struct config_seal){.file = NULL};
}

static void read_secret_name(struct config_reader *reader, const struct config_place *place, const struct json *value,
                             void *target) {
    static const char expected[] = "the name of a Secret (RFC 1123 subdomain)";
    const char *text = config_text(reader, place, value, expected);
    if (text && !text_is_dns_subdomain(text))
        config_wrong(reader, place, value, expected);
    else if (text)
        config_keep(reader, target, text);
}

static void read_secret_key(struct config_reader *reader, const struct config_place *place, const struct json *value,
                            void *target) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    static const char expected[] = "a key of a Secret (letters, digits, '-', '_' and '.')";
    const char *text = config_text(reader, place, value, expected);
    if (text && (strlen(text) > ENTRY_MAX || text[strspn(text, allowed)] != '\0'))
        config_wrong(reader, place, value, expected);
    else if (text)
        config_keep(reader, target, text);
}

static void read_secret(struct config_reader *reader, const struct config_place *place, const struct json *value,
                        void *target) {
    static const struct config_field fields[] = {
        {"namespace", config_read_label, offsetof(struct config_seal, secret_namespace), false,
         "Default: the pod's, else wharf-system."},
        {"name", read_secret_name, offsetof(struct config_seal, secret_name), false, "Default wharf-seal."},
        {"key", read_secret_key, offsetof(struct config_seal, secret_key), false,
         "Default key. The entry that signs; all are accepted."},
    };
    struct config_seal *seal = target;
    seal->from_secret = config_mapping(reader, place, value, fields, sizeof(fields) / sizeof(fields[0]), seal);
}

void config_read_seal(struct config_reader *reader, const struct config_place *place, const struct json *value,
                      void *target) {
    static const struct config_field fields[] = {
        {"file", config_read_path, offsetof(struct config_seal, file), false,
         "One key per line; the first signs, all are accepted. A missing file is created."},
        {"secret", read_secret, 0, false, "A Secret of the management cluster; a missing one is created."},
        {"adoptUnsealed", config_read_bool, offsetof(struct config_seal, adopt_unsealed), false,
         "Default false. Mirrors without a seal in the first lists are sealed. For the first start with a key that the "
         "host did not create; after creating one it does so for an hour."},
    };
    struct config_seal *seal = target;
    if (!config_mapping(reader, place, value, fields, sizeof(fields) / sizeof(fields[0]), seal))
        return;
    seal->line = config_line(reader, place);
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
