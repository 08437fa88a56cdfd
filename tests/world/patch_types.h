// SPDX-License-Identifier: Apache-2.0
// Patches other than merge patch (RFC 7386): JSON patch (RFC 6902), and strategic merge patch, which kubectl sends for
// built-in kinds.
#pragma once

#include "core/json/json.h"

#include <stdbool.h>

// Change *target in place. False with a message when the patch cannot be applied: `target` is then in an undefined
// state, to be freed.
bool patch_json(struct json **target, const struct json *patch, char message[256]);
bool patch_strategic(struct json *target, const struct json *patch, char message[256]);
