// SPDX-License-Identifier: Apache-2.0
// world --clusters N --dir DIR [--plain] [--no-controllers] [--pods] [--seed S]: serves N simulated clusters, "mgmt",
// "w1", "w2", ..., on 127.0.0.1, writes DIR/<name>.kubeconfig for each, prints "ready", and then takes commands from
// standard input, one a line, each answered with one line that begins with "ok" or "error":
//
//   down NAME | up NAME            the server dies, and comes back on the same port
//   leave NAME                     it refuses connections and keeps its watches, as after SIGTERM, until it is down
//   fine|errors|busy|hang|garbage NAME   how it answers
//   compact NAME | cut NAME        forgets its watch history; ends its watches
//   count NAME GROUP PLURAL        "ok 12"; GROUP "core" for the core group
//   writes NAME                    "ok create=1 update=2 status=3 delete=4 noop=0 events=0 refused422=0"
//   quit                           (so does the end of input)
#include "core/base/text.h"
#include "tests/world/http_front.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CLUSTERS_MAX 64

struct served {
    char name[32];
    struct world_cluster *cluster;
    struct front *front;
};

struct program {
    int64_t clusters;
    const char *directory;
    bool plain, no_controllers, pods;
    int64_t seed;
    struct certs certs;
    struct served served[CLUSTERS_MAX];
    size_t count;
};

static bool read_arguments(struct program *program, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        bool *option = strcmp(argv[i], "--plain") == 0            ? &program->plain
                       : strcmp(argv[i], "--no-controllers") == 0 ? &program->no_controllers
                       : strcmp(argv[i], "--pods") == 0           ? &program->pods
                                                                  : NULL;
        if (option) {
            *option = true;
            continue;
        }
        if (strcmp(argv[i], "--clusters") == 0) {
            if (!text_to_int64(value, &program->clusters))
                return false;
        } else if (strcmp(argv[i], "--seed") == 0) {
            if (!text_to_int64(value, &program->seed))
                return false;
        } else if (strcmp(argv[i], "--dir") == 0 && *value) {
            program->directory = value;
        } else {
            return false;
        }
        i++;
    }
    return program->directory && program->clusters > 0 && program->clusters <= CLUSTERS_MAX;
}

static struct error *write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    if (!file)
        return error_new(ERROR_IO, "cannot write %s", path);
    bool written = fchmod(fileno(file), 0600) == 0 && fputs(text, file) >= 0;
    if (fclose(file) != 0 || !written)
        return error_new(ERROR_IO, "cannot write %s", path);
    return NULL;
}

static struct error *write_kubeconfig(const struct program *program, const struct served *served) {
    AUTO_TEXT text = certs_kubeconfig(program->plain ? NULL : &program->certs, served->name, front_url(served->front));
    AUTO_TEXT path = text_format("%s/%s.kubeconfig", program->directory, served->name);
    return text && path ? write_file(path, text) : error_no_memory();
}

static struct error *serve(struct program *program) {
    struct served *served = &program->served[program->count];
    if (program->count == 0)
        text_copy(served->name, sizeof served->name, "mgmt");
    else
        snprintf(served->name, sizeof served->name, "w%zu", program->count);
    struct world_options options = {.name = served->name,
                                    .seed = (uint64_t)program->seed + program->count,
                                    .managed_fields = true,
                                    .no_controllers = program->no_controllers,
                                    .pods = program->pods};
    served->cluster = world_new(&options, front_now_ns());
    program->count++;
    struct error *error = front_start(served->cluster, 0, program->plain ? NULL : &program->certs, &served->front);
    return error ? error : write_kubeconfig(program, served);
}

static struct served *find(struct program *program, const char *name) {
    for (size_t i = 0; i < program->count; i++)
        if (strcmp(program->served[i].name, name) == 0)
            return &program->served[i];
    return NULL;
}

