// SPDX-License-Identifier: Apache-2.0
// A session over the channels of v5.channel.k8s.io or v4.channel.k8s.io (k8s.io/apimachinery remotecommand): each
// message begins with the number of the channel.
#pragma once

#include "core/kube/transport/tunnel.h"

enum channel {
    CHANNEL_STDIN,
    CHANNEL_STDOUT,
    CHANNEL_STDERR,
    CHANNEL_ERROR,      // the server's last word: a metav1.Status
    CHANNEL_RESIZE,     // of the terminal
    CHANNEL_CLOSE = 255 // v5: the channel in the next byte ends
};

struct exec_options {
    bool input, tty;
    bool can_close; // v5
};

// Passes on stdin, stdout and stderr until the session ends. *code: the exit code of the remote command.
struct error *session_run(struct tunnel *tunnel, const struct exec_options *options, int *code);

// Reads the last word. NULL: *code is the exit code of the command; else why there is none.
struct error *session_result(const char *status, size_t len, int *code);
