// SPDX-License-Identifier: Apache-2.0
// Decoding a JSON object into a typed struct, as far as a client can see it: unknown members are dropped, null is
// absent, wrong types are an error, times come back in the server's form, zero values of omitempty fields vanish.
#pragma once

#include "tests/world/model.h"

enum shape_type { SHAPE_INT32, SHAPE_INT64, SHAPE_BOOL, SHAPE_STRING, SHAPE_OBJECT, SHAPE_ARRAY, SHAPE_TIME };

struct shape {
    const char *name;
    enum shape_type type;
    bool omit_empty; // 0, "", [] vanish
};

// `table` ends with a NULL name. False with a message.
bool shape_apply(struct json *object, const struct shape *table, const char *type_name, char message[256]);
