// SPDX-License-Identifier: Apache-2.0
// Does what its settings say: {"refuse": "why"}, {"refuse": true} (no reason), {"plural": "..."}.
#include <wharf/adapter.h>

static const wharf_host *host;

static wharf_result phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    (void)call;
    (void)object;
    (void)out;
    return WHARF_OK;
}

static wharf_kind kind = {
    WHARF_KIND_SIZES, .group = "",         .versions = (const char *const[]){"v1", NULL},
    .kind = "Widget", .plural = "widgets", .managed_by = "/spec/managedBy",
    .phase = phase,
};

static const char *start(const wharf_host *services, const wharf_value *settings, const wharf_kind *const **kinds) {
    static const wharf_kind *const list[] = {&kind, NULL};
    const wharf_value *refuse = host->find(settings, "/refuse");
    if (services != host)
        return "the host is another one than it says";
    if (refuse)
        return host->string(refuse) ? host->format(NULL, "settings say: %s", host->string(refuse)) : "";
    const char *plural = host->string(host->find(settings, "/plural"));
    if (plural)
        kind.plural = plural;
    *kinds = list;
    return NULL;
}

WHARF_MODULE(.name = "by-settings", .version = "0", .host = &host,
             .settings = (const char *const[]){"refuse", "plural", NULL}, .start = start);
