// SPDX-License-Identifier: Apache-2.0
// A small HTTP/1.1 server on 127.0.0.1 for tests, with or without TLS, which does exactly what its test says, also what
// no real server would. A thread for each connection.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct peer; // a connection

struct server_options {
    const char *cert, *key; // PEM; NULL: no TLS
    const char *client_ca;  // PEM: clients must show a certificate of this CA; NULL: need not
    // Answers one request (head and body as they came). False closes the connection.
    bool (*serve)(void *ctx, struct peer *peer, const char *request);
    void *ctx;
};

struct server;
struct server *server_start(const struct server_options *options); // aborts when it cannot
unsigned server_port(const struct server *server);
size_t server_connections(struct server *server); // accepted so far
void server_stop(struct server *server);          // closes what is open

void peer_send(struct peer *peer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void peer_send_bytes(struct peer *peer, const void *bytes, size_t len);
bool peer_is_gone(const struct peer *peer);        // something could not be sent: the rest is not sent either
const char *peer_name(const struct peer *peer);    // CN of the client's certificate, "" without
void peer_wait_closed(struct peer *peer);          // until the client closed the connection
void peer_relay(struct peer *peer, unsigned port); // a plain peer with a port of this machine, until one of them closes
