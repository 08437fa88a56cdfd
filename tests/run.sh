#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/run.sh FOLDER TARGET...: makes one target after the other, whatever becomes of them, and ends with the sum of
# their tests. Output is kept in FOLDER/test-<target>.log. $MAKE: the make to use, with its variables.
folder=$1
shift
mkdir -p "$folder" || exit 1
case "${MAKEFLAGS:-}" in
*jobserver*) jobs= ;; # of the make that runs this
*) jobs=-j$(nproc) ;;
esac
logs=''
for target in "$@"; do
    log=$folder/test-$target.log
    echo "== $target"
    began=$(date +%s)
    { eval "$MAKE --no-print-directory $jobs $target" 2>&1; echo "exit code $?"; } | tee "$log" | grep -v '^exit code 0$'
    echo "-- $target took $(($(date +%s) - began)) s"
    logs="$logs $log"
done
# shellcheck disable=SC2086  # one word a log
sh tests/summary.sh $logs
