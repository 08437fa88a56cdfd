#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/run.sh FOLDER TARGET... [-- ALONE...]: builds the programs of the targets (TARGET-programs), then makes as many
# targets at a time as there are processors, and those after "--" one by one, whatever becomes of them, and ends with the
# sum of their tests. Each target's output is shown at its end, and kept in FOLDER/test-<target>.log. $MAKE: the make to
# use, with its variables.
case "${MAKEFLAGS:-}" in
*jobserver*) jobs= ;; # of the make that runs this
*) jobs=-j$(nproc) ;;
esac
if [ "$1" = --one ]; then
    folder=$2 target=$3
    began=$(date +%s)
    { eval "$MAKE --no-print-directory $jobs $target" 2>&1; echo "exit code $?"; } >"$folder/test-$target.log"
    exec 9>"$folder/test-output.lock" && flock 9
    echo "== $target"
    grep -v '^exit code 0$' "$folder/test-$target.log"
    echo "-- $target took $(($(date +%s) - began)) s"
    exit 0
fi
folder=$1
shift
mkdir -p "$folder" || exit 1
programs='' logs='' many='' alone='' after=''
for target in "$@"; do
    if [ "$target" = -- ]; then
        after=yes
        continue
    fi
    programs="$programs $target-programs" logs="$logs $folder/test-$target.log"
    if [ "$after" ]; then alone="$alone $target"; else many="$many $target"; fi
done
began=$(date +%s)
eval "$MAKE --no-print-directory -k $jobs $programs" # what fails here fails its target, too
echo "-- building took $(($(date +%s) - began)) s"
echo "$many" | xargs -P "$(nproc)" -n 1 sh "$0" --one "$folder"
echo "$alone" | xargs -n 1 sh "$0" --one "$folder"
# shellcheck disable=SC2086  # one word a log
sh tests/summary.sh $logs
