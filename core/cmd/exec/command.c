// SPDX-License-Identifier: Apache-2.0
// `wharf exec`: a command in a pod of a workload, through the host.
#include "core/base/text.h"
#include "core/cmd/exec/session.h"
#include "core/cmd/remote/remote.h"
#include "core/json/json.h"
#include "core/kube/transport/websocket.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_MAX_BYTES ((size_t)16 * 1024)
#define SUBPROTOCOLS "v5.channel.k8s.io, v4.channel.k8s.io"

enum { NAMESPACE, STDIN, TTY, CONTAINER, POD };
static const struct flag flags[] = {
    [NAMESPACE] = FLAG_NAMESPACE,
    [STDIN] = FLAG("stdin", 'i', "pass standard input to the command"),
    [TTY] = FLAG("tty", 't', "use a terminal"),
    [CONTAINER] = VALUE_FLAG("container", 'c', "NAME", "in this container (default: the pod's default one)"),
    [POD] = VALUE_FLAG("pod", 0, "NAME", "in this pod (default: the newest one that runs)"),
};

static struct error *make_path(struct call *call, const struct exec_options *options, struct buffer *path) {
    remote_object_path(call, "/api/v1/exec", path);
    remote_parameter(path, "stdin", options->input ? "true" : NULL);
    remote_parameter(path, "tty", options->tty ? "true" : NULL);
    remote_parameter(path, "container", call->values[CONTAINER]);
    remote_parameter(path, "pod", call->values[POD]);
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

static struct error *check_answer(const struct tunnel_answer *answer, const char *key, struct exec_options *options) {
    char expected[WEBSOCKET_ACCEPT];
    AUTO_TEXT accept = tunnel_header(answer, "Sec-WebSocket-Accept");
    AUTO_TEXT protocol = tunnel_header(answer, "Sec-WebSocket-Protocol");
    if (!websocket_accept(key, expected))
        return error_no_memory();
    if (!accept || !protocol || strcmp(accept, expected) != 0)
        return error_new(ERROR_IO, "the response is not a WebSocket handshake");
    options->can_close = strcmp(protocol, "v5.channel.k8s.io") == 0;
    return NULL;
}

static void decide_tty(struct exec_options *options) {
    if (!options->tty || (options->input && isatty(STDIN_FILENO)))
        return;
    fputs("no terminal is used: standard input is no terminal, or -i is not given\n", stderr);
    options->tty = false;
}

static struct error *run_exec(struct call *call) {
    struct remote *remote = call->remote;
    struct exec_options options = {.input = call->values[STDIN], .tty = call->values[TTY]};
    static const atomic_bool never;
    char key[WEBSOCKET_KEY];
    AUTO_BUFFER(path, PATH_MAX_BYTES);
    decide_tty(&options);
    TRY(make_path(call, &options, &path));
    TRY(remote_authorize(remote));
    if (!websocket_key(key))
        return error_no_memory();
    AUTO_TEXT headers = text_format("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                    "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Protocol: " SUBPROTOCOLS "\r\n",
                                    key);
    struct tunnel *tunnel = NULL;
    struct tunnel_answer answer = {.status = 0};
    AUTO_TEXT whole = text_format("%s%s", remote->prefix, path.data);
    struct error *error = headers && whole
                              ? tunnel_open(remote->host.connection.transport, whole, headers, &never, &tunnel, &answer)
                              : error_no_memory();
    if (!error)
        error = tunnel ? check_answer(&answer, key, &options) : refusal(remote, &answer);
    if (!error)
        error = session_run(tunnel, &options, &call->code);
    tunnel_close(tunnel);
    tunnel_answer_clear(&answer);
    return error;
}

SUBCOMMAND(exec, run_exec, "run a command in a pod of a workload",
           "Runs a command in a pod of the workload's mirror, in its worker. The caller needs no\n"
           "credentials there, but the right to create pods/exec in the workload's namespace of the management\n"
           "cluster. Exits with the exit code of the command, or with 1 if it could not be run.\n",
           .operand = OPERAND_OBJECT " -- COMMAND", ASKS_HOST, FLAGS(flags));
