# SPDX-License-Identifier: Apache-2.0
## make gallery   the host with adapters that crash, hang, flood and break out, beside ten kinds under load (GALLERY="loop exit")
GALLERY ?=
TEST_TARGETS += gallery

.PHONY: gallery
gallery-programs: sandbox $(GALLERY_ADAPTERS) $(B)/tests/to_json
gallery: gallery-programs
	@python3 -B tests/gallery run $(B) $(GALLERY)
