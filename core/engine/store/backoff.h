// SPDX-License-Identifier: Apache-2.0
// The delay before a retry.
#pragma once

#include <stdint.h>

struct engine;

// `base_ns` after the first of `failures` in a row, doubling up to `max_ns`, with jitter.
int64_t backoff_ns(struct engine *engine, unsigned failures, int64_t base_ns, int64_t max_ns);
