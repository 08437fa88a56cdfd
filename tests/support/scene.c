// SPDX-License-Identifier: Apache-2.0
#include "tests/support/scene.h"
#include "core/base/clock.h"
#include "tests/support/wharf_child.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct error *scene_write(const struct scene *scene, const char *file, const char *text) {
    AUTO_TEXT path = text_format("%s/%s", scene->directory, file);
    FILE *stream = path ? fopen(path, "w") : NULL;
    if (!stream)
        return error_new(ERROR_IO, "cannot write %s/%s: %s", scene->directory, file, strerror(errno));
    bool written = fchmod(fileno(stream), 0600) == 0 && fputs(text, stream) >= 0;
    if (fclose(stream) != 0 || !written)
        return error_new(ERROR_IO, "cannot write %s", path);
    return NULL;
}

static struct error *write_kubeconfig(const struct scene *scene, const struct scene_cluster *cluster, const char *url) {
    AUTO_TEXT text = certs_kubeconfig(scene->tls ? &scene->certs : NULL, cluster->name, url);
    AUTO_TEXT file = text_format("%s.kubeconfig", cluster->name);
    return text && file ? scene_write(scene, file, text) : error_no_memory();
}

static struct error *add_cluster(struct scene *scene, const struct world_options *base) {
    struct scene_cluster *added = &scene->clusters[scene->count];
    if (scene->count == SCENE_MANAGEMENT)
        text_copy(added->name, sizeof added->name, "mgmt");
    else
        snprintf(added->name, sizeof added->name, "w%zu", scene->count);
    struct world_options options = *base;
    options.name = added->name;
    options.seed = base->seed + scene->count + 1;
    added->cluster = world_new(&options, front_now_ns());
    scene->count++;
    struct error *error = front_start(added->cluster, 0, scene->tls ? &scene->certs : NULL, &added->front);
    return error ? error : write_kubeconfig(scene, added, front_url(added->front));
}

// Finds a free port. The socket stays bound and does not listen: with SO_REUSEADDR the child may, and whoever asks for
// any free port gets another one (socket(7)).
static struct error *reserve_port(struct scene *scene) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    bool found = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
                 bind(fd, (struct sockaddr *)&address, len) == 0 &&
                 getsockname(fd, (struct sockaddr *)&address, &len) == 0;
    struct error *error = found ? NULL : error_new(ERROR_IO, "no free port on 127.0.0.1: %s", strerror(errno));
    if (fd >= 0 && !found)
        close(fd);
    scene->reserved = found ? fd : 0;
    scene->serve_port = ntohs(address.sin_port);
    return error;
}

struct error *scene_use_directory(const char *path, bool *made) {
    struct stat found;
    *made = mkdir(path, 0700) == 0;
    if (!*made && errno != EEXIST)
        return error_new(ERROR_IO, "cannot make the directory %s: %s", path, strerror(errno));
    if (stat(path, &found) != 0 || !S_ISDIR(found.st_mode))
        return error_new(ERROR_IO, "%s: expected a directory", path);
    if (found.st_uid != geteuid() || (found.st_mode & 022) != 0)
        return error_new(ERROR_REFUSED,
                         "%s: expected a directory that belongs to this user and that nobody else may write to", path);
    return NULL;
}

static struct error *use_directory(struct scene *scene, const char *path) {
    scene->given = true;
    if (strlen(path) >= sizeof scene->directory)
        return error_new(ERROR_LIMIT, "%s: found a path of %zu characters, expected fewer than %zu", path, strlen(path),
                         sizeof scene->directory);
    text_copy(scene->directory, sizeof scene->directory, path);
    return scene_use_directory(path, &scene->made);
}

static struct error *make_directory(struct scene *scene) {
    text_copy(scene->directory, sizeof scene->directory, "/tmp/wharf-scene-XXXXXX");
    if (mkdtemp(scene->directory))
        return NULL;
    scene->directory[0] = '\0';
    return error_new(ERROR_IO, "cannot make a directory in /tmp: %s", strerror(errno));
}

struct error *scene_open(const struct scene_options *options, struct scene **out) {
    *out = NULL;
    struct scene *scene = calloc(1, sizeof *scene);
    if (!scene)
        return error_no_memory();
    scene->tls = !options->plain;
    scene->adapters = strdup(options->adapters ? options->adapters : "");
    struct error *error = NULL;
    if (!scene->adapters)
        error = error_no_memory();
    else
        error = options->directory ? use_directory(scene, options->directory) : make_directory(scene);
    if (!error)
        error = reserve_port(scene);
    if (!error && scene->tls)
        error = certs_make(&(struct certs_options){0}, &scene->certs);
    for (size_t i = 0; !error && i <= options->workers; i++)
        error = add_cluster(scene, &options->world);
    if (error) {
        scene_close(scene);
        return error;
    }
    *out = scene;
    return NULL;
}

