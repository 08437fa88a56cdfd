// SPDX-License-Identifier: Apache-2.0
// `wharf exec`: a command in a pod of a workload, through the host. The terminal is raw during the session.
#include "core/cmd/remote/remote.h"
#include "core/kube/transport/curl_transport.h"
#include "core/kube/transport/websocket.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

// The channels of v5.channel.k8s.io and v4.channel.k8s.io (k8s.io/apimachinery remotecommand): each message begins with
// the number of the channel.
enum channel {
    CHANNEL_STDIN,
    CHANNEL_STDOUT,
    CHANNEL_STDERR,
    CHANNEL_ERROR,      // the server's last word: a metav1.Status
    CHANNEL_RESIZE,     // of the terminal
    CHANNEL_CLOSE = 255 // v5: the channel in the next byte ends
};

static struct termios before; // for the handler of signals
static volatile sig_atomic_t raw;

static void terminal_restore(void) {
    if (raw)
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    raw = 0;
}

// A shell cannot use a raw terminal.
static void on_signal(int number) {
    terminal_restore();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static struct error *terminal_raw(void) {
    static const int ends[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
    if (tcgetattr(STDIN_FILENO, &before) != 0)
        return error_new(ERROR_IO, "cannot read the terminal's settings: %s", strerror(errno));
    struct termios wanted = before;
    cfmakeraw(&wanted);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        (void)signal(ends[i], on_signal);
    raw = 1;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &wanted) == 0)
        return NULL;
    raw = 0;
    return error_new(ERROR_IO, "cannot make the terminal raw: %s", strerror(errno));
}

