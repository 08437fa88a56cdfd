// SPDX-License-Identifier: Apache-2.0
#include "tests/support/control.h"
#include "core/base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET "control.sock"
#define ANSWER_MAX ((size_t)64 << 10)
#define WAIT_S 5       // for the other side
#define STOP_WAIT_S 30 // for its end

struct control {
    int fd;
    struct sockaddr_un address;
};

int control_fd(const struct control *control) {
    return control->fd;
}

static struct error *make_address(const char *directory, struct sockaddr_un *address) {
    AUTO_TEXT path = text_format("%s/%s", directory, SOCKET);
    if (!path)
        return error_no_memory();
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path)
        return error_new(ERROR_LIMIT, "%s: found a path of %zu characters, expected fewer than %zu for a socket", path,
                         strlen(path), sizeof address->sun_path);
    text_copy(address->sun_path, sizeof address->sun_path, path);
    return NULL;
}

static void set_wait(int fd, time_t seconds) {
    struct timeval wait = {.tv_sec = seconds};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
}

static int open_socket(void) {
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

// -1 with errno: nobody listens.
static int connect_to(const struct sockaddr_un *address) {
    int fd = open_socket();
    if (fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) != 0) {
        int number = errno;
        close(fd);
        errno = number;
        return -1;
    }
    return fd;
}

struct error *control_open(const char *directory, struct control **out) {
    struct control *control = calloc(1, sizeof *control);
    struct error *error = control ? make_address(directory, &control->address) : error_no_memory();
    int other = error ? -1 : connect_to(&control->address);
    if (other >= 0) {
        close(other);
        error = error_new(ERROR_REFUSED, "clusters are served in %s already", directory);
    }
    if (!error) {
        unlink(control->address.sun_path);
        control->fd = open_socket();
        bool listens = control->fd >= 0 &&
                       bind(control->fd, (struct sockaddr *)&control->address, sizeof control->address) == 0 &&
                       chmod(control->address.sun_path, 0600) == 0 && listen(control->fd, 8) == 0;
        if (listens) {
            *out = control;
            return NULL;
        }
        error = error_new(ERROR_IO, "cannot listen at %s: %s", control->address.sun_path, strerror(errno));
        if (control->fd >= 0)
            close(control->fd);
    }
    free(control);
    return error;
}

void control_close(struct control *control) {
    if (!control)
        return;
    close(control->fd);
    unlink(control->address.sun_path);
    free(control);
}

static bool read_all(int fd, struct buffer *out) {
    char chunk[4096];
    ssize_t got;
    while ((got = recv(fd, chunk, sizeof chunk, 0)) > 0)
        buffer_append(out, chunk, (size_t)got);
    return got == 0 && buffer_append(out, "", 0);
}

static bool write_all(int fd, const char *text, size_t len) {
    while (len > 0) {
        ssize_t sent = send(fd, text, len, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        text += sent;
        len -= (size_t)sent;
    }
    return true;
}

static struct scene_cluster *find(struct scene *scene, const char *name) {
    for (size_t i = 0; i < scene->count; i++)
        if (strcmp(scene->clusters[i].name, name) == 0)
            return &scene->clusters[i];
    return NULL;
}

static void list(const struct scene *scene, struct buffer *out) {
    buffer_printf(out, "%-6s %-5s %-26s %s\n", "NAME", "STATE", "SERVER", "KUBECONFIG");
    for (size_t i = 0; i < scene->count; i++) {
        const struct scene_cluster *cluster = &scene->clusters[i];
        buffer_printf(out, "%-6s %-5s %-26s %s/%s.kubeconfig\n", cluster->name,
                      front_is_up(cluster->front) ? "up" : "cut", front_url(cluster->front), scene->directory,
                      cluster->name);
    }
}

static struct error *unknown_cluster(const struct scene *scene, const char *name) {
    const char *names[SCENE_CLUSTERS];
    for (size_t i = 0; i < scene->count; i++)
        names[i] = scene->clusters[i].name;
    const char *meant = suggest(name, names, scene->count);
    return error_new(ERROR_NOT_FOUND, "no cluster \"%s\"%s%s%s", name, meant ? ", did you mean \"" : "",
                     meant ? meant : "", meant ? "\"?" : "");
}

static struct error *switch_cluster(struct scene *scene, const char *name, bool up, struct buffer *out) {
    struct scene_cluster *cluster = find(scene, name);
    if (!cluster)
        return unknown_cluster(scene, name);
    if (up == front_is_up(cluster->front)) {
        buffer_printf(out, "%s is %s already\n", name, up ? "up" : "cut off");
        return NULL;
    }
    struct error *error = NULL;
    if (up)
        error = front_up(cluster->front);
    else
        front_down(cluster->front);
    buffer_printf(out, "%s is %s\n", name, up ? "back" : "cut off");
    return error;
}

static struct error *carry_out(struct scene *scene, const char *line, struct buffer *out, bool *stop) {
    char word[16] = "", name[32] = "";
    int words = sscanf(line, "%15s %31s", word, name);
    if (words == 1 && strcmp(word, "list") == 0)
        list(scene, out);
    else if (words == 1 && strcmp(word, "stop") == 0)
        *stop = true;
    else if (words == 2 && (strcmp(word, "cut") == 0 || strcmp(word, "back") == 0))
        return switch_cluster(scene, name, *word == 'b', out);
    else
        return error_new(ERROR_INVALID, "no such command: %s", line);
    return NULL;
}

bool control_serve(struct control *control, struct scene *scene) {
    int client = accept4(control->fd, NULL, NULL, SOCK_CLOEXEC);
    AUTO_BUFFER(line, 256);
    AUTO_BUFFER(answer, ANSWER_MAX);
    bool stop = false;
    if (client < 0)
        return false;
    set_wait(client, WAIT_S);
    buffer_char(&answer, '+');
    if (read_all(client, &line) && !line.failed && line.len > 0) {
        struct error *error = carry_out(scene, line.data, &answer, &stop);
        if (error) {
            buffer_reset(&answer);
            buffer_printf(&answer, "-%s", error_text(error));
        }
        error_free(error);
        write_all(client, answer.data, answer.len);
    }
    if (!stop) // the client of "stop" waits for exit, which closes the connection
        close(client);
    return stop;
}

struct error *control_ask(const char *directory, const char *command, struct buffer *answer) {
    struct sockaddr_un address;
    struct error *error = make_address(directory, &address);
    if (error)
        return error;
    int fd = connect_to(&address);
    if (fd < 0)
        return error_new(ERROR_NOT_FOUND, "no clusters are served in %s", directory);
    set_wait(fd, strcmp(command, "stop") == 0 ? STOP_WAIT_S : WAIT_S);
    bool answered = write_all(fd, command, strlen(command)) && shutdown(fd, SHUT_WR) == 0 && read_all(fd, answer);
    close(fd);
    if (!answered || answer->failed || answer->len == 0)
        return error_new(ERROR_IO, "the program that serves clusters in %s does not answer", directory);
    if (*answer->data == '-')
        return error_new(ERROR_REFUSED, "%s", answer->data + 1);
    buffer_consume(answer, 1);
    return NULL;
}
