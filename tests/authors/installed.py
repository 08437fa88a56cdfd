# SPDX-License-Identifier: Apache-2.0
"""What `make install` puts where."""
import os
import re
import shutil
import subprocess

from shell import Skipped, Wrong

FILES = ("bin/wharf", "bin/kubectl-wharf", "bin/kubectl_complete-wharf", "share/bash-completion/completions/wharf",
         "share/zsh/site-functions/_wharf", "share/fish/vendor_completions.d/wharf.fish", "bin/wharf-sandbox", "libexec/wharf/wharf-conformance", "libexec/wharf/wharf-adapter", "include/wharf/adapter.h", "lib/pkgconfig/wharf-adapter.pc",
         "lib/systemd/system/wharf.service",
         "lib/wharf/adapters/job.so", "share/man/man1/wharf.1", "share/man/man1/wharf-sandbox.1", "share/man/man3/wharf-adapter.3",
         "share/doc/wharf/adapters.md", "share/doc/wharf/abi.md", "share/doc/wharf/security.md",
         "share/doc/wharf/wharf.yaml", "share/doc/wharf/LICENSE", "share/doc/wharf/kubernetes/deployment.yaml",
         "share/doc/wharf/examples/job.yaml", "share/doc/wharf/examples/adapter-c/Makefile",
         "share/doc/wharf/examples/adapter-c/objects/workload.yaml",
         "share/doc/wharf/examples/adapter-cpp/simulation.cc", "share/doc/wharf/examples/adapter-rust/wharf.rs")
PAGES = ("share/man/man1/wharf.1", "share/man/man1/wharf-sandbox.1", "share/man/man3/wharf-adapter.3")


def all_files(author):
    for file in FILES:
        if not os.path.isfile(f"{author.tree}/{file}"):
            raise Wrong(f"{file} is not installed")
    for folder, _, names in os.walk(author.root):
        for name in names:
            path = os.path.join(folder, name)
            if not path.startswith(author.tree + "/"):
                raise Wrong(f"{path} is outside of PREFIX")
            if os.stat(path).st_mode & 0o022:
                raise Wrong(f"{path} is writable by others than its owner")


def header_is_the_same(author):
    with open(f"{author.tree}/include/wharf/adapter.h", "rb") as installed, open("include/wharf/adapter.h", "rb") as ours:
        if installed.read() != ours.read():
            raise Wrong("the installed header is another one")


def prefix_is_kept(author):
    """With another PREFIX everything goes there: the recipe's commands are read, not run."""
    run = subprocess.run([*author.make, "--no-print-directory", "-n", "install", "DESTDIR=/stage", "PREFIX=/opt/wharf"],
                         capture_output=True, text=True, check=True)
    commands = [line for line in run.stdout.splitlines() if line.startswith("install ")]
    targets = [target for line in commands for target in re.findall(r"'(/stage[^']*)'", line)]
    if len(targets) < 10 or any(not target.startswith("/stage/opt/wharf") for target in targets):
        raise Wrong("\n".join(commands))
    if "s|@PREFIX@|/opt/wharf|g" not in run.stdout:
        raise Wrong("the pkg-config file is not made anew")


def include_of(author, root, **variables):
    flags = author.must("pkg-config --cflags wharf-adapter", author.work, **variables).split()
    if len(flags) != 1 or os.path.realpath(flags[0].removeprefix("-I")) != f"{root}/include":
        raise Wrong(f"cflags are {flags}, expected {root}/include")


def pkg_config(author):
    include_of(author, author.tree)
    include_of(author, author.tree, PKG_CONFIG_SYSROOT_DIR="")
    if author.must("pkg-config --variable=adapterdir wharf-adapter", author.work).strip() != \
            author.prefix + "/lib/wharf/adapters":
        raise Wrong("adapterdir is another one")
    version = author.must("pkg-config --modversion wharf-adapter", author.work).strip()
    if version not in author.must("wharf version", author.work):
        raise Wrong(f"version {version} is not that of the host")


def pkg_config_moves(author):
    """The header is found beside the file, in a tree that was copied elsewhere."""
    moved = f"{author.work}/moved tree"
    for folder in ("lib/pkgconfig", "include"):
        shutil.copytree(f"{author.tree}/{folder}", f"{moved}/{folder}")
    with open(f"{author.work}/moved.c", "w", encoding="utf-8") as file:
        file.write("#include <wharf/adapter.h>\n")
    here = {"PKG_CONFIG_LIBDIR": f"{moved}/lib/pkgconfig", "PKG_CONFIG_SYSROOT_DIR": ""}
    found = author.must("eval cc -std=c11 -M $(pkg-config --cflags wharf-adapter) moved.c", author.work, **here)
    if os.path.normpath(f"{moved}/include/wharf/adapter.h").replace(" ", "\\ ") not in \
            os.path.normpath(found.replace("lib/pkgconfig/../../", "")):
        raise Wrong(found)


def commands_of(author):
    return re.findall(r"^  (\w+) ", author.must("wharf help", author.work).partition("Commands:")[2], re.MULTILINE)


