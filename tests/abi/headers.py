# SPDX-License-Identifier: Apache-2.0
"""What may become of wharf/adapter.h, as docs/abi.md has it: read from the text, without its comments.

headers.py compare FROZEN TODAY      exit 1 if today's header breaks what was promised with the frozen one
headers.py selftest FROZEN           tries that on changes that it must find, and on some that are allowed
headers.py write CHANGE FROZEN FILE  the header with one of those changes
"""
import re
import sys

DECLARATION = re.compile(r"typedef\s+(struct)\s+(\w+)\s*\{(.*?)\}\s*\2\s*;|typedef\s+([^{};]+);|"
                         r"^WHARF_EXPORT\s+([^{};]+);|^(enum)\s*\{\s*(\w+)(.*?)\}\s*;", re.DOTALL | re.MULTILINE)
SOURCE_ONLY = ("WHARF_MODULE", "WHARF_KINDS", "WHARF_KIND_SIZES", "WHARF_CARRIED_POD_TEMPLATE",
               "WHARF_REFERENCES", "WHARF_CHILDREN", "WHARF_CONTINUITY")    # compiled into the adapter
SIZED = ("wharf_answer", "wharf_call", "wharf_host", "wharf_phase", "wharf_kind", "wharf_module")    # size is the first field
ELEMENTS = ("wharf_carried", "wharf_pods", "wharf_phase_rule", "wharf_status_change", "wharf_reference", "wharf_child",
            "wharf_continuity")    # their sizes are in wharf_kind


