# SPDX-License-Identifier: Apache-2.0
## make cli-test  the command line: bad input, exit codes, and check --online against API servers that the test plays
TEST_TARGETS += cli-test
.PHONY: cli-test
cli-test: $(B)/wharf bad-adapters
	python3 tests/integration/cli_test.py $(B)
