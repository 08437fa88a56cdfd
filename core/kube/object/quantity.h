// SPDX-License-Identifier: Apache-2.0
// Kubernetes quantities ("500m", "1.5Gi", "1e3"; apimachinery pkg/api/resource), exactly.
#pragma once

#include "core/base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

#define QUANTITY_MAX 128 // characters of one that is read

// The quantity in units of 1, or of a thousandth if `milli`, rounded away from 0 as by Quantity.Value() and
// MilliValue(); beyond the range of an int64_t it is INT64_MAX or -INT64_MAX. False: not a quantity.
bool quantity_parse(const char *text, bool milli, int64_t *value);

// The scheduler counts cpu in thousandths and everything else in units.
bool quantity_is_milli(const char *resource);

// Appends a readable amount of a resource: "3", "1500m", "1.5Gi" (rounded up to a tenth).
void quantity_put(struct buffer *out, const char *resource, int64_t amount);