def plain(text):
    """Without comments, and with one space where there were many."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text.replace("\\\n", " "), flags=re.DOTALL)
    text = re.sub(r"(?<!define) *\bWHARF_0\b", "", text)    # an initializer in C++, nothing in C
    return re.sub(r"[ \t]+", " ", text)


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def read(text):
    """{name: (what it is, its parts in order)}"""
    text = plain(text)
    found = {}
    for name, value in re.findall(r"^ ?# ?define (\w+(?:\([^)]*\))?)([^\n]*)$", text, re.MULTILINE):
        found.setdefault(name, ("macro", []))[1].append(one_line(value))
    text = re.sub(r"^ ?#[^\n]*$", "", text, flags=re.MULTILINE)
    for match in DECLARATION.finditer(text):
        what, name, body, alias, function, listed, first, others = match.groups()
        if what or listed:
            parts = [one_line(part) for part in (body.split(";") if what else (first + others).split(","))]
            found[name or f"enumerators from {first}"] = (what or listed, [part for part in parts if part])
        else:
            whole = one_line(alias or function)
            found[whole] = ("declaration", [whole])
    return found


def grows(name, what, parts):
    """Whether more may come at its end."""
    return what == "enum" or what == "struct" and (parts[0] == "size_t size" or name in ELEMENTS)


def compare(before, after):
    """What is wrong with `after`, a line each."""
    old, new, wrong, grown = read(before), read(after), [], []
    for name, (what, parts) in old.items():
        if name not in new:
            wrong.append(f"{name}: is not there any more")
            continue
        now = new[name][1]
        if name.split("(")[0] in SOURCE_ONLY:
            continue
        if name == "WHARF_ABI_MINOR":
            if int(now[0]) < int(parts[0]):
                wrong.append(f"{name}: {now[0]} is less than {parts[0]}")
            continue
        for index, part in enumerate(parts):
            if index >= len(now) or now[index] != part:
                wrong.append(f"{name}: found \"{now[index] if index < len(now) else ''}\", expected \"{part}\"")
                break
        else:
            if len(now) > len(parts):
                grown.append(name)
                if not grows(name, what, parts):
                    wrong.append(f"{name}: has grown, and its readers do not know of its size")
    added = sorted(grown + [name for name in new if name not in old])
    if added and new.get("WHARF_ABI_MINOR") == old.get("WHARF_ABI_MINOR"):
        wrong.append(f"{', '.join(added)}: something was added, and WHARF_ABI_MINOR is still the same")
    return wrong


def replaced(pattern, text):
    """A change: a regular expression and what takes its place, in one place."""
    def change(header):
        result, count = re.subn(pattern, text, header, count=1, flags=re.DOTALL)
        if count != 1:
            raise AssertionError(f"nothing to change: {pattern}")
        return result
    return change


def chain(*changes):
    def change(header):
        for one in changes:
            header = one(header)
        return header
    return change


MINOR = replaced(r"#define WHARF_ABI_MINOR (\d+)", lambda found: f"#define WHARF_ABI_MINOR {int(found[1]) + 1}")


def at_end(struct, field):
    return replaced(r"\} " + struct + ";", f"    {field}\n}} {struct};")


def grown(struct):
    """A struct that a frozen header does not have yet stays away."""
    change = at_end(struct, "const char *added_at_end;")
    return lambda header: change(header) if f"}} {struct};" in header else header


# name: (change, allowed, whether debug information shows it)
CHANGES = {
    "inserted-field": (chain(MINOR, replaced(r"(const char \*plural;)", r"\1 const char *singular;")), False, True),
    "swapped-fields": (replaced(r"(    const char \*cluster;[^\n]*\n)(    uint32_t attempt;[^\n]*\n)", r"\2\1"), False, True),
    "wider-field": (replaced(r"uint32_t attempt;", "uint64_t attempt;"), False, True),
    "removed-field": (replaced(r"    const wharf_pods \*pods;", ""), False, True),
    "renumbered-enumerator": (replaced(r"WHARF_FAILED = 4", "WHARF_FAILED = 5"), False, False),
    "narrower-enum": (replaced(r"typedef uint32_t wharf_phase_kind", "typedef uint16_t wharf_phase_kind"), False, True),
    "changed-signature": (replaced(r"int64_t fallback\)", "int32_t fallback)"), False, True),
    "changed-flag": (replaced(r"UINT32_C\(2\)", "UINT32_C(8)"), False, False),
    "changed-macro": (replaced(r"define WHARF_MODULE\(\.\.\.\)", "define WHARF_MODULE(name, ...)"), False, False),
    "changed-symbol": (replaced(r"extern const wharf_module wharf_module_v1", "extern const wharf_kind wharf_module_v1"),
                       False, False),
    "moved-in-element": (chain(MINOR, replaced(r"(const char \*templates;)", r"const char *other; \1")), False, True),
    "grown-without-minor": (at_end("wharf_kind", "const char *added_at_end;"), False, False),
    "grown-element": (chain(MINOR, at_end("wharf_carried", "const char *other;")), True, True),
    "grown": (chain(MINOR, at_end("wharf_host", "int (*added_at_end)(int number);"),
                    *(grown(struct) for struct in SIZED + ELEMENTS if struct != "wharf_host")),
              True, True),
    "new-enumerator": (chain(MINOR, replaced(r"(WHARF_FAILED = 4)", r"\1, WHARF_MOVED = 5")), True, True),
    "new-struct": (chain(MINOR, replaced(r"(typedef struct wharf_module \{)",
                                         r"typedef struct wharf_new { size_t size; } wharf_new;\n\1")), True, True),
    "other-module": (replaced(r"abi_minor = WHARF_NEEDS_MINOR, __VA_ARGS__", "abi_minor = (WHARF_NEEDS_MINOR), __VA_ARGS__"),
                     True, True),
    "other-comments": (replaced(r"// Reading\.", "// To read.\n    //"), True, True),
    "nothing": (lambda header: header, True, True),
}


def selftest(header):
    failed = []
    for name, (change, allowed, _) in CHANGES.items():
        wrong = compare(header, change(header))
        if bool(wrong) == allowed:
            failed.append(f"{name}: {'found ' + '; '.join(wrong) if wrong else 'not found'}")
    return failed


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main(arguments):
    if arguments[0] == "write":
        with open(arguments[3], "w", encoding="utf-8") as file:
            file.write(CHANGES[arguments[1]][0](text_of(arguments[2])))
        return 0
    wrong = compare(text_of(arguments[1]), text_of(arguments[2])) if arguments[0] == "compare" else \
        selftest(text_of(arguments[1]))
    for line in wrong:
        print(line)
    if wrong and arguments[0] == "compare":
        print(f"{arguments[2]} breaks the promise of {arguments[1]}; docs/abi.md says what may change")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