def each_command_has_a_page(author):
    """wharf-COMMAND(1), made of the table that its flags are read with."""
    for command in commands_of(author):
        with open(f"{author.tree}/share/man/man1/wharf-{command}.1", encoding="utf-8") as file:
            page = file.read()
        shown = author.must(f"wharf help {command}", author.work)
        flags = re.findall(r"^ .*? -(-[\w-]+|\w)\b", shown, re.MULTILINE)
        missing = [flag for flag in flags if flag not in ("h", "-help") and not re.search(rf"Fl {flag}\b", page)]
        if missing or f".Nm wharf-{command}\n" not in page:
            raise Wrong(f"wharf-{command}.1 does not name {missing}")


def kubectl_finds_it(author):
    if os.readlink(f"{author.tree}/bin/kubectl-wharf") != "wharf":
        raise Wrong("kubectl-wharf is no link to wharf")


def uninstall_removes_it_all(author):
    root = f"{author.work}/uninstall"
    subprocess.run([*author.make, "--no-print-directory", "install", f"DESTDIR={root}"], check=True, capture_output=True)
    stays = f"{root}{author.prefix}/lib/wharf/adapters/somebody.so"
    with open(stays, "w", encoding="utf-8") as file:
        file.write("an adapter of somebody else")
    subprocess.run([*author.make, "--no-print-directory", "uninstall", f"DESTDIR={root}"], check=True, capture_output=True)
    left = [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names]
    if left != [stays]:
        raise Wrong(f"left are {left}")
    folders = [folder for folder, _, _ in os.walk(root) if "wharf" in folder.removeprefix(root) and not stays.startswith(folder + "/")]
    if folders:
        raise Wrong(f"left are {folders}")


def pages_are_well_formed(author):
    for page in [*PAGES, *(f"share/man/man1/wharf-{command}.1" for command in commands_of(author))]:
        if shutil.which("mandoc"):
            author.must(f"mandoc -T lint -W warning {author.tree}/{page}", author.work)
        elif shutil.which("man"):
            output = author.must(f"man --warnings -l {author.tree}/{page} 2>&1 >/dev/null", author.work)
            if output:
                raise Wrong(output)
        else:
            raise Skipped("neither mandoc nor man is there")


def page_names_everything(author):
    """wharf-adapter(3) names every field of a kind and every service."""
    with open(f"{author.tree}/share/man/man3/wharf-adapter.3", encoding="utf-8") as file:
        page = file.read()
    with open("include/wharf/adapter.h", encoding="utf-8") as file:
        header = re.sub(r"//[^\n]*| WHARF_0\b", "", file.read())
    host = re.search(r"typedef struct wharf_host \{(.*?)\} wharf_host;", header, re.DOTALL)[1]
    kind = re.search(r"typedef struct wharf_kind \{(.*?)\} wharf_kind;", header, re.DOTALL)[1]
    names = re.findall(r"\(\*(\w+)\)\(", host + kind) + re.findall(r"[ *](\w+);", kind)
    missing = [name for name in names if not re.search(rf"\b{name}\b", page)]
    if missing or len(names) < 50:
        raise Wrong(f"not in the page: {missing}")


def page_names_every_flag(author):
    """wharf(1) names each command of `wharf help`, and each flag of it."""
    with open(f"{author.tree}/share/man/man1/wharf.1", encoding="utf-8") as file:
        page = file.read()
    commands = commands_of(author)
    flags = {(command, flag) for command in commands
             for flag in re.findall(r"^ .*? -(-[\w-]+|\w)\b", author.must(f"wharf help {command}", author.work), re.MULTILINE)}
    missing = [command for command in commands if not re.search(rf"^\.(It )?Cm {command}\b", page, re.MULTILINE)]
    for command, flag in flags:
        synopsis = page.partition(".Sh SYNOPSIS")[2].partition(".Sh DESCRIPTION")[0].split(".Nm\n.Cm ")
        if flag != "h" and not any(part.startswith(command) and f"Fl {flag} " in part.replace("\n", " ") + " " for part in synopsis):
            missing.append(f"{command} -{flag}")
    if missing or len(commands) < 7 or len(flags) < 15:
        raise Wrong(f"not in the page: {missing}; {len(commands)} commands, {len(flags)} flags")


def page_example_compiles(author):
    with open(f"{author.tree}/share/man/man3/wharf-adapter.3", encoding="utf-8") as file:
        code = re.search(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed", file.read(), re.DOTALL | re.MULTILINE)[1]
    folder = f"{author.work}/page"
    os.makedirs(folder)
    with open(f"{folder}/voyage.c", "w", encoding="utf-8") as file:
        file.write(code)
    author.must("cc -std=c11 -Wall -Werror -shared -fPIC -fvisibility=default $(pkg-config --cflags wharf-adapter) "
                "-o voyage.so voyage.c && wharf adapter test ./voyage.so", folder)


def checks(author):
    return [(f"install: {check.__name__}", lambda check=check: check(author)) for check in
            (all_files, header_is_the_same, prefix_is_kept, pkg_config, pkg_config_moves, pages_are_well_formed, page_names_everything,
             page_names_every_flag, page_example_compiles, each_command_has_a_page, kubectl_finds_it, uninstall_removes_it_all)]
