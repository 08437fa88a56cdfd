// SPDX-License-Identifier: Apache-2.0
// GET /api/v1/exec/KIND/NAMESPACE/NAME: a WebSocket, relayed byte by byte to the worker's API server. One thread for
// each session.
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/kube/transport/curl_transport.h"
#include "core/kube/transport/websocket.h"
#include "core/serve/http/server.h"
#include "core/serve/pods/targets.h"

#include <errno.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>

#define STACK ((size_t)256 * 1024)
#define PATH_MAX_BYTES ((size_t)16 * 1024)
#define COMMAND_MAX ((size_t)4000) // with the mark of a cut less than the log shows of a value
#define SIZE ((size_t)16 * 1024)
#define POLL_MS 200               // between checks of `stop`
#define CLOSE_POLICY 1008         // RFC 6455 section 7.4.1
#define END_NS (2 * CLOCK_SECOND) // for the rest of a frame

struct exec_session {
    struct web_call *call;
    struct target target;
    struct tunnel *tunnel;
    char protocols[64]; // a list
    int client;
    struct pipe { // one direction
        size_t start, end;
        char bytes[SIZE];
    } up, down;
    struct websocket_frames frames; // of `down`
};

// Relay ------------------------------------------------------------------------------------------------------------

// The count of a call that did not block; -1: the client is gone.
static ptrdiff_t result_of(ssize_t count) {
    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? 0 : count;
}

static ptrdiff_t client_read(int client, void *bytes, size_t len) {
    ssize_t count = recv(client, bytes, len, MSG_DONTWAIT);
    return count == 0 ? -1 : result_of(count);
}

// Moves up to `max` bytes without blocking. False: one of the sides has ended, after all of that side's bytes.
static bool move_bytes(struct exec_session *session, bool up, size_t max, bool *moved) {
    struct pipe *pipe = up ? &session->up : &session->down;
    if (pipe->start == pipe->end) {
        ptrdiff_t count =
            up ? client_read(session->client, pipe->bytes, SIZE) : tunnel_read(session->tunnel, pipe->bytes, SIZE);
        if (count < 0)
            return false;
        pipe->start = 0;
        pipe->end = (size_t)count;
    }
    const char *bytes = pipe->bytes + pipe->start;
    size_t len = size_least(pipe->end - pipe->start, max);
    if (len == 0)
        return true;
    ptrdiff_t sent = up ? tunnel_write(session->tunnel, bytes, len)
                        : result_of(send(session->client, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL));
    if (sent < 0)
        return false;
    if (!up)
        websocket_frames_pass(&session->frames, bytes, (size_t)sent);
    pipe->start += (size_t)sent;
    *moved = *moved || sent > 0;
    return true;
}

static bool is_full(const struct pipe *pipe) {
    return pipe->start < pipe->end;
}

// While one direction is blocked, poll() excludes the source, which would be ready all the time.
static void wait_for(const struct exec_session *session, bool reads_up) {
    bool up = is_full(&session->up), down = is_full(&session->down);
    struct pollfd polled[] = {
        {.fd = session->client, .events = (short)((up || !reads_up ? 0 : POLLIN) | (down ? POLLOUT : 0))},
        {.fd = tunnel_socket(session->tunnel), .events = (short)((down ? 0 : POLLIN) | (up ? POLLOUT : 0))},
    };
    (void)poll(polled, 2, POLL_MS);
}

// The rest of the frame that has begun. False: the rest does not come, or cannot be sent.
static bool end_frame(struct exec_session *session) {
    int64_t until_ns = clock_now().mono_ns + END_NS;
    session->up.start = session->up.end = 0;
    for (uint64_t rest; (rest = websocket_frames_rest(&session->frames)) > 0;) {
        bool moved = false;
        if (!move_bytes(session, false, rest < SIZE ? (size_t)rest : SIZE, &moved) || clock_now().mono_ns > until_ns)
            return false;
        if (!moved)
            wait_for(session, false);
    }
    return true;
}

