// SPDX-License-Identifier: Apache-2.0
// Answers to commands.
#ifndef WHARF_ENGINE_ANSWER_H
#define WHARF_ENGINE_ANSWER_H

#include <stdint.h>

struct engine;
struct response;

void answer_handle(struct engine *engine, uint64_t id, struct response *response);

#endif
