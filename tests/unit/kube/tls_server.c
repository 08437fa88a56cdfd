// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kube/tls_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

struct peer {
    struct peer *next;
    struct server *server;
    pthread_t thread;
    int fd;
    SSL *ssl;  // NULL: plain
    bool gone; // nothing can be sent any more
    char name[128];
};

struct server {
    struct server_options options;
    SSL_CTX *tls;
    int fd;
    unsigned port;
    pthread_t thread;
    pthread_mutex_t lock;
    struct peer *peers;
    size_t accepted;
    bool stopping;
};

static void need(bool ok, const char *what) {
    if (ok)
        return;
    perror(what);
    abort();
}

static ssize_t receive(struct peer *peer, char *bytes, size_t len) {
    return peer->ssl ? SSL_read(peer->ssl, bytes, (int)len) : recv(peer->fd, bytes, len, 0);
}

void peer_send_bytes(struct peer *peer, const void *bytes, size_t len) {
    for (const char *at = bytes; len > 0 && !peer->gone;) {
        ssize_t sent = peer->ssl ? SSL_write(peer->ssl, at, (int)len) : send(peer->fd, at, len, MSG_NOSIGNAL);
        if (sent <= 0) {
            peer->gone = true;
            return;
        }
        at += sent;
        len -= (size_t)sent;
    }
}

void peer_send(struct peer *peer, const char *format, ...) {
    if (peer->gone)
        return;
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    need(len >= 0, "vasprintf");
    peer_send_bytes(peer, text, (size_t)len);
    free(text);
}

bool peer_is_gone(const struct peer *peer) {
    return peer->gone;
}

const char *peer_name(const struct peer *peer) {
    return peer->name;
}

void peer_wait_closed(struct peer *peer) {
    char byte;
    while (receive(peer, &byte, 1) > 0)
        ;
}

static size_t body_size(const char *head) {
    const char *field = strcasestr(head, "\r\nContent-Length:");
    return field ? strtoul(field + strlen("\r\nContent-Length:"), NULL, 10) : 0;
}

// A whole request, or NULL when the client closed; free().
static char *read_request(struct peer *peer) {
    size_t len = 0;
    size_t cap = 65536;
    char *text = calloc(1, cap + 1);
    need(text, "calloc");
    for (;;) {
        char *end = strstr(text, "\r\n\r\n");
        if (end && len >= (size_t)(end + 4 - text) + body_size(text))
            return text;
        if (len == cap) {
            text = realloc(text, (cap *= 2) + 1);
            need(text, "realloc");
        }
        ssize_t got = receive(peer, text + len, cap - len);
        if (got <= 0) {
            free(text);
            return NULL;
        }
        len += (size_t)got;
        text[len] = '\0';
    }
}

static bool shake_hands(struct peer *peer) {
    if (!peer->ssl)
        return true;
    SSL_set_fd(peer->ssl, peer->fd);
    if (SSL_accept(peer->ssl) != 1)
        return false;
    X509 *cert = SSL_get1_peer_certificate(peer->ssl);
    if (cert)
        X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, peer->name, sizeof peer->name);
    X509_free(cert);
    return true;
}

static void *peer_main(void *arg) {
    struct peer *peer = arg;
    const struct server_options *options = &peer->server->options;
    char *request = NULL;
    bool more = shake_hands(peer);
    while (more && (request = read_request(peer))) {
        more = options->serve(options->ctx, peer, request);
        free(request);
    }
    shutdown(peer->fd, SHUT_RDWR); // closed by server_stop, so that nobody gets the number meanwhile
    return NULL;
}

static bool is_stopping(struct server *server) {
    pthread_mutex_lock(&server->lock);
    bool stopping = server->stopping;
    pthread_mutex_unlock(&server->lock);
    return stopping;
}

// The next connection, or -1 when the server stops. A test may leave this process without file descriptors for a while:
// accept() takes one before it waits, so a thread that calls it only then fails with EMFILE.
static int next_connection(struct server *server) {
    int fd;
    while ((fd = accept(server->fd, NULL, NULL)) < 0 && errno == EMFILE && !is_stopping(server))
        (void)poll(NULL, 0, 1);
    return fd;
}

