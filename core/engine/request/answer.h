// SPDX-License-Identifier: Apache-2.0
// Answers to commands.
#pragma once

#include <stddef.h>

struct engine;
struct engine_event;

// The worker leaves: its requests in flight end with an unknown outcome.
void answer_end_requests(struct engine *engine, size_t cluster);
void answer_handle(struct engine *engine, struct engine_event *event);
