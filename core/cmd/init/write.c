// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/cmd/init/init.h"

#include <string.h>

#define ADAPTER_WIDTH 14

// A double-quoted YAML scalar: JSON's strings are.
static void quoted(struct buffer *out, const char *text) {
    buffer_json_string(out, text, strlen(text));
}

static void write_management(const struct init *init, struct buffer *out) {
    buffer_text(out, "# Where users create workloads.\n");
    if (!init->has_file) {
        buffer_text(out, "# The cluster that the host runs in, with the credentials of its pod.\n"
                         "# management: {kubeconfig: mgmt.kubeconfig}\n\n");
        return;
    }
    buffer_text(out, "management:\n  kubeconfig: ");
    quoted(out, init->kubeconfig);
    buffer_text(out, "\n  context: ");
    quoted(out, init->context);
    buffer_text(out, "\n\n");
    if (!init->plugin)
        return;
    buffer_text(out, "# The only commands that kubeconfigs may run for credentials.\ncredentialPlugins:\n  allow: [");
    quoted(out, init->plugin);
    buffer_text(out, "]\n\n");
}

static void write_workers(struct buffer *out) {
    buffer_text(out,
                "# Where they run: clusters that `wharf join` has made workers, taken up and given up without a "
                "restart.\nworkersFrom:\n  secrets: true\n# Or named here:\n# workers:\n# - name: w1\n#   kubeconfig: "
                "w1.kubeconfig\n\n");
}

// "Job (batch)", "RayJob, RayCluster (ray.io)".
static void write_kinds(const struct init *init, const struct adapter *adapter, struct buffer *out) {
    for (size_t i = 0; i < adapter->n_kinds; i++)
        buffer_printf(out, "%s%s", i > 0 ? ", " : "", adapter->kinds[i]->abi.kind);
    const char *group = adapter->n_kinds > 0 ? adapter->kinds[0]->abi.group : "";
    buffer_printf(out, " (%s)%s\n", group, init_is_served(init, adapter) ? "" : ": not served there");
}

static void write_adapters(const struct init *init, struct buffer *out) {
    const struct adapters *adapters = init->all.adapters;
    buffer_text(out, "# The kinds that the management cluster serves.\nadapters:\n");
    if (init->directory_given) {
        buffer_text(out, "  directory: ");
        quoted(out, init->all.config->adapter_directory);
        buffer_char(out, '\n');
    }
    buffer_text(out, "  enabled:\n");
    for (size_t i = 0; i < adapters->count; i++) {
        const struct adapter *adapter = adapters->list[i];
        const char *before = init_is_served(init, adapter) ? "  - " : "  # - ";
        int width = ADAPTER_WIDTH - (int)strlen(adapter->name) + (before[2] == '#' ? 0 : 2);
        buffer_printf(out, "%sname: %s%*s # ", before, adapter->name, width > 0 ? width : 0, "");
        write_kinds(init, adapter, out);
    }
    if (init->has_generic)
        buffer_printf(out, "  # - name: %-*s # any other kind, described in its settings\n", ADAPTER_WIDTH, "generic");
    buffer_char(out, '\n');
}

// A host in the cluster has a Secret for it without being told.
static void write_seal(const struct init *init, struct buffer *out) {
    if (init->has_file)
        buffer_text(out, "# The key by which the host knows its mirrors; made at the first start.\nseal:\n  file: "
                         "wharf-seal.keys\n\n");
}

bool init_write(const struct init *init, struct buffer *out) {
    buffer_text(out, "# Configuration of the wharf host, made by `wharf init`. Keys that are not here have their "
                     "defaults; the example\n"
                     "# wharf.yaml in wharf's documents has them all.\napiVersion: wharf.dev/v1alpha1\n"
                     "kind: HostConfiguration\n\n");
    write_management(init, out);
    write_workers(out);
    write_adapters(init, out);
    write_seal(init, out);
    buffer_text(out, "# /healthz, /readyz, /metrics, the API and the page.\nserve:\n  address: ");
    buffer_text(out, init->has_file ? "127.0.0.1:9440\n" : "0.0.0.0:9440\n");
    return !out->failed;
}
