// SPDX-License-Identifier: Apache-2.0
// A service fails, and start continues.
#define HOST yes
#define START_CODE                                                                                                     \
    wharf_value *made = host->new_string(NULL, "text"), *object = host->new_object(NULL);                              \
    host->set(NULL, object, "/a", made);                                                                               \
    host->set_integer(NULL, object, "/a/b", 1);
#include "template.h"
