# SPDX-License-Identifier: Apache-2.0
## make sandbox   $(B)/wharf-sandbox: simulated clusters for kubectl
.PHONY: sandbox sandbox-test
sandbox: $(B)/wharf-sandbox $(B)/wharf $(ADAPTERS)

## make sandbox-test  wharf-sandbox from outside: its command line, wharf in it, kinds from CRDs, kubectl where there is one
TEST_TARGETS += sandbox-test
sandbox-test-programs: sandbox $(PLAN_ADAPTER)
sandbox-test: sandbox-test-programs
	python3 -B tests/sandbox/test $(B)
