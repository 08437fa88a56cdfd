// SPDX-License-Identifier: Apache-2.0
// Connects to a server.
#define FARM "connect"
#include "tests/gallery/farm.h"

#include <netinet/in.h>
#include <sys/socket.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(1), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    (void)connect(fd, (struct sockaddr *)&address, sizeof address);
}
