// SPDX-License-Identifier: Apache-2.0
// serve: {address, socket, socketGroup, tls}.
#include "core/base/address.h"
#include "core/base/local_socket.h"
#include "core/config/config_reader.h"

#include <stdlib.h>
#include <string.h>

bool config_serves(const struct config_serve *serve) {
    return serve->address || serve->socket;
}

void config_serve_clear(struct config_serve *serve) {
    free(serve->address);
    free(serve->socket);
    free(serve->group);
    free(serve->cert_file);
    free(serve->key_file);
}

static void read_address(struct config_reader *reader, const struct config_place *place, const struct json *value,
                         void *target) {
    static const char expected[] = "an IP address and a port, like 127.0.0.1:9440 or [::1]:9440";
    const char *text = config_text(reader, place, value, expected);
    struct address address;
    if (text && !address_parse_port(text, &address))
        config_wrong(reader, place, value, expected);
    else if (text)
        config_keep(reader, target, text);
}

static void read_socket(struct config_reader *reader, const struct config_place *place, const struct json *value,
                        void *target) {
    char **path = target;
    config_read_path(reader, place, value, path);
    if (*path && strlen(*path) > LOCAL_SOCKET_PATH_MAX)
        config_problem(reader, place,
                       "found a path of %zu bytes, expected at most %zu, which is what a socket may have",
                       strlen(*path), LOCAL_SOCKET_PATH_MAX);
}

static void read_group(struct config_reader *reader, const struct config_place *place, const struct json *value,
                       void *target) {
    const char *text = config_text(reader, place, value, "the name of a group");
    if (text)
        config_keep(reader, target, text);
}

static void read_tls(struct config_reader *reader, const struct config_place *place, const struct json *value,
                     void *target) {
    static const struct config_field fields[] = {
        {"certFile", config_read_path, offsetof(struct config_serve, cert_file), true,
         "The certificate, and after it those between it and its authority, in PEM. Read again when it changes."},
        {"keyFile", config_read_path, offsetof(struct config_serve, key_file), true, "Its private key, in PEM."},
    };
    if (config_mapping(reader, place, value, fields, sizeof fields / sizeof fields[0], target) && !reader->describe)
        ((struct config_serve *)target)->tls_line = config_line(reader, place);
}

static bool has(const struct json *value, const char *key) {
    const struct json *member = json_get(value, key);
    return member && !json_is(member, JSON_NULL);
}

void config_read_serve(struct config_reader *reader, const struct config_place *place, const struct json *value,
                       void *target) {
    static const struct config_field fields[] = {
        {"address", read_address, offsetof(struct config_serve, address), false,
         "Address and port, in plain HTTP unless there is tls. Either this or socket is required."},
        {"socket", read_socket, offsetof(struct config_serve, socket), false,
         "The Unix socket for callers on the host's machine. Default, where the folder exists or can be created: "
         "PORT.sock (the address's) in $RUNTIME_DIRECTORY, else for root in /run/wharf, for a user in "
         "$XDG_RUNTIME_DIR/wharf. Only root and the host's user may have write permission for its folder and the "
         "folders above it."},
        {"socketGroup", read_group, offsetof(struct config_serve, group), false,
         "A group that may connect to the socket, too (mode 0660). Default: only root and the host's user may (0600)."},
        {"tls", read_tls, 0, false, "TLS 1.2 or later at the address. The socket needs none."},
    };
    if (!config_mapping(reader, place, value, fields, sizeof fields / sizeof fields[0], target) || reader->describe)
        return;
    if (has(value, "tls") && !has(value, "address"))
        config_problem(reader, place, "found tls without address, expected both");
    else if (!has(value, "address") && !has(value, "socket"))
        config_problem(reader, place,
                       "found neither address nor socket: one of them is required, like address: "
                       "127.0.0.1:9440");
}
