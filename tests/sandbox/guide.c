// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/sandbox.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CONFIG_MAX ((size_t)1 << 20)
#define EXAMPLE "job.yaml"
#define JOB                                                                                                            \
    "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: hello\n  annotations:\n"                                      \
    "    world.test/duration: 10s # how long its simulated pods run\n"                                                 \
    "spec:\n  managedBy: wharf.dev/host\n  completions: 4\n  parallelism: 2\n  template:\n    spec:\n"                 \
    "      restartPolicy: Never\n      containers:\n      - {name: main, image: registry.example/task:1}\n"

struct error *guide_write(const struct sandbox *sandbox) {
    const struct scene *scene = sandbox->scene;
    AUTO_BUFFER(text, CONFIG_MAX);
    buffer_text(&text, "# Written by wharf-sandbox at its start.\napiVersion: wharf.dev/v1alpha1\n"
                       "kind: HostConfiguration\norigin: sandbox\nmanagement: {kubeconfig: mgmt.kubeconfig}\n"
                       "workers:\n");
    for (size_t i = SCENE_MANAGEMENT + 1; i < scene->count; i++)
        buffer_printf(&text, "- {name: %s, kubeconfig: %s.kubeconfig}\n", scene->clusters[i].name,
                      scene->clusters[i].name);
    buffer_text(&text, "adapters:\n  enabled:\n");
    adapters_print(&sandbox->adapters, &text);
    buffer_printf(&text,
                  "serve: {address: \"127.0.0.1:%u\"}\ncreateNamespaces: true\n"
                  "# Short, so that there is something to see.\nworkerLostTimeout: 10s\nmirrorRetention: 30s\n",
                  (unsigned)scene->serve_port);
    if (text.failed)
        return error_no_memory();
    struct error *error = scene_write(scene, "wharf.yaml", text.data);
    return error ? error : scene_write(scene, EXAMPLE, JOB);
}

void guide_remove(const struct sandbox *sandbox) {
    AUTO_TEXT path = text_format("%s/%s", sandbox->directory, EXAMPLE);
    if (path)
        unlink(path);
}

static void print_kind(const struct sandbox *sandbox, size_t index) {
    const struct world_kind *kind = &sandbox->crds.items[index].custom.kind;
    const struct adapter_kind *adapter = adapters_for(&sandbox->adapters, kind->plural, kind->group);
    const struct fixture *fixture = sandbox->fixtures[index];
    printf("  %s.%s: ", kind->plural, kind->group);
    if (adapter)
        printf("delegated by %s: %s (adapter %s)", adapter->field, adapter->value, adapter->adapter);
    else
        printf("no adapter is for it");
    for (size_t i = 0; fixture && i < fixture->n_stories; i++)
        printf("%s%s", i ? ", " : "; stories: ", fixture->stories[i].name);
    putchar('\n');
}

void guide_print(const struct sandbox *sandbox) {
    const struct scene *scene = sandbox->scene;
    AUTO_TEXT where = sandbox->default_directory ? text_format("%s", "") : text_format(" --dir %s", sandbox->directory);
    const char *flag = where ? where : "";
    printf("Serving 1 management cluster and %zu worker%s on 127.0.0.1 until \"wharf-sandbox stop%s\"%s.\n\n",
           scene->count - 1, scene->count == 2 ? "" : "s", flag, sandbox->options->detach ? "" : ", Ctrl-C or SIGTERM");
    for (size_t i = 0; i < scene->count; i++)
        printf("  %-5s %s  %s/%s.kubeconfig\n", scene->clusters[i].name, front_url(scene->clusters[i].front),
               scene->directory, scene->clusters[i].name);
    puts("\nKinds:\n  jobs.batch: delegated by /spec/managedBy: wharf.dev/host (adapter job)");
    for (size_t i = 0; i < sandbox->crds.count; i++)
        print_kind(sandbox, i);
    puts("\nNext:");
    if (sandbox->options->run)
        printf("  tail -f %s/wharf.log\n", sandbox->directory);
    else
        printf("  wharf run --config %s/wharf.yaml\n", sandbox->directory);
    printf("  export KUBECONFIG=%s/mgmt.kubeconfig\n"
           "  kubectl apply -f %s/" EXAMPLE "\n"
           "  kubectl get jobs --watch\n"
           "  kubectl --kubeconfig %s/w1.kubeconfig get jobs\n"
           "  wharf-sandbox cut w1%s\n"
           "  wharf-sandbox back w1%s\n",
           sandbox->directory, sandbox->directory, sandbox->directory, flag, flag);
    fflush(stdout);
}
