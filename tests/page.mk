# SPDX-License-Identifier: Apache-2.0
## make page-test the page at / in headless Chromium (skipped without it), beside a host and simulated clusters
TEST_TARGETS += page-test
.PHONY: page-test
page-test-programs: sandbox
page-test: page-test-programs
	python3 -B tests/page $(B)

## make picture   docs/page.png, of the real thing
.PHONY: picture
picture: sandbox
	python3 -B tests/page/picture.py $(B)