// A descriptor that is readable after the size has changed. -1: none.
static int terminal_watch_size(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

#define CHUNK ((size_t)16 * 1024)
#define OUT_MAX ((size_t)256 * 1024)

struct session {
    struct tunnel *tunnel;
    bool input, tty;
    bool can_close; // v5
    struct websocket_reader reader;
    struct buffer out; // to the server
    bool input_over, over;
    int resize_fd;
    int code; // of the remote command
    struct error *error;
};

// Takes the error, or NULL; the first error stays.
static void end_session(struct session *session, struct error *error) {
    session->over = true;
    if (session->error)
        error_free(error);
    else
        session->error = error;
}

static void put_message(struct session *session, enum channel channel, const void *bytes, size_t len) {
    char message[CHUNK + 1];
    message[0] = (char)channel;
    memcpy(message + 1, bytes, len);
    if (!websocket_put(&session->out, WEBSOCKET_BINARY, message, len + 1))
        end_session(session, error_no_memory());
}

static void put_size(struct session *session) {
    struct winsize size;
    char text[64];
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
        return;
    int len = snprintf(text, sizeof text, "{\"Width\":%hu,\"Height\":%hu}", size.ws_col, size.ws_row);
    put_message(session, CHANNEL_RESIZE, text, (size_t)len);
}

static void read_input(struct session *session) {
    char bytes[CHUNK];
    ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
    if (count > 0) {
        put_message(session, CHANNEL_STDIN, bytes, (size_t)count);
        return;
    }
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    static const char which[] = {CHANNEL_STDIN};
    session->input_over = true;
    if (session->can_close)
        put_message(session, CHANNEL_CLOSE, which, sizeof which);
}

static struct error *exit_code(const struct json *status, int *code) {
    const struct json *causes = json_path(status, "details", "causes", NULL);
    for (const struct json *cause = json_first(causes); cause; cause = json_next(cause)) {
        int64_t number = 0;
        if (strcmp(json_string_or(json_get(cause, "reason"), ""), "ExitCode") != 0)
            continue;
        if (!text_to_int64(json_string_or(json_get(cause, "message"), ""), &number) || number < 0 || number > 255)
            continue;
        *code = (int)number;
        return NULL;
    }
    return error_new(ERROR_IO, "%s", json_string_or(json_get(status, "message"), "the command ended without a code"));
}

struct error *session_result(const char *status, size_t len, int *code) {
    AUTO_JSON value = NULL;
    struct error *error = json_parse(status, len, &value);
    if (error)
        return error_wrap(error, "the server ended the session with something that is not a Status");
    *code = EXIT_SUCCESS;
    if (strcmp(json_string_or(json_get(value, "status"), ""), "Success") == 0)
        return NULL;
    return exit_code(value, code);
}

static void end_unwritten(struct session *session) {
    bool closed = errno == EPIPE;
    session->code = CODE_CLOSED; // without a message
    end_session(session, closed ? NULL : error_new(ERROR_IO, "cannot write the output: %s", strerror(errno)));
}

static void write_channel(struct session *session, const char *bytes, size_t len) {
    unsigned char channel = (unsigned char)bytes[0];
    int fd = channel == CHANNEL_STDOUT ? STDOUT_FILENO : channel == CHANNEL_STDERR ? STDERR_FILENO : -1;
    if (channel == CHANNEL_ERROR)
        end_session(session, session_result(bytes + 1, len - 1, &session->code));
    else if (fd >= 0 && !text_write_fd(fd, bytes + 1, len - 1))
        end_unwritten(session);
}

static void handle_message(struct session *session, enum websocket_opcode opcode, const char *bytes, size_t len) {
    if (opcode == WEBSOCKET_PING)
        (void)websocket_put(&session->out, WEBSOCKET_PONG, bytes, len);
    else if (opcode == WEBSOCKET_CLOSE)
        end_session(session,
                    error_new(ERROR_IO, "the session was closed: %.*s", (int)(len > 2 ? len - 2 : 0), bytes + 2));
    else if ((opcode == WEBSOCKET_BINARY || opcode == WEBSOCKET_TEXT) && len > 0)
        write_channel(session, bytes, len);
}

static void handle_messages(struct session *session) {
    enum websocket_opcode opcode;
    const char *bytes;
    size_t len;
    enum websocket_result result = WEBSOCKET_MORE;
    while (!session->over && (result = websocket_next(&session->reader, &opcode, &bytes, &len)) == WEBSOCKET_MESSAGE)
        handle_message(session, opcode, bytes, len);
    if (!session->over && result == WEBSOCKET_BAD)
        end_session(session, error_new(ERROR_IO, "the server violates the WebSocket protocol"));
}

// Whether anything came.
static bool receive(struct session *session) {
    char bytes[CHUNK];
    ptrdiff_t count = tunnel_read(session->tunnel, bytes, sizeof bytes);
    if (count > 0 && websocket_feed(&session->reader, bytes, (size_t)count))
        handle_messages(session);
    else if (count != 0)
        end_session(session, error_new(ERROR_IO, "the connection was lost before the command ended"));
    return count > 0;
}

static bool send_pending(struct session *session) {
    ptrdiff_t count = session->out.len > 0 ? tunnel_write(session->tunnel, session->out.data, session->out.len) : 0;
    if (count > 0)
        buffer_consume(&session->out, (size_t)count);
    if (count < 0)
        end_session(session, error_new(ERROR_IO, "the connection was lost before the command ended"));
    return count > 0;
}

// Reads the command's input only when all former input is sent.
static void wait_for(struct session *session) {
    struct signalfd_siginfo resized;
    bool full = session->out.len > 0, reads = session->input && !session->input_over && !full;
    struct pollfd polled[] = {
        {.fd = tunnel_socket(session->tunnel), .events = (short)(POLLIN | (full ? POLLOUT : 0))},
        {.fd = reads ? STDIN_FILENO : -1, .events = POLLIN},
        {.fd = session->resize_fd, .events = POLLIN},
    };
    if (poll(polled, 3, -1) <= 0)
        return;
    if (polled[2].revents) {
        while (read(session->resize_fd, &resized, sizeof resized) == (ssize_t)sizeof resized)
            ;
        put_size(session);
    }
    if (polled[1].revents)
        read_input(session);
}

// Passes on stdin, stdout and stderr until the session ends.
static struct error *run_session(struct session *session) {
    buffer_init(&session->out, OUT_MAX);
    websocket_reader_init(&session->reader);
    session->resize_fd = session->tty ? terminal_watch_size() : -1;
    if (session->tty) {
        session->error = terminal_raw();
        session->over = session->error;
        put_size(session);
    }
    while (!session->over) {
        bool moved = send_pending(session);
        if (!session->over && receive(session))
            moved = true;
        if (!moved && !session->over)
            wait_for(session);
    }
    terminal_restore();
    if (session->resize_fd >= 0)
        close(session->resize_fd);
    websocket_reader_free(&session->reader);
    buffer_free(&session->out);
    return session->error;
}

#define PATH_MAX_BYTES ((size_t)16 * 1024)
#define SUBPROTOCOLS "v5.channel.k8s.io, v4.channel.k8s.io"

static const struct flag flags[] = {
    FLAG_NAMESPACE,
    SWITCH("stdin", 'i', "pass standard input to the command"),
    SWITCH("tty", 't', "use a terminal"),
    FLAG("container", 'c', "NAME", "in this container (default: the pod's default one)"),
    FLAG("pod", 0, "NAME", "in this pod (default: the newest one that runs)"),
};

static struct error *make_path(struct call *call, const struct session *session, struct buffer *path) {
    remote_object_path(call, "/api/v1/exec", path);
    remote_parameter(path, "stdin", session->input ? "true" : NULL);
    remote_parameter(path, "tty", session->tty ? "true" : NULL);
    remote_parameter(path, "container", flags_value(call, "container"));
    remote_parameter(path, "pod", flags_value(call, "pod"));
    for (char **command = call->rest; *command; command++)
        remote_parameter(path, "command", *command);
    return path->failed ? error_new(ERROR_USAGE, "the command is longer than %zu bytes", PATH_MAX_BYTES) : NULL;
}

static struct error *refusal(const struct remote *remote, const struct tunnel_answer *answer) {
    AUTO_JSON status = NULL;
    const char *account = remote->account;
    bool withheld = remote->withheld;
    error_free(json_parse(answer->body.data ? answer->body.data : "", answer->body.len, &status));
    const char *message = json_string(json_get(status, "message"));
    if (message && answer->status == 403 && account)
        return error_new(ERROR_REFUSED,
                         "the host: %s; %s, so you are ServiceAccount %s there: use %s, or "
                         "name an account that may create pods/exec with --service-account",
                         message,
                         withheld ? "your own token is not sent over plain HTTP"
                                  : "your kubeconfig has no token, and no API server passes a client certificate on to "
                                    "the host",
                         account,
                         withheld ? "the host's Unix socket (--server unix:PATH)" : "a kubeconfig with a token");
    return message ? error_new(ERROR_IO, "the host: %s", message)
                   : error_new(ERROR_IO, "found status %d, expected a WebSocket: does this host support exec?",
                               answer->status);
}

static struct error *check_answer(const struct tunnel_answer *answer, const char *key, struct session *session) {
    char expected[WEBSOCKET_ACCEPT];
    AUTO_TEXT accept = tunnel_header(answer, "Sec-WebSocket-Accept");
    AUTO_TEXT protocol = tunnel_header(answer, "Sec-WebSocket-Protocol");
    if (!websocket_accept(key, expected))
        return error_no_memory();
    if (!accept || !protocol || strcmp(accept, expected) != 0)
        return error_new(ERROR_IO, "the response is not a WebSocket handshake");
    session->can_close = strcmp(protocol, "v5.channel.k8s.io") == 0;
    return NULL;
}

static void decide_tty(struct session *session) {
    if (!session->tty || (session->input && isatty(STDIN_FILENO)))
        return;
    fputs("no terminal is used: standard input is no terminal, or -i is not given\n", stderr);
    session->tty = false;
}

static struct error *run_exec(struct call *call) {
    struct remote *remote = call->remote;
    struct session session = {.input = flags_value(call, "stdin"), .tty = flags_value(call, "tty")};
    static const atomic_bool never;
    char key[WEBSOCKET_KEY];
    AUTO_BUFFER(path, PATH_MAX_BYTES);
    decide_tty(&session);
    TRY(make_path(call, &session, &path));
    TRY(remote_authorize(remote));
    if (!websocket_key(key))
        return error_no_memory();
    AUTO_TEXT headers = text_format("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                    "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Protocol: " SUBPROTOCOLS "\r\n",
                                    key);
    AUTO_TEXT whole = text_format("%s%s", remote->prefix, path.data);
    if (!headers || !whole)
        return error_no_memory();
    __attribute__((cleanup(tunnel_answer_clear))) struct tunnel_answer answer = {.status = 0};
    TRY(tunnel_open(remote->host.connection.transport, whole, NULL, headers, &never, &session.tunnel, &answer));
    if (!session.tunnel)
        return refusal(remote, &answer);
    struct error *error = check_answer(&answer, key, &session);
    if (!error)
        error = run_session(&session);
    call->code = session.code;
    tunnel_close(session.tunnel);
    return error;
}

SUBCOMMAND(exec, run_exec, "run a command in a pod of a workload",
           "Runs a command in a pod of the workload's mirror, in its worker. The caller needs no\n"
           "credentials there, but the right to create pods/exec in the workload's namespace of the management\n"
           "cluster. Exits with the exit code of the command, or with 1 if it could not be run.\n",
           .operand = OPERAND_OBJECT " -- COMMAND", ASKS_HOST, FLAGS(flags));
