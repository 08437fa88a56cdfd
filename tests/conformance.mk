# SPDX-License-Identifier: Apache-2.0
## make conformance  `wharf adapter test`: each adapter over its fixtures, and bad adapters, each of which must be found
TEST_TARGETS += conformance
.PHONY: conformance
conformance-programs: $(B)/wharf $(B)/wharf-conformance $(ADAPTERS) $(BAD_CONFORMANCE) $(PLANTED)
conformance: conformance-programs
	@python3 -B tests/conformance/run.py $(B)
