// SPDX-License-Identifier: Apache-2.0
// What the processes of adapters have to tell the engine.
#include "core/adapter/process/process.h"
#include "core/engine/aside/aside.h"
#include "core/host/host_internal.h"

void host_adapters_look(struct host *host) {
    const struct adapters *adapters = host_adapters(host);
    struct adapter_news news;
    for (size_t k = 0; k < adapters->n_kinds; k++) {
        const struct adapter *adapter = adapters->kinds[k]->adapter;
        if (!adapter || !adapter_process_news(adapter, &news))
            continue;
        if (news.failed[0])
            aside_adapter_failed_to_load(host->turn.engine, adapter, news.failed);
        if (news.ready)
            aside_adapter_ready(host->turn.engine, adapter);
    }
}
