# SPDX-License-Identifier: Apache-2.0
## make cli-test  the command line: bad input, exit codes, and check --online against API servers that the test plays
TEST_TARGETS += cli-test
CLI_TESTS := cli-test-cli cli-test-online cli-test-completion cli-test-adapter_new cli-test-local cli-test-operate cli-test-status
.PHONY: cli-test $(CLI_TESTS)
# They mostly wait, so they run side by side.
cli-test-programs: $(B)/wharf $(B)/wharf-conformance bad-adapters $(B)/adapters/job.so
cli-test: cli-test-programs
	+@$(MAKE) --no-print-directory -k -Otarget $(if $(filter --jobserver%,$(MAKEFLAGS)),,-j4) $(CLI_TESTS)
$(CLI_TESTS): cli-test-%:
	python3 -B tests/integration/$*_test.py $(B)

## make plan-test wharf plan: what it tells of objects, and the dry run against the world and servers that the test plays
TEST_TARGETS += plan-test
.PHONY: plan-test
plan-test-programs: $(B)/wharf $(B)/adapters/job.so $(PLAN_ADAPTER) $(SCORER) $(B)/tests/world/world $(B)/tests/to_json
plan-test: plan-test-programs
	python3 -B tests/integration/plan $(B)

## make generic-test  settings of the generic adapter: each thing that can be wrong is refused with its line; examples/generic
TEST_TARGETS += generic-test
.PHONY: generic-test
generic-test-programs: $(B)/wharf $(B)/adapters/generic.so $(B)/adapters/job.so
generic-test: generic-test-programs
	python3 -B tests/integration/generic_test.py $(B)
	python3 -B tests/integration/generic_kinds_test.py $(B)

## make reference  writes docs/cli.md and docs/configuration.md from the program's tables; reference-test compares
TEST_TARGETS += reference-test
.PHONY: reference reference-test
reference: $(B)/wharf
	python3 -B tests/reference.py $(B)/wharf --write
reference-test-programs: $(B)/wharf
reference-test: reference-test-programs
	python3 -B tests/reference.py $(B)/wharf
