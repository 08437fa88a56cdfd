// SPDX-License-Identifier: Apache-2.0
// Answers to commands.
#ifndef WHARF_ENGINE_ANSWER_H
#define WHARF_ENGINE_ANSWER_H

struct engine;
struct engine_event;

void answer_handle(struct engine *engine, struct engine_event *event);

#endif
