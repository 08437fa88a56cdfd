// SPDX-License-Identifier: Apache-2.0
// A fake transport whose own allocations do not fail, and a server behind it.
#pragma once

#include "core/base/text.h"
#include "tests/unit/fault/fault.h"
#include "tests/unit/kube/fake_transport.h"

struct fault_answer {
    const char *path, *body; // of requests whose path begins so
};

static inline uint64_t fault_submit(struct transport *transport, const struct http_request *request,
                                    const struct http_handler *handler) {
    fault_pause();
    uint64_t id = fake_submit(transport, request, handler);
    fault_resume();
    return id;
}

static inline void fault_transport_init(struct fake_transport *fake) {
    static const struct transport_ops ops = {.submit = fault_submit, .cancel = fake_cancel, .refresh = fake_refresh};
    fake_init(fake);
    fake->base.ops = &ops;
}

static inline void fault_transport_free(struct fake_transport *fake) {
    fault_pause();
    fake_free(fake);
    fault_resume();
}

// Each open request gets the first answer that fits, up to one without a path, and each watch is given to `stream`.
static inline void fault_serve(struct fake_transport *fake, const struct fault_answer *answers,
                               void (*stream)(struct fake_transport *fake, size_t number)) {
    for (size_t i = 1; i <= fake->count; i++) {
        const struct fake_exchange *exchange = fake_at(fake, i);
        if (!exchange->live)
            continue;
        const struct fault_answer *answer = answers;
        while (answer->path && !text_has_prefix(exchange->request.path, answer->path))
            answer++;
        if (strstr(exchange->request.path, "watch=true"))
            stream(fake, i);
        else if (answer->path)
            fake_answer(fake, i, 200, answer->body);
    }
}
