#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# closure.sh FILE...: prints all shared libraries of the files, one path a line, without links.
set -eu
for file in "$@"; do
    ldd "$file" 2>/dev/null || true
done | awk '/not found/ { print "closure.sh: " $1 " is not there" > "/dev/stderr"; failed = 1 }
    $2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 } END { exit failed }' | sort -u
