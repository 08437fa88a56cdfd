// SPDX-License-Identifier: Apache-2.0
// Errors in the settings of an adapter, reported with their line in the configuration file.
#ifndef WHARF_ADAPTER_ADAPTER_SETTINGS_H
#define WHARF_ADAPTER_ADAPTER_SETTINGS_H

#include "core/base/error.h"
#include "core/json/json.h"

#include <stddef.h>

#include <wharf/adapter.h>

// Turns an adapter's sentence, "/kinds/0/plural: found 7, expected a string", into
// "settings.kinds[0].plural: found 7, expected a string". *line becomes that of the setting, or of the nearest existing
// one around it; it is unchanged if that is unknown. NULL if the sentence does not begin with a pointer.
struct error *adapter_settings_wrong(const struct json *settings, const char *sentence, size_t *line);

// For an error about a kind that was made of settings (see kind_check): the same sentence about the setting that its
// text comes from, or, if nothing of it is known to be wrong, about the mapping that the kind's own name is in. NULL if
// that text is not in `settings`, the ones that the adapter was given.
struct error *adapter_settings_kind_wrong(const struct json *settings, const wharf_kind *kind,
                                          const struct error *error, size_t *line);

// Rejects a setting that the module does not name.
struct error *adapter_settings_check(const wharf_module *module, const struct json *settings, size_t *line);

#endif
