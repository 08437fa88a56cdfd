// SPDX-License-Identifier: Apache-2.0
#include "core/serve/ui/ui.h"

#include "core/base/text.h"

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

// Appends the SHA-256 of the text between two tags, in base64 (CSP Level 3, section 6.7.3.3).
static bool add_hash(const struct ui *ui, const char *open, const char *close, struct buffer *out) {
    const char *end = ui->html + ui->len;
    const char *from = memmem(ui->html, ui->len, open, strlen(open));
    from = from ? from + strlen(open) : NULL;
    const char *to = from ? memmem(from, (size_t)(end - from), close, strlen(close)) : NULL;
    unsigned char hash[DIGEST_SHA256_LEN];
    return to && digest_sha256(from, (size_t)(to - from), hash) && text_base64_encode(hash, sizeof hash, out);
}

struct error *ui_open(struct ui *ui) {
    AUTO_BUFFER(policy, sizeof ui->policy);
    *ui = (struct ui){.html = ui_begin, .len = (size_t)(ui_end - ui_begin)};
    buffer_text(&policy, "default-src 'none'; script-src 'sha256-");
    bool whole = add_hash(ui, "<script>", "</script>", &policy);
    buffer_text(&policy, "'; style-src 'sha256-");
    whole = add_hash(ui, "<style>", "</style>", &policy) && whole;
    buffer_text(&policy, "'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                         "frame-ancestors 'none'");
    if (!whole || policy.failed)
        return error_new(ERROR_INTERNAL, "the page that is built into the program has no script or no style");
    text_copy(ui->policy, sizeof ui->policy, policy.data);
    return NULL;
}
