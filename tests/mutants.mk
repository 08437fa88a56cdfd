# SPDX-License-Identifier: Apache-2.0
## make mutants   bugs put in on purpose (tests/mutants/), each caught by the simulation or a unit test (ONLY="NAME ...", JOBS=2)
JOBS ?= $(shell nproc)
ONLY ?=
.PHONY: mutants
mutants: $(B)/tests/simulation/sim $(B)/tests/world/world $(B)/cmd.a $(ADAPTERS)
	@python3 -B tests/mutants --build $(B) --jobs $(JOBS) $(ONLY)

## make mutants-apply  each of them still applies to the source (seconds; part of `make lint`)
.PHONY: mutants-apply
mutants-apply:
	@python3 -B tests/mutants --apply
