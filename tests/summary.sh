#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/summary.sh LOG...: prints "N passed, N failed, N skipped", the sum over the logs of test runs; exit 1 if something
# failed. Read are lines of that form, the closing lines of cmocka and of Python's unittest, and a last line "exit code N":
# a run that failed without saying what counts as one failed, and so does one that tells of no test at all. Before the sum
# stands what failed, a line "failed: ..." each, at most 20 of a log.
awk '
function number(name) { return match($0, name "=[0-9]+") ? substr($0, RSTART + length(name) + 1, RLENGTH) + 0 : 0 }
function finish() {
    if (name == "") return
    if (runs > ended) failed++                        # a cmocka program that did not come to its end
    if (code != 0 && failed == 0) failed++
    if (passed + failed + skipped == 0) failed++
    if (failed) printf "%s%s: %d failed (exit code %d)\n", what, name, failed, code
    all_passed += passed; all_failed += failed; all_skipped += skipped
}
FNR == 1 { finish(); name = FILENAME; passed = failed = skipped = code = runs = ended = told = 0; what = "" }
/^(\[ +(LINE|ERROR|FAILED) +\]|FAIL: |ERROR: |FAILED +[0-9]|make[^:]*: \*\*\*|failed: )/ && told++ < 20 {
    what = what "failed: " substr($0, /^failed: / ? 9 : 1) "\n"
}
/^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ { passed += $1; failed += $3; skipped += $5 }
/^\[ +PASSED +\] [0-9]+ test\(s\)/ { passed += $4 }
/^\[ +FAILED +\] [0-9]+ test\(s\)/ { failed += $4 }
/^\[ +SKIPPED +\] [0-9]+ test\(s\)/ { skipped += $4 }
/^Ran [0-9]+ tests? in / { passed += $2 }
/^(OK|FAILED)( \(.*\))?$/ {
    bad = number("failures") + number("errors")
    passed -= bad + number("skipped"); failed += bad; skipped += number("skipped")
}
/^\[=+\] Running/ { runs++ }
/^\[=+\] [0-9]+ test\(s\) run/ { ended++ }
/^exit code [0-9]+$/ { code = $3 }
END {
    finish()
    printf "%d passed, %d failed, %d skipped\n", all_passed, all_failed, all_skipped
    exit all_failed != 0
}' "$@"
