// SPDX-License-Identifier: Apache-2.0
// Environment of the demo and the integration tests: one management cluster and some workers from the world model,
// served on 127.0.0.1 in this process, a directory with kubeconfigs and a configuration, and `wharf run` as a child.
#pragma once

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/json/json.h"
#include "tests/world/http_front.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SCENE_CLUSTERS 17
#define SCENE_PATH 1024
#define SCENE_MANAGEMENT 0
#define SCENE_ORIGIN "scene" // of the configuration that scene_configure writes

struct scene_cluster {
    char name[32];      // "mgmt", "w1", "w2", ...
    char settings[128]; // of a worker, more members for the configuration: "weight: 2"; may be ""
    struct world_cluster *cluster;
    struct front *front;
};

struct scene {
    char directory[SCENE_PATH];
    bool given;        // not the scene's own directory: only files that the scene wrote are removed from it
    bool made;         // but not there before
    const char *wharf; // the program; NULL: from the same build
    struct certs certs;
    char *adapters;
    bool tls;
    struct scene_cluster clusters[SCENE_CLUSTERS];
    size_t count;
    uint16_t serve_port; // of /healthz, /readyz and /metrics
    int reserved;        // a socket that keeps others from that port; 0: none
    pid_t child;         // 0: none runs
    int child_status;    // of the last one that ended, as waitpid gives it
};

struct scene_options {
    size_t workers;
    const char *directory;      // made if it is not there; NULL: a new one in /tmp
    bool plain;                 // HTTP instead of TLS with client certificates
    struct world_options world; // of every cluster, but for name and seed
    const char *adapters;       // items of `adapters.enabled` besides job, in YAML; NULL: none
};

// Makes a directory, or checks that an existing one belongs to this user and that nobody else may write to it.
struct error *scene_use_directory(const char *path, bool *made);

// Makes the directory (accessible to its owner only), starts the clusters and writes a kubeconfig for each.
struct error *scene_open(const struct scene_options *options, struct scene **out);
// Ends the child with SIGKILL if there is one, stops everything and removes the directory. NULL is fine.
void scene_close(struct scene *scene);

// Writes wharf.yaml: the clusters, the Job adapter beside the program that runs, and further lines of YAML: items of
// `workers` (for servers that are not the scene's) and settings.
struct error *scene_configure(const struct scene *scene, const char *more_workers, const char *settings);
struct error *scene_write(const struct scene *scene, const char *file, const char *text);

// Writes to the clusters as a user does, in namespace default; the HTTP status.
int scene_apply(struct scene *scene, size_t index, const char *group, const char *plural, const char *text);
int scene_patch(struct scene *scene, size_t index, const char *group, const char *plural, const char *name,
                const char *patch);
int scene_delete(struct scene *scene, size_t index, const char *group, const char *plural, const char *name);
// A copy of the Job, or NULL.
struct json *scene_job(struct scene *scene, size_t index, const char *name);
size_t scene_jobs(struct scene *scene, size_t index); // how many there are