static void remove_directory(const char *directory) {
    DIR *folder = *directory ? opendir(directory) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder) {
        closedir(folder);
        rmdir(directory);
    }
}

static void remove_written(const struct scene *scene) {
    static const char *const files[] = {"wharf.yaml", "wharf.log"};
    for (size_t i = 0; i < sizeof files / sizeof *files + scene->count; i++) {
        AUTO_TEXT path = i < scene->count ? text_format("%s/%s.kubeconfig", scene->directory, scene->clusters[i].name)
                                          : text_format("%s/%s", scene->directory, files[i - scene->count]);
        if (path)
            unlink(path);
    }
    if (scene->made)
        rmdir(scene->directory);
}

void scene_close(struct scene *scene) {
    if (!scene)
        return;
    if (scene->child)
        wharf_end(scene, SIGKILL, 5 * CLOCK_SECOND);
    if (scene->reserved > 0)
        close(scene->reserved);
    for (size_t i = 0; i < scene->count; i++) {
        front_stop(scene->clusters[i].front);
        world_free(scene->clusters[i].cluster);
    }
    certs_free(&scene->certs);
    free(scene->adapters);
    if (scene->given && *scene->directory)
        remove_written(scene);
    else if (!scene->given)
        remove_directory(scene->directory);
    free(scene);
}

struct error *scene_configure(const struct scene *scene, const char *more_workers, const char *settings) {
    AUTO_TEXT adapters = built_path("adapters");
    AUTO_BUFFER(text, 1 << 16);
    buffer_printf(&text,
                  "apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\norigin: %s\n"
                  "management: {kubeconfig: mgmt.kubeconfig}\nworkers:\n",
                  SCENE_ORIGIN);
    for (size_t i = 1; i < scene->count; i++)
        buffer_printf(&text, "- {name: %s, kubeconfig: %s.kubeconfig%s%s}\n", scene->clusters[i].name,
                      scene->clusters[i].name, *scene->clusters[i].settings ? ", " : "", scene->clusters[i].settings);
    buffer_printf(&text,
                  "%sadapters:\n  directory: %s\n  enabled:\n  - name: job\n%s"
                  "serve: {address: \"127.0.0.1:%u\"}\n%s",
                  more_workers, adapters ? adapters : "", scene->adapters ? scene->adapters : "",
                  (unsigned)scene->serve_port, settings);
    return text.failed || !adapters ? error_no_memory() : scene_write(scene, "wharf.yaml", text.data);
}

int scene_apply(struct scene *scene, size_t index, const char *group, const char *plural, const char *text) {
    AUTO_JSON object = NULL;
    struct error *error = json_parse(text, strlen(text), &object);
    if (error) {
        fprintf(stderr, "%s: %s\n", error_text(error), text);
        error_free(error);
        return 0;
    }
    struct scene_cluster *at = &scene->clusters[index];
    front_lock(at->front);
    int status = world_apply(at->cluster, group, plural, object, front_now_ns());
    front_unlock(at->front);
    return status;
}

int scene_patch(struct scene *scene, size_t index, const char *group, const char *plural, const char *name,
                const char *patch) {
    struct scene_cluster *at = &scene->clusters[index];
    front_lock(at->front);
    int status = world_patch(at->cluster, group, plural, "default", name, NULL, patch, front_now_ns());
    front_unlock(at->front);
    return status;
}

int scene_delete(struct scene *scene, size_t index, const char *group, const char *plural, const char *name) {
    struct scene_cluster *at = &scene->clusters[index];
    front_lock(at->front);
    int status = world_delete(at->cluster, group, plural, "default", name, "Background", front_now_ns());
    front_unlock(at->front);
    return status;
}

struct json *scene_job(struct scene *scene, size_t index, const char *name) {
    struct scene_cluster *at = &scene->clusters[index];
    front_lock(at->front);
    const struct json *found = world_object(at->cluster, "batch", "jobs", "default", name);
    struct json *copy = found ? json_copy(found) : NULL;
    front_unlock(at->front);
    return copy;
}

size_t scene_jobs(struct scene *scene, size_t index) {
    struct scene_cluster *at = &scene->clusters[index];
    front_lock(at->front);
    size_t count = world_count(at->cluster, "batch", "jobs");
    front_unlock(at->front);
    return count;
}
