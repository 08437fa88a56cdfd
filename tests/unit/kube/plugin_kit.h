// SPDX-License-Identifier: Apache-2.0
// Credential plugins as shell scripts in a folder of their own.
#pragma once

#include "core/base/text.h"
#include "core/kube/credentials/credentials.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct plugin_kit {
    char folder[32];
};

static inline int plugin_kit_setup(void **state) {
    struct plugin_kit *kit = calloc(1, sizeof *kit);
    text_copy(kit->folder, sizeof kit->folder, "/tmp/wharf-test-XXXXXX");
    assert_non_null(mkdtemp(kit->folder));
    *state = kit;
    return 0;
}

static inline void plugin_kit_remove(const char *folder) {
    AUTO_TEXT command = text_format("rm -rf %s", folder);
    FILE *remover = popen(command, "r");
    assert_non_null(remover);
    pclose(remover);
}

static inline int plugin_kit_teardown(void **state) {
    struct plugin_kit *kit = *state;
    plugin_kit_remove(kit->folder);
    free(kit);
    return 0;
}

static inline char *plugin_kit_path(const struct plugin_kit *kit, const char *name) {
    return text_format("%s/%s", kit->folder, name);
}

// Puts the kit's folder before the system's in PATH.
static inline void plugin_kit_search(const struct plugin_kit *kit) {
    AUTO_TEXT path = text_format("%s:/usr/bin:/bin", kit->folder);
    setenv("PATH", path, 1);
}

static inline void plugin_kit_write(const struct plugin_kit *kit, const char *name, const char *content,
                                    unsigned mode) {
    AUTO_TEXT path = plugin_kit_path(kit, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}

// What plugin_kit_write left behind or a plugin wrote; "" if there is no such file. free()
static inline char *plugin_kit_read(const struct plugin_kit *kit, const char *name) {
    AUTO_TEXT path = plugin_kit_path(kit, name);
    AUTO_BUFFER(content, 65536);
    error_free(text_read_file(path, 65536, &content));
    return strdup(content.data ? content.data : "");
}

#define PLUGIN_V1 "client.authentication.k8s.io/v1"
#define PLUGIN_OUTPUT(status) "{\"apiVersion\":\"" PLUGIN_V1 "\",\"kind\":\"ExecCredential\",\"status\":" status "}"

// A plugin whose command is a script in the kit: #!/bin/sh and `script`, in the kit's folder.
static inline struct exec_plugin *plugin_kit_make(const struct plugin_kit *kit, const char *script) {
    AUTO_TEXT content = text_format("#!/bin/sh\ncd %s\n%s\n", kit->folder, script);
    plugin_kit_write(kit, "plugin", content, 0700);
    struct exec_plugin *plugin = calloc(1, sizeof *plugin);
    plugin->where = strdup("w1.kubeconfig:7: users[0].user.exec");
    plugin->command = plugin_kit_path(kit, "plugin");
    plugin->api_version = strdup(PLUGIN_V1);
    plugin->args = calloc(3, sizeof *plugin->args);
    plugin->args[0] = strdup(plugin->command);
    plugin->args[1] = strdup("get token");
    plugin->env = calloc(3, sizeof *plugin->env);
    plugin->env[0] = strdup("WHARF_TEST=from the kubeconfig");
    plugin->env[1] = strdup("KUBERNETES_EXEC_INFO=nonsense");
    plugin->info = strdup("{\"kind\":\"ExecCredential\"}");
    char *allow[] = {plugin->command};
    assert_true(exec_policy_copy(&(const struct exec_policy){.allow = allow, .n_allow = 1}, &plugin->policy));
    return plugin;
}

#define with_kit(test) cmocka_unit_test_setup_teardown(test, plugin_kit_setup, plugin_kit_teardown)
