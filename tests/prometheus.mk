# SPDX-License-Identifier: Apache-2.0
## make prometheus-test  metrics, rules and dashboard as Debian's prometheus reads them, against a host in wharf-sandbox; skipped without it
TEST_TARGETS += prometheus-test
.PHONY: prometheus-test
prometheus-test-programs: sandbox
prometheus-test: prometheus-test-programs
	python3 -B tests/prometheus $(B)
