// SPDX-License-Identifier: Apache-2.0
#include "core/serve/ui.h"

#include "core/base/text.h"

#include <openssl/evp.h>
#include <string.h>

#ifndef WHARF_UI_FILE
#define WHARF_UI_FILE "/dev/null" // for checks of the source alone
#endif

// The assembler reads the file, which the build makes of core/serve/ui/.
__asm__(".pushsection .rodata\n"
        "ui_begin:\n"
        ".incbin \"" WHARF_UI_FILE "\"\n"
        "ui_end:\n"
        ".popsection\n");
extern const char ui_begin[] __attribute__((visibility("hidden")));
extern const char ui_end[] __attribute__((visibility("hidden")));

#define HASH_SIZE 32
#define HASH_TEXT (4 * ((HASH_SIZE + 2) / 3) + 1)

// The SHA-256 of what is between two tags, in base64 (CSP Level 3, section 6.7.3.3).
static bool hash_between(const struct ui *ui, const char *open, const char *close, char out[HASH_TEXT]) {
    const char *end = ui->html + ui->len;
    const char *from = memmem(ui->html, ui->len, open, strlen(open));
    from = from ? from + strlen(open) : NULL;
    const char *to = from ? memmem(from, (size_t)(end - from), close, strlen(close)) : NULL;
    unsigned char hash[HASH_SIZE];
    if (!to || EVP_Digest(from, (size_t)(to - from), hash, NULL, EVP_sha256(), NULL) != 1)
        return false;
    EVP_EncodeBlock((unsigned char *)out, hash, HASH_SIZE);
    return true;
}

struct error *ui_open(struct ui *ui) {
    char script[HASH_TEXT], style[HASH_TEXT];
    *ui = (struct ui){.html = ui_begin, .len = (size_t)(ui_end - ui_begin)};
    if (!hash_between(ui, "<script>", "</script>", script) || !hash_between(ui, "<style>", "</style>", style))
        return error_new(ERROR_INVALID, "the page that is built into the program has no script or no style");
    snprintf(ui->policy, sizeof ui->policy,
             "default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; connect-src 'self'; img-src data:; "
             "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
             script, style);
    return NULL;
}
