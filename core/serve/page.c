// SPDX-License-Identifier: Apache-2.0
#include "core/serve/page.h"

#include "core/base/text.h"

#include <openssl/evp.h>
#include <string.h>

#ifndef WHARF_PAGE_FILE
#define WHARF_PAGE_FILE "/dev/null" // for checks of the source alone
#endif

// The assembler reads the file, which the build makes of core/serve/page/.
__asm__(".pushsection .rodata\n"
        "page_begin:\n"
        ".incbin \"" WHARF_PAGE_FILE "\"\n"
        "page_end:\n"
        ".popsection\n");
extern const char page_begin[] __attribute__((visibility("hidden")));
extern const char page_end[] __attribute__((visibility("hidden")));

#define HASH_SIZE 32
#define HASH_TEXT (4 * ((HASH_SIZE + 2) / 3) + 1)

// The SHA-256 of what is between two tags, in base64 (CSP Level 3, section 6.7.3.3).
static bool hash_between(const struct page *page, const char *open, const char *close, char out[HASH_TEXT]) {
    const char *end = page->html + page->len;
    const char *from = memmem(page->html, page->len, open, strlen(open));
    from = from ? from + strlen(open) : NULL;
    const char *to = from ? memmem(from, (size_t)(end - from), close, strlen(close)) : NULL;
    unsigned char hash[HASH_SIZE];
    if (!to || EVP_Digest(from, (size_t)(to - from), hash, NULL, EVP_sha256(), NULL) != 1)
        return false;
    EVP_EncodeBlock((unsigned char *)out, hash, HASH_SIZE);
    return true;
}

struct error *page_open(struct page *page) {
    char script[HASH_TEXT], style[HASH_TEXT];
    *page = (struct page){.html = page_begin, .len = (size_t)(page_end - page_begin)};
    if (!hash_between(page, "<script>", "</script>", script) || !hash_between(page, "<style>", "</style>", style))
        return error_new(ERROR_INVALID, "the page that is built into the program has no script or no style");
    snprintf(page->policy, sizeof page->policy,
             "default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; connect-src 'self'; img-src data:; "
             "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
             script, style);
    return NULL;
}
