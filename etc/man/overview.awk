# SPDX-License-Identifier: Apache-2.0
# awk -f overview.awk wharf-*.1 wharf.1: the last page, with a synopsis made of those of the others.
FNR == 1 { inside = 0; last = FILENAME == ARGV[ARGC - 1] }
/^\.Sh / { inside = $2 == "SYNOPSIS" }
last { print; if (inside && /^\.Sh /) printf "%s", synopsis; next }
inside && sub(/^\.Nm wharf Cm /, "") { synopsis = synopsis ".Nm\n.Cm " $0 "\n"; next }
inside && !/^\.Sh / { synopsis = synopsis $0 "\n" }
