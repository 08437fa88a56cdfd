// SPDX-License-Identifier: Apache-2.0
// The sockets of the server, and its threads' meeting points: listening, TLS, the bounded set of connections, the queue
// for answers, streams.
#pragma once

#include "core/base/error.h"

#include <microhttpd.h>
#include <pthread.h>
#include <sys/socket.h>

// acceptor.c. The listening socket, and a thread that accepts connections and passes them on. When file descriptors run
// out, the thread logs that and waits, where a server that retries at once would keep a processor busy.
// A listening socket that does not block. ERROR_INVALID: `address` is no IP address with a port.
struct error *listen_open(const char *address, int *fd, uint16_t *port);

struct acceptor {
    int fd, stop_fd; // the listening socket, which does not block; an eventfd, or -1
    struct MHD_Daemon *daemon;
    pthread_t thread;
    bool running;
};
// Passes connections (not blocking, close-on-exec) on to the daemon from now on.
struct error *acceptor_start(struct acceptor *acceptor, struct MHD_Daemon *daemon);
void acceptor_stop(struct acceptor *acceptor); // closes the socket, also if the acceptor was not started

// tls.c. The certificate of a server over TLS, with GnuTLS as libmicrohttpd. A changed file is read again, for the next
// handshakes.
struct tls;
// Both files are PEM; the first one has the server's certificate first. ERROR_UNSUPPORTED if libmicrohttpd has no TLS.
struct error *tls_new(const char *cert_file, const char *key_file, struct tls **out);
void tls_free(struct tls *tls); // after the daemon; NULL is fine

// The options of a daemon, for MHD_OPTION_ARRAY. The socket context of its connections (MHD_NotifyConnectionCallback)
// is the struct tls.
#define TLS_OPTIONS 3
void tls_options(struct MHD_OptionItem options[TLS_OPTIONS]);

// turnstile.c. Lets a bounded number of threads do something at a time; the others wait in the order of their arrival.
struct turnstile {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t places, max_waiting;
    size_t inside;
    unsigned long entered, arrived; // how many threads have passed, and have come
};
void turnstile_init(struct turnstile *turnstile, size_t places, size_t max_waiting);
void turnstile_destroy(struct turnstile *turnstile);

// Waits for a place. False: too many threads wait already.
bool turnstile_enter(struct turnstile *turnstile);
void turnstile_leave(struct turnstile *turnstile);

// connections.c. The connections of the server, bounded. Beyond the bound, the address with most connections loses the
// oldest one; a request that takes too long ends the connection. So many or slow connections do not block other
// clients, nor a probe from the same address, with a request that comes and ends at once. Streams and sessions, which
// last, and requests that wait for the review of their token have bounds of their own, and take no place of others. The
// caller has a lock.
#define CONNECTIONS_OPEN_MAX ((size_t)32)
#define CONNECTION_TIMEOUT_S 20 // for a request and the answer

enum connection_kind {
    CONNECTION_SHORT,
    CONNECTION_LOGS,
    CONNECTION_EXEC,
    CONNECTION_WATCH,
    CONNECTION_REVIEW,
    CONNECTION_CLOSING // a short one, after the shutdown of the socket
};
#define CONNECTIONS_LASTING ((size_t)64) // of each other kind
// Wait for the review of their token; of one network at most half.
#define CONNECTIONS_REVIEW CONNECTIONS_LASTING
// Including those being closed.
#define CONNECTIONS_MAX (CONNECTIONS_OPEN_MAX * 2 + 4 * CONNECTIONS_LASTING)

struct served_connection {
    int fd;
    uint8_t address[16]; // IPv6, or mapped IPv4
    int64_t since_ns;    // accepted, or the last request was answered
    const char *user;    // of a stream or a session; NULL: not counted
    enum connection_kind kind;
};

struct connections {
    struct served_connection list[CONNECTIONS_MAX]; // a connection stays in the list until the end of the socket
    size_t count;
};

// IPv6, or mapped IPv4; zeros for another family, and NULL.
void connections_address(const struct sockaddr *address, uint8_t out[16]);

// Adds an accepted connection. Returns the socket to shut down in exchange; -1: none.
int connections_add(struct connections *connections, int fd, const struct sockaddr *address, int64_t now_ns);

// The request of this connection asks for something that lasts. False: there are as many of the kind as may be, or as
// many of the network as may wait for a review (for IPv6 the network is the /64).
bool connections_extend(struct connections *connections, int fd, enum connection_kind kind);
size_t connections_limit(enum connection_kind kind);

// False: the user has as many of the connection's kind as one may have, which is half of all. The name must stay valid
// until connections_served or connections_remove.
bool connections_claim(struct connections *connections, int fd, const char *user);
size_t connections_user_limit(enum connection_kind kind);

// Call after an answer to a request of this connection, or the review of the token.
void connections_served(struct connections *connections, int fd, int64_t now_ns);

// Call before closing the socket.
void connections_remove(struct connections *connections, int fd);

// The socket of a connection with a request that has timed out, to be shut down; -1: no more.
int connections_expire(struct connections *connections, int64_t now_ns);

// stream.c. Bytes from a producing thread to the thread of a connection, through a ring of fixed size. The producer
// waits while the ring is full, so a slow client holds back one producer only.
struct stream;
struct error *stream_new(struct stream **out);
void stream_free(struct stream *stream); // once both threads are done with the stream; NULL is fine

// The producer's side.
// The answer is decided: stream_wait returns.
void stream_begin(struct stream *stream);
// Blocks until all bytes are in the buffer. False: the client is gone.
bool stream_write(struct stream *stream, const void *bytes, size_t len);
bool stream_is_read(struct stream *stream); // false: the client is gone
// The reader's thread calls `wake` when the client goes away; at once if the client is gone already. NULL: no more.
void stream_on_gone(struct stream *stream, void (*wake)(void *ctx), void *ctx);
void stream_end(struct stream *stream); // the client still gets the rest of the buffer

// The reader's side.
void stream_wait(struct stream *stream); // for stream_begin or stream_end
// Blocks until there are bytes, and reads up to `max`. -1: the end. -2: abandoned, or the peer of the socket `client`
// closed the connection.
ptrdiff_t stream_read(struct stream *stream, int client, char *out, size_t max);
// The client is gone, or has to go.
void stream_abandon(struct stream *stream);
