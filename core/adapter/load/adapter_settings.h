// SPDX-License-Identifier: Apache-2.0
// Errors in the settings of an adapter, reported with their line in the configuration file.
#pragma once

#include "core/base/error.h"
#include "core/json/json.h"

#include <stddef.h>

#include <wharf/adapter.h>

// Turns an adapter's sentence, "/kinds/0/plural: found 7, expected a string", into "settings.kinds[0].plural: found 7,
// expected a string". *line becomes the line of the setting, or of the nearest existing setting around; unchanged if
// unknown. NULL if the sentence does not begin with a pointer.
struct error *adapter_settings_wrong(const struct json *settings, const char *sentence, size_t *line);

// For an error about a kind that was made of settings (see kind_check): the same sentence about the setting that
// contains the wrong text, or, without a wrong text, about the mapping with the kind's name. NULL if the text is not in
// `settings`, the adapter's settings.
struct error *adapter_settings_kind_wrong(const struct json *settings, const wharf_kind *kind,
                                          const struct error *error, size_t *line);

// Rejects a setting that the module does not name.
struct error *adapter_settings_check(const wharf_module *module, const struct json *settings, size_t *line);
