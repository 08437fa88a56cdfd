// SPDX-License-Identifier: Apache-2.0
#include "core/base/clock.h"
#include "tests/support/wharf_child.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_MAX ((size_t)16 << 20)
#define PATIENCE_S 20

static int connect_to(uint16_t port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {.tv_sec = PATIENCE_S};
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
        connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

// HTTP/1.0 and "Connection: close": the body ends with the connection.
static bool exchange(int fd, const char *method, const char *path, struct buffer *answer) {
    AUTO_TEXT request = text_format("%s %s HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", method, path);
    size_t len = request ? strlen(request) : 0;
    if (!request || send(fd, request, len, MSG_NOSIGNAL) != (ssize_t)len)
        return false;
    char block[8192];
    ssize_t got;
    while ((got = recv(fd, block, sizeof block, 0)) > 0)
        buffer_append(answer, block, (size_t)got);
    return got == 0 && !answer->failed;
}

int http_ask(uint16_t port, const char *method, const char *path, struct buffer *body) {
    AUTO_BUFFER(answer, ANSWER_MAX);
    int fd = connect_to(port);
    if (fd < 0)
        return 0;
    bool whole = exchange(fd, method, path, &answer);
    close(fd);
    const char *end = whole && answer.data ? strstr(answer.data, "\r\n\r\n") : NULL;
    if (!end || !text_has_prefix(answer.data, "HTTP/1."))
        return 0;
    if (body)
        buffer_text(body, end + 4);
    return (int)strtol(answer.data + strlen("HTTP/1.1 "), NULL, 10);
}

bool wharf_is_ready(const struct scene *scene) {
    return http_ask(scene->serve_port, "GET", "/readyz", NULL) == 200;
}

double wharf_metric(const struct scene *scene, const char *sample) {
    AUTO_BUFFER(body, ANSWER_MAX);
    if (http_ask(scene->serve_port, "GET", "/metrics", &body) != 200 || !body.data)
        return -1;
    size_t len = strlen(sample);
    for (const char *line = body.data; *line;) {
        if (strncmp(line, sample, len) == 0 && line[len] == ' ')
            return strtod(line + len, NULL);
        const char *end = strchrnul(line, '\n');
        line = *end ? end + 1 : end;
    }
    return -1;
}
