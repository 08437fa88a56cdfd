// SPDX-License-Identifier: Apache-2.0
// Says on the channel that the process ends, and never ends.
#define FARM "words"
#include "tests/gallery/farm.h"

#include <string.h>
#include <sys/socket.h>

#define WORDS "the adapter's own words"

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    const uint32_t length = sizeof WORDS, all = (uint32_t)(1 + sizeof length + length);
    char frame[64];
    memcpy(frame, &all, sizeof all);
    frame[4] = 5; // core/adapter/process/channel.h: FRAME_LAST_WORDS
    memcpy(frame + 5, &length, sizeof length);
    memcpy(frame + 9, WORDS, length);
    send(3, frame, 9 + length, 0);
    for (;;)
        farm_wild = NULL;
}
