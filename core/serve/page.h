// SPDX-License-Identifier: Apache-2.0
// The page at "/": one HTML document without external references, built from core/serve/page/ into the program.
#ifndef WHARF_SERVE_PAGE_H
#define WHARF_SERVE_PAGE_H

#include "core/base/error.h"

#include <stddef.h>

struct page {
    const char *html; // static
    size_t len;
    char policy[512]; // its Content-Security-Policy: only its own script and style, by their hashes
};

// Computes the policy. An error means that the program was built wrongly.
struct error *page_open(struct page *page);

#endif
