// SPDX-License-Identifier: Apache-2.0
// A shared object whose debug information has every type of wharf/adapter.h, for abidiff to read. It is never run.
#include <wharf/adapter.h>

WHARF_EXPORT int everything(const wharf_module *module, const wharf_kind *kind, const wharf_host *host,
                            const wharf_call *call, const wharf_phase *phase, wharf_log_level level);

int everything(const wharf_module *module, const wharf_kind *kind, const wharf_host *host, const wharf_call *call,
               const wharf_phase *phase, wharf_log_level level) {
    return module && kind && host && call && phase && level == WHARF_LOG_INFO;
}
