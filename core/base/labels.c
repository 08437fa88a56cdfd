// SPDX-License-Identifier: Apache-2.0
// Validation of label keys and values, and annotation keys.
#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

#define WORD_MAX 63 // apimachinery validation.LabelValueMaxLength; also the maximum of a key's name part

static bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_word(const char *text) {
    size_t len = strlen(text);
    if (len == 0 || len > WORD_MAX || !is_alphanumeric(text[0]) || !is_alphanumeric(text[len - 1]))
        return false;
    for (; *text != '\0'; text++)
        if (!is_alphanumeric(*text) && !strchr("-_.", *text))
            return false;
    return true;
}

bool text_is_label_value(const char *text) {
    return text[0] == '\0' || is_word(text);
}

bool text_is_label_key(const char *text) {
    const char *slash = strchr(text, '/');
    if (!slash)
        return is_word(text);
    char prefix[256];
    size_t len = (size_t)(slash - text);
    if (len >= sizeof(prefix))
        return false;
    memcpy(prefix, text, len);
    prefix[len] = '\0';
    return text_is_dns_subdomain(prefix) && is_word(slash + 1);
}
