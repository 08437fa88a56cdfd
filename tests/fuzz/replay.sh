#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Replays the corpora: replay.sh BUILD TARGET...
build=$1
shift
passed=0
failed=0
for target; do
    if "$build/tests/fuzz/${target}_fuzz" "$build/fuzz-corpus/$target"/*; then
        passed=$((passed + 1))
        echo "ok      fuzz corpus of $target"
    else
        failed=$((failed + 1))
        echo "FAILED  fuzz corpus of $target"
    fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
