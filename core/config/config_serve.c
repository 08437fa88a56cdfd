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

static bool is_address(const char *text) {
    struct address address;
    return address_parse_port(text, &address);
}

static void read_socket(struct config_reader *reader, const struct config_place *place, const struct json *value,
                        void *target) {
    char **path = target;
    config_read_path(reader, place, value, path);
    if (*path && strlen(*path) > LOCAL_SOCKET_PATH_MAX)
        config_problem(reader, place, "found a path of %zu bytes, expected at most %zu, the limit of a socket",
                       strlen(*path), LOCAL_SOCKET_PATH_MAX);
}

static const struct config_field tls[] = {
    {"certFile", config_read_path, offsetof(struct config_serve, cert_file), true,
     .help = "The certificate, and after it those between it and its authority, in PEM. Read again when it changes."},
    {"keyFile", config_read_path, offsetof(struct config_serve, key_file), true, .help = "The private key, in PEM."},
};

static bool has_key(const struct json *value, const char *key) {
    const struct json *member = json_get(value, key);
    return member && !json_is(member, JSON_NULL);
}

void config_read_serve(struct config_reader *reader, const struct config_place *place, const struct json *value,
                       void *target) {
    static const struct config_field fields[] = {
        {"address", config_read_text, offsetof(struct config_serve, address), false,
         .help = "Address and port, in plain HTTP unless there is tls. Either this or socket is required.",
         .is_valid = is_address, .expected = "an IP address and a port, like 127.0.0.1:9440 or [::1]:9440"},
        {"socket", read_socket, offsetof(struct config_serve, socket), false,
         .help =
             "The Unix socket for callers on the host's machine. Default, where the folder exists or can be created: "
             "PORT.sock (the address's) in $RUNTIME_DIRECTORY, else for root in /run/wharf, for a user in "
             "$XDG_RUNTIME_DIR/wharf. Only root and the host's user may have write permission for its folder and the "
             "folders above it."},
        {"socketGroup", config_read_text, offsetof(struct config_serve, group), false,
         .help = "A group that may connect to the socket, too (mode 0660). Default: only root and the host's user may "
                 "(0600).",
         .expected = "the name of a group"},
        {"tls", config_read_section, 0, false, .help = "TLS 1.2 or later at the address. The socket needs none.",
         .line_at = offsetof(struct config_serve, tls_line), CONFIG_SECTION(tls)},
    };
    if (!config_mapping(reader, place, value, fields, CONFIG_COUNT(fields), target) || reader->describe)
        return;
    if (has_key(value, "tls") && !has_key(value, "address"))
        config_problem(reader, place, "found tls without address, expected both");
    else if (!has_key(value, "address") && !has_key(value, "socket"))
        config_problem(reader, place,
                       "found neither address nor socket: one of them is required, like address: "
                       "127.0.0.1:9440");
}
