// SPDX-License-Identifier: Apache-2.0
// `wharf exec`: a command in a pod of a workload, through the host, in whatever worker has it.
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

enum { NAMESPACE, STDIN, TTY, CONTAINER, POD, REMOTE, N_FLAGS = REMOTE + REMOTE_N_FLAGS };
static const struct flag flags[] = {
    [NAMESPACE] = {.name = "namespace",
                   .letter = 'n',
                   .argument = "NAME",
                   .help = "of the object (default: the context's)"},
    [STDIN] = {.name = "stdin", .letter = 'i', .help = "pass standard input to the command"},
    [TTY] = {.name = "tty", .letter = 't', .help = "with a terminal"},
    [CONTAINER] = {.name = "container",
                   .letter = 'c',
                   .argument = "NAME",
                   .help = "in this container (default: the pod's default one)"},
    [POD] = {.name = "pod", .argument = "NAME", .help = "in this pod (default: the newest one that runs)"},
    [REMOTE] = REMOTE_FLAGS,
};

static struct error *make_path(struct remote *remote, const char *const *values, char **command,
                               const struct exec_options *options, struct buffer *path) {
    const char *namespace_ = values[NAMESPACE];
    struct error *error = namespace_ ? NULL : remote_namespace(remote, &namespace_);
    if (!error)
        error = remote_object_path("/api/v1/exec", &values[N_FLAGS], namespace_, path);
    if (error)
        return error;
    remote_parameter(path, "stdin", options->input ? "true" : NULL);
    remote_parameter(path, "tty", options->tty ? "true" : NULL);
    remote_parameter(path, "container", values[CONTAINER]);
    remote_parameter(path, "pod", values[POD]);
    for (; *command; command++)
        remote_parameter(path, "command", *command);
    return path->failed ? error_new(ERROR_USAGE, "the command is longer than %zu bytes", PATH_MAX_BYTES) : NULL;
}

static struct error *refusal(const struct remote *remote, const struct tunnel_answer *answer) {
    AUTO_JSON status = NULL;
    AUTO_TEXT account = remote_account(remote);
    bool withheld = remote_withholds_token(remote);
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
                   : error_new(ERROR_IO, "found the status %d, expected a WebSocket; is this a host with exec?",
                               answer->status);
}

static struct error *check_answer(const struct tunnel_answer *answer, const char *key, struct exec_options *options) {
    char expected[WEBSOCKET_ACCEPT];
    AUTO_TEXT accept = tunnel_header(answer, "Sec-WebSocket-Accept");
    AUTO_TEXT protocol = tunnel_header(answer, "Sec-WebSocket-Protocol");
    if (!websocket_accept(key, expected))
        return error_no_memory();
    if (!accept || !protocol || strcmp(accept, expected) != 0)
        return error_new(ERROR_IO, "the answer is not that of a WebSocket");
    options->can_close = strcmp(protocol, "v5.channel.k8s.io") == 0;
    return NULL;
}

struct execution {
    const char *const *values;
    char **command;
    struct exec_options options;
    int code; // of the command
};

static struct error *run_command(void *ctx, struct remote *remote) {
    struct execution *execution = ctx;
    struct exec_options *options = &execution->options;
    static const atomic_bool never;
    char key[WEBSOCKET_KEY];
    AUTO_BUFFER(path, PATH_MAX_BYTES);
    struct error *error = make_path(remote, execution->values, execution->command, options, &path);
    if (!error)
        error = remote_authorize(remote);
    if (error)
        return error;
    if (!websocket_key(key))
        return error_no_memory();
    AUTO_TEXT headers = text_format("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                    "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Protocol: " SUBPROTOCOLS "\r\n",
                                    key);
    struct tunnel *tunnel = NULL;
    struct tunnel_answer answer = {.status = 0};
    AUTO_TEXT whole = text_format("%s%s", remote_prefix(remote), path.data);
    error = headers && whole ? tunnel_open(remote_transport(remote), whole, headers, &never, &tunnel, &answer)
                             : error_no_memory();
    if (!error)
        error = tunnel ? check_answer(&answer, key, options) : refusal(remote, &answer);
    if (!error)
        error = session_run(tunnel, options, &execution->code);
    tunnel_close(tunnel);
    tunnel_answer_clear(&answer);
    return error;
}

// Splits the arguments at "--"; NULL: there is no command.
static char **split(const struct arguments *arguments, struct arguments *before) {
    *before = *arguments;
    for (int i = 0; i + 1 < arguments->argc; i++)
        if (strcmp(arguments->argv[i], "--") == 0) {
            before->argc = i;
            return arguments->argv + i + 1;
        }
    return NULL;
}

static void decide_tty(struct exec_options *options) {
    if (!options->tty || (options->input && isatty(STDIN_FILENO)))
        return;
    fputs("no terminal is used: standard input is not one, or -i is not given\n", stderr);
    options->tty = false;
}

static int run(const struct arguments *arguments) {
    const char *values[N_FLAGS + 2];
    int code = EXIT_SUCCESS;
    struct arguments before;
    char **command = split(arguments, &before);
    if (!flags_read(&subcommand_exec, &before, values, &code))
        return code;
    if (!values[N_FLAGS] || !command)
        return flags_usage_error(&subcommand_exec, "found no %s, expected KIND/NAME -- COMMAND, as in job/train -- ls",
                                 values[N_FLAGS] ? "command" : "object");
    struct execution execution = {
        .values = values, .command = command, .options = {.input = values[STDIN], .tty = values[TTY]}};
    decide_tty(&execution.options);
    code = remote_use(values, REMOTE, run_command, &execution);
    return code ? code : execution.code;
}

const struct subcommand subcommand_exec = {
    .name = "exec",
    .run = run,
    .operand = MAIN_OBJECT " -- COMMAND",
    .flags = flags,
    .n_flags = N_FLAGS,
    .summary = "run a command in a pod of a workload",
    .text = "Runs a command in a pod of the workload's mirror, in the worker that has it. The caller needs no\n"
            "credentials there, but the right to create pods/exec in the workload's namespace of the management\n"
            "cluster. Exits with the exit code of the command, or with 1 if it could not be run.\n",
};
