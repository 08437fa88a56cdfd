# SPDX-License-Identifier: Apache-2.0
## make authors   what authors outside of this repository have: the installed tree, the examples, each step of docs/adapters.md
TEST_TARGETS += authors
AUTHORS_ROOT := $(abspath $(B))/authors/root

.PHONY: authors
authors-programs: all $(B)/tests/to_json
authors: authors-programs
	@rm -rf $(B)/authors
	@mkdir -p $(B)/authors
	@$(MAKE) --no-print-directory install DESTDIR='$(AUTHORS_ROOT)' > $(B)/authors/install.log 2>&1 || { cat $(B)/authors/install.log; exit 1; }
	@TO_JSON=$(abspath $(B))/tests/to_json python3 -B tests/authors --root '$(AUTHORS_ROOT)' --prefix '$(PREFIX)' --work $(B)/authors/work --make '$(MAKE) B=$(B)'
