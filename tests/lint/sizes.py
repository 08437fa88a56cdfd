# SPDX-License-Identifier: Apache-2.0
"""Ceilings: 600 lines a file, 80 lines a function (C and Python)."""
import ast
import re

import files

FILE_LINES = 600
FUNCTION_LINES = 80
SOURCE = (".c", ".h", ".cc", ".py", ".sh", ".mk")
NAME = re.compile(r"(\w+)\s*\(")


def functions(text):
    """(first line, lines, name) of each function of C text. The layout is clang-format's, which lint also checks: a
    definition begins in the first column, and so does the brace that ends it."""
    lines = files.code_only(text).split("\n")
    start, head = None, ""
    for number, line in enumerate(lines, 1):
        if start is None:
            if not line or line[0] in " \t#}":
                if head and line.startswith(" "):
                    head += line
                else:
                    head = ""
                    continue
            else:
                head, first = line, number
            if head.endswith("{"):
                name = NAME.search(head)
                if name and "=" not in head.split("(")[0] and head.rstrip("{ ").endswith(")"):
                    start = (first, name.group(1))
                head = ""
            elif head.endswith(";"):
                head = ""
        elif line.startswith("}"):
            yield start[0], number - start[0] + 1, start[1]
            start = None


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1, node.name


def check(path, text):
    if not path.endswith(SOURCE) and path != "Makefile":
        return
    count = text.count("\n")
    if count > FILE_LINES:
        yield count, f"{count} lines, at most {FILE_LINES} in a file"
    measured = python_functions(text) if path.endswith(".py") else functions(text) if files.is_c(path) else ()
    for line, length, name in measured:
        if length > FUNCTION_LINES:
            yield line, f"{name} has {length} lines, at most {FUNCTION_LINES} in a function"