static void *server_main(void *arg) {
    struct server *server = arg;
    for (;;) {
        int fd = next_connection(server);
        pthread_mutex_lock(&server->lock);
        if (fd < 0 || server->stopping) {
            pthread_mutex_unlock(&server->lock);
            if (fd >= 0)
                close(fd);
            return NULL;
        }
        int one = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct peer *peer = calloc(1, sizeof *peer);
        need(peer, "calloc");
        *peer = (struct peer){.next = server->peers, .server = server, .fd = fd};
        peer->ssl = server->tls ? SSL_new(server->tls) : NULL;
        server->peers = peer;
        server->accepted++;
        need(pthread_create(&peer->thread, NULL, peer_main, peer) == 0, "pthread_create");
        pthread_mutex_unlock(&server->lock);
    }
}

static X509 *read_cert(const char *pem) {
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    BIO_free(bio);
    need(cert, "certificate");
    return cert;
}

static SSL_CTX *make_tls(const struct server_options *options) {
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    need(tls, "SSL_CTX_new");
    X509 *cert = read_cert(options->cert);
    BIO *bio = BIO_new_mem_buf(options->key, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    BIO_free(bio);
    need(SSL_CTX_use_certificate(tls, cert) == 1 && SSL_CTX_use_PrivateKey(tls, key) == 1, "key");
    X509_free(cert);
    EVP_PKEY_free(key);
    if (options->client_ca) {
        X509 *ca = read_cert(options->client_ca);
        X509_STORE_add_cert(SSL_CTX_get_cert_store(tls), ca);
        X509_free(ca);
        SSL_CTX_set_verify(tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    return tls;
}

struct server *server_start(const struct server_options *options) {
    struct server *server = calloc(1, sizeof *server);
    need(server, "calloc");
    server->options = *options;
    server->tls = options->cert ? make_tls(options) : NULL;
    pthread_mutex_init(&server->lock, NULL);
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    need(bind(server->fd, (struct sockaddr *)&address, len) == 0, "bind");
    need(listen(server->fd, 64) == 0, "listen");
    need(getsockname(server->fd, (struct sockaddr *)&address, &len) == 0, "getsockname");
    server->port = ntohs(address.sin_port);
    need(pthread_create(&server->thread, NULL, server_main, server) == 0, "pthread_create");
    return server;
}

unsigned server_port(const struct server *server) {
    return server->port;
}

size_t server_connections(struct server *server) {
    pthread_mutex_lock(&server->lock);
    size_t accepted = server->accepted;
    pthread_mutex_unlock(&server->lock);
    return accepted;
}

void server_stop(struct server *server) {
    pthread_mutex_lock(&server->lock);
    server->stopping = true;
    for (struct peer *peer = server->peers; peer; peer = peer->next)
        shutdown(peer->fd, SHUT_RDWR);
    pthread_mutex_unlock(&server->lock);
    shutdown(server->fd, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->fd);
    while (server->peers) {
        struct peer *peer = server->peers;
        server->peers = peer->next;
        pthread_join(peer->thread, NULL);
        SSL_free(peer->ssl);
        close(peer->fd);
        free(peer);
    }
    SSL_CTX_free(server->tls);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

static int connect_to(unsigned port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    need(connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "connect");
    return fd;
}

void peer_relay(struct peer *peer, unsigned port) {
    struct pollfd ends[2] = {{.fd = peer->fd, .events = POLLIN}, {.fd = connect_to(port), .events = POLLIN}};
    char bytes[4096];
    for (bool open = true; open && poll(ends, 2, -1) > 0;) {
        for (int i = 0; open && i < 2; i++) {
            if (!ends[i].revents)
                continue;
            ssize_t got = recv(ends[i].fd, bytes, sizeof bytes, 0);
            open = got > 0 && send(ends[1 - i].fd, bytes, (size_t)got, MSG_NOSIGNAL) == got;
        }
    }
    close(ends[1].fd);
}
