# SPDX-License-Identifier: Apache-2.0
## make valgrind  the unit tests under valgrind, also in pieces (PIECE=2 PIECES=8: the second eighth of the programs; UNIT=PATTERN)
VALGRIND ?= valgrind
PIECE ?= 1
PIECES ?= 1
VALGRIND_RUN = $(shell echo $(sort $(UNIT_RUN)) | tr ' ' '\n' | awk '(NR - $(PIECE)) % $(PIECES) == 0')

.PHONY: valgrind
valgrind: $(UNIT_RUN) $(ADAPTERS)
	@VALGRIND='$(VALGRIND)' sh tests/valgrind.sh $(VALGRIND_RUN)
