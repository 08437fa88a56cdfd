// SPDX-License-Identifier: Apache-2.0
// Has a plural that is none.
// finds: load start
#include "tests/conformance/template.h"

#define PLURAL "No Plural"
#include "tests/conformance/adapter.h"
