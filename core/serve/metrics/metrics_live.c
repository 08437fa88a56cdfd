// SPDX-License-Identifier: Apache-2.0
// Metrics of the configuration and of the sources of workers.
#include "core/base/text.h"
#include "core/serve/metrics/metrics_internal.h"
#include "core/serve/metrics/metrics_text.h"

static void print_reload(const struct reload_note *reload, struct buffer *out) {
    metrics_single(out, "wharf_config_last_reload_successful", "gauge",
                   "1 if the configuration was accepted when it was last read, else 0.", reload->successful);
    metrics_family(out, "wharf_config_last_reload_success_timestamp_seconds", "gauge",
                   "When the configuration in use was read.");
    metrics_sample_seconds(out, "wharf_config_last_reload_success_timestamp_seconds", NULL, reload->success_wall_ns);
}

static void print_refused(const struct live_notes *live, struct buffer *out) {
    uint64_t refused = 0;
    for (size_t i = 0; i < live->n_sources; i++)
        refused += !!live->sources[i].problem;
    metrics_single(out, "wharf_worker_sources_refused", "gauge",
                   "Kubeconfig files, Secrets and ClusterProfiles whose newest version is not used.", refused);
}

// Two Secrets may claim one name.
static bool is_first(const struct live_notes *live, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (live->sources[i].token_life.expires_wall_ns && text_equal(live->sources[i].name, live->sources[index].name))
            return false;
    return true;
}

static void print_tokens(const struct live_notes *live, bool lifetime, struct buffer *out) {
    const char *name = lifetime ? "wharf_worker_token_lifetime_seconds" : "wharf_worker_token_expiry_timestamp_seconds";
    bool begun = false;
    for (size_t i = 0; i < live->n_sources; i++) {
        const struct source_note *note = &live->sources[i];
        const struct token_life *life = &note->token_life;
        if (!note->name || life->expires_wall_ns == 0 || !is_first(live, i))
            continue;
        if (!begun)
            metrics_family(out, name, "gauge",
                           lifetime ? "How long the token in a worker's Secret was issued for."
                                    : "When the token in a worker's Secret expires.");
        begun = true;
        metrics_sample_seconds(out, name, LABELS({"cluster", note->name}),
                               life->expires_wall_ns - (lifetime ? life->issued_wall_ns : 0));
    }
}

void metrics_print_live(const struct host_snapshot *snapshot, struct buffer *out) {
    print_reload(&snapshot->live.reload, out);
    print_refused(&snapshot->live, out);
    print_tokens(&snapshot->live, false, out);
    print_tokens(&snapshot->live, true, out);
}
