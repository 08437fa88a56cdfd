# SPDX-License-Identifier: Apache-2.0
## make recordings  watch events become recordings (tests/recordings/trim.py); the replays are unit tests and part of conformance
TEST_TARGETS += recordings
.PHONY: recordings
recordings-programs: $(B)/tests/to_json
recordings: recordings-programs
	@python3 -B tests/recordings/trim_test.py $(B)/tests/to_json