static void print_writes(struct served *served) {
    front_lock(served->front);
    struct world_counts counts = *world_counts(served->cluster);
    front_unlock(served->front);
    printf("ok create=%llu update=%llu status=%llu delete=%llu noop=%llu events=%llu refused422=%llu\n",
           (unsigned long long)counts.writes[WORLD_CREATE], (unsigned long long)counts.writes[WORLD_UPDATE],
           (unsigned long long)counts.writes[WORLD_UPDATE_STATUS], (unsigned long long)counts.writes[WORLD_DELETE],
           (unsigned long long)counts.noops, (unsigned long long)counts.events,
           (unsigned long long)counts.refused[422]);
}

static void print_count(struct served *served, const char *group, const char *plural) {
    front_lock(served->front);
    size_t count = world_count(served->cluster, strcmp(group, "core") == 0 ? "" : group, plural);
    front_unlock(served->front);
    printf("ok %zu\n", count);
}

static bool set_fault(struct served *served, const char *word) {
    static const char *const words[] = {"fine", "errors", "busy", "hang", "garbage"};
    static const enum front_fault faults[] = {FRONT_FINE, FRONT_ERRORS, FRONT_BUSY, FRONT_HANGS, FRONT_GARBAGE};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0) {
            front_set_fault(served->front, faults[i]);
            return true;
        }
    return false;
}

static bool with_lock(struct served *served, const char *word) {
    bool compact = strcmp(word, "compact") == 0;
    if (!compact && strcmp(word, "cut") != 0)
        return false;
    front_lock(served->front);
    if (compact)
        world_compact(served->cluster);
    else
        world_end_watches(served->cluster);
    front_unlock(served->front);
    return true;
}

static void run_command(struct served *served, const char *word, const char *third, const char *fourth) {
    struct error *error = NULL;
    if (strcmp(word, "writes") == 0) {
        print_writes(served);
        return;
    }
    if (strcmp(word, "count") == 0) {
        print_count(served, third, fourth);
        return;
    }
    if (strcmp(word, "down") == 0)
        front_down(served->front);
    else if (strcmp(word, "leave") == 0)
        front_leave(served->front);
    else if (strcmp(word, "up") == 0)
        error = front_up(served->front);
    else if (!set_fault(served, word) && !with_lock(served, word))
        error = error_new(ERROR_INVALID, "no such command: %s", word);
    printf(error ? "error %s\n" : "ok\n", error_text(error));
    error_free(error);
}

static void take_commands(struct program *program) {
    char line[256];
    while (fgets(line, sizeof line, stdin)) {
        char word[32] = "", name[32] = "", third[64] = "", fourth[64] = "";
        if (sscanf(line, "%31s %31s %63s %63s", word, name, third, fourth) < 1)
            continue;
        if (strcmp(word, "quit") == 0)
            return;
        struct served *served = find(program, name);
        if (served)
            run_command(served, word, third, fourth);
        else
            printf("error no such cluster: %s\n", name);
        fflush(stdout);
    }
}

int main(int argc, char **argv) {
    struct program program = {.seed = 1};
    if (!read_arguments(&program, argc, argv)) {
        fputs("usage: world --clusters N --dir DIR [--plain] [--no-controllers] [--pods] [--seed S]\n", stderr);
        return 2;
    }
    struct error *error = certs_make(&(struct certs_options){0}, &program.certs);
    for (int64_t i = 0; !error && i < program.clusters; i++)
        error = serve(&program);
    if (error) {
        fprintf(stderr, "world: %s\n", error_text(error));
    } else {
        for (size_t i = 0; i < program.count; i++)
            printf("%s %s\n", program.served[i].name, front_url(program.served[i].front));
        puts("ready");
        fflush(stdout);
        take_commands(&program);
    }
    for (size_t i = 0; i < program.count; i++) {
        front_stop(program.served[i].front);
        world_free(program.served[i].cluster);
    }
    certs_free(&program.certs);
    int status = error ? 1 : 0;
    error_free(error);
    return status;
}
