# SPDX-License-Identifier: Apache-2.0
## make world     the simulated clusters: $(B)/tests/world.a for tests, and the server $(B)/tests/world/world
.PHONY: world contract
world: $(B)/tests/world/world

## make contract  the world model answers as a kube-apiserver does (tests/contract/table.py), its Job controller as the real one (progress.py)
contract-programs: $(B)/tests/world/world
contract: contract-programs
	@python3 -B tests/contract/world.py $(B)/tests/world/world
TEST_TARGETS += contract
