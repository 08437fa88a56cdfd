# SPDX-License-Identifier: Apache-2.0
## make hostile   the host with workers that mean harm, in pairs, beside one that does not (HOSTILE="hung drip"; python3 -B tests/hostile list)
HOSTILE ?=
TEST_TARGETS += hostile

.PHONY: hostile
hostile-programs: $(B)/wharf $(B)/adapters/job.so $(B)/tests/world/world
hostile: hostile-programs
	@python3 -B tests/hostile run $(B) $(HOSTILE)