static void send_lost_grant(struct exec_session *session) {
    AUTO_BUFFER(close, 256);
    if (!end_frame(session))
        return;
    websocket_put_close(&close, CLOSE_POLICY, grant_reason(session->call->grant));
    if (!close.failed)
        (void)send(session->client, close.data, close.len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// Passes bytes on between the client's socket and the tunnel, in both directions, through buffers of fixed size. Until
// one side ends, the server stops, or the grant is lost: the client gets the reason as a WebSocket's close then.
static void relay(struct exec_session *session) {
    bool open = true;
    while (open && !atomic_load(session->target.stop) && !grant_is_lost(session->call->grant)) {
        bool moved = false;
        open = move_bytes(session, true, SIZE, &moved) && move_bytes(session, false, SIZE, &moved);
        if (open && !moved)
            wait_for(session, true);
    }
    if (grant_is_lost(session->call->grant))
        send_lost_grant(session);
}

// Session ----------------------------------------------------------------------------------------------------------

// The known ones of the client's subprotocols (k8s.io/apimachinery remotecommand).
static void read_protocols(struct exec_session *session) {
    static const char *const known[] = {"v5.channel.k8s.io", "v4.channel.k8s.io"};
    const char *given = web_header(session->call, "Sec-WebSocket-Protocol");
    for (size_t i = 0; given && i < sizeof known / sizeof known[0]; i++) {
        size_t len = strlen(session->protocols);
        if (strstr(given, known[i]))
            snprintf(session->protocols + len, sizeof session->protocols - len, "%s%s", len > 0 ? ", " : "", known[i]);
    }
}

static struct error *check_upgrade(struct exec_session *session) {
    const struct web_call *call = session->call;
    const char *upgrade = web_header(call, "Upgrade"), *key = web_header(call, "Sec-WebSocket-Key");
    const char *version = web_header(call, "Sec-WebSocket-Version");
    read_protocols(session);
    if (!upgrade || strcasecmp(upgrade, "websocket") != 0 || !key || !websocket_key_is_valid(key) || !version ||
        strcmp(version, "13") != 0)
        return error_new(ERROR_INVALID, "exec is a WebSocket: expected the headers of its handshake, version 13");
    if (!*session->protocols)
        return error_new(ERROR_INVALID, "found no subprotocol, expected v5.channel.k8s.io or v4.channel.k8s.io in "
                                        "Sec-WebSocket-Protocol");
    if (!web_parameter(call, "command"))
        return error_new(ERROR_INVALID, "found no command, expected command=... for each of its words");
    return NULL;
}

static struct error *make_path(const struct web_call *call, const struct target *target, const struct pod *pod,
                               const struct pod_container *container, struct buffer *out) {
    bool tty = web_flag(call, "tty");
    buffer_printf(out, "/api/v1/namespaces/%s/pods/%s/exec?container=", target->mirror.space, pod->name);
    text_percent_encode(out, container->name);
    buffer_printf(out, "&stdin=%s&stdout=true&stderr=%s&tty=%s", web_flag(call, "stdin") ? "true" : "false",
                  tty ? "false" : "true", tty ? "true" : "false");
    for (size_t i = 0; i < call->n_parameters; i++)
        if (strcmp(call->parameters[i].name, "command") == 0) {
            buffer_text(out, "&command=");
            text_percent_encode(out, call->parameters[i].value);
        }
    return out->failed ? error_new(ERROR_INVALID, "the command is longer than %zu bytes", PATH_MAX_BYTES) : NULL;
}

// The worker's answer in place of 101.
static struct error *refusal(const struct exec_session *session, const struct tunnel_answer *answer) {
    AUTO_JSON status = NULL;
    error_free(json_parse(answer->body.data ? answer->body.data : "", answer->body.len, &status));
    const char *message = json_string(json_get(status, "message"));
    const char *tenant = target_tenant(&session->target);
    if (answer->status == 403 && tenant)
        return error_new(ERROR_REFUSED,
                         "%s: user " TENANT_USER_PREFIX
                         "%s may not run commands there, or the host may not act as that "
                         "user (apply wharf rbac --for worker --exec): %s",
                         session->target.mirror.cluster, tenant, message ? message : "forbidden");
    if (answer->status == 403)
        return error_new(ERROR_REFUSED,
                         "%s: the host may not run commands there: repeat wharf join for it with --exec "
                         "(or apply wharf rbac --for worker --exec): %s",
                         session->target.mirror.cluster, message ? message : "forbidden");
    return error_new(answer->status == 404 ? ERROR_NOT_FOUND : ERROR_IO, "%s: %s", session->target.mirror.cluster,
                     message ? message : "its API server did not accept the session");
}

// The words as a shell would read them. A long command is cut, with a mark at the end.
static void describe_command(const struct web_call *call, struct buffer *out) {
    AUTO_BUFFER(words, PATH_MAX_BYTES * 4);
    for (size_t i = 0; i < call->n_parameters; i++)
        if (strcmp(call->parameters[i].name, "command") == 0) {
            buffer_text(&words, words.len > 0 ? " " : "");
            text_shell_word(&words, call->parameters[i].value);
        }
    size_t len = words.len;
    if (len > COMMAND_MAX)
        for (len = COMMAND_MAX; len > 0 && ((unsigned char)words.data[len] & 0xC0) == 0x80;)
            len--;
    buffer_append(out, words.data ? words.data : "", len);
    if (len < words.len || words.failed)
        buffer_printf(out, " ... (cut, %zu bytes)", words.len);
}

static void log_session(const struct exec_session *session, const struct pod *pod,
                        const struct pod_container *container) {
    AUTO_BUFFER(command, COMMAND_MAX + 64);
    describe_command(session->call, &command);
    log_fields(LOG_INFO, "exec session", {"user", web_user(session->call)}, {"cluster", session->target.mirror.cluster},
               {"namespace", session->target.mirror.space}, {"pod", pod->name}, {"container", container->name},
               {"command", command.data ? command.data : ""});
}

// Opens the worker's side.
static struct error *connect_worker(struct exec_session *session, struct tunnel_answer *answer) {
    const struct web_call *call = session->call;
    const struct pod *pod = NULL;
    const struct pod_container *container = NULL;
    TRY(check_upgrade(session));
    TRY(target_open_pods(call, &session->target));
    TRY(target_pod(&session->target, web_text(call, "pod"), &pod));
    TRY(target_container(pod, web_text(call, "container"), &container));
    AUTO_BUFFER(path, PATH_MAX_BYTES);
    TRY(make_path(call, &session->target, pod, container, &path));
    AUTO_TEXT headers = text_format("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                    "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Protocol: %s\r\n",
                                    web_header(call, "Sec-WebSocket-Key"), session->protocols);
    if (!headers)
        return error_no_memory();
    log_session(session, pod, container);
    struct error *error =
        tunnel_open(session->target.worker.connection.transport, path.data, target_tenant(&session->target), headers,
                    session->target.stop, &session->tunnel, answer);
    if (!error && !session->tunnel)
        error = refusal(session, answer);
    return error;
}

static void session_free(void *ctx) {
    struct exec_session *session = ctx;
    tunnel_close(session->tunnel);
    target_close(&session->target);
    free(session);
}

static void end_session(struct exec_session *session) {
    struct web_call *call = session->call;
    struct http_server *server = call->server;
    web_upgrade_close(call);
    session_free(session);
    web_call_free(call);
    AUTO_LOCK(&server->lock);
    server->sessions--;
    pthread_cond_signal(&server->session_over);
}

static void *run_session(void *arg) {
    struct exec_session *session = arg;
    relay(session);
    end_session(session);
    return NULL;
}

// A separate thread passes the bytes on: over TLS, the thread of the connection encrypts meanwhile.
static void start_session(void *ctx, int fd, const char *early, size_t early_len) {
    struct exec_session *session = ctx;
    struct http_server *server = session->call->server;
    session->client = fd;
    session->up.end = size_least(early_len, SIZE);
    if (early_len > 0)
        memcpy(session->up.bytes, early, session->up.end);
    pthread_mutex_lock(&server->lock);
    bool stops = atomic_load(&server->stopping);
    server->sessions++;
    pthread_mutex_unlock(&server->lock);
    if (stops || early_len > SIZE || thread_start("exec", STACK, run_session, session, NULL) != 0)
        end_session(session);
}

static struct error *accept_client(struct exec_session *session, const struct tunnel_answer *answer) {
    char accept[WEBSOCKET_ACCEPT];
    AUTO_TEXT theirs = tunnel_header(answer, "Sec-WebSocket-Accept");
    AUTO_TEXT protocol = tunnel_header(answer, "Sec-WebSocket-Protocol");
    if (!websocket_accept(web_header(session->call, "Sec-WebSocket-Key"), accept))
        return error_no_memory();
    if (!theirs || strcmp(theirs, accept) != 0 || !protocol)
        return error_new(ERROR_IO, "%s: its API server accepted the session with something that is not a WebSocket",
                         session->target.mirror.cluster);
    const struct api_parameter headers[] = {
        {"Upgrade", "websocket"}, {"Sec-WebSocket-Accept", accept}, {"Sec-WebSocket-Protocol", protocol}};
    web_upgrade(session->call, headers, sizeof headers / sizeof headers[0], start_session,
                &(struct web_reader){NULL, session_free, session});
    return NULL;
}

struct error *serve_exec(struct web_call *call) {
    struct tunnel_answer answer = {.status = 0};
    struct exec_session *session = calloc(1, sizeof *session);
    if (!session)
        return error_no_memory();
    session->call = call;
    struct error *error = connect_worker(session, &answer);
    if (!error)
        error = accept_client(session, &answer);
    tunnel_answer_clear(&answer);
    if (error)
        session_free(session);
    return error;
}
