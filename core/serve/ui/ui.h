// SPDX-License-Identifier: Apache-2.0
// The page at "/": one HTML document without external references, built from core/serve/ui/ into the program.
#pragma once

#include "core/base/error.h"

struct ui {
    const char *html; // static
    size_t len;
    char policy[512]; // the page's Content-Security-Policy: only the page's script and style, by hash
};

// Computes the policy. An error means that the program was built wrongly.
struct error *ui_open(struct ui *ui);
