// SPDX-License-Identifier: Apache-2.0
// Crashes while it is loaded.
// finds: crash start
#include "tests/conformance/template.h"

#include <stdlib.h>

#define START_CODE abort();

#include "tests/conformance/adapter.h"
