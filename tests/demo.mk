# SPDX-License-Identifier: Apache-2.0
## make demo      the main job, on clusters that it simulates: a live table, and a summary that can fail
.PHONY: demo
demo: $(B)/tests/demo/demo $(B)/wharf $(ADAPTERS)
	@$(B)/tests/demo/demo

## make fixtures  $(B)/tests/to_json, which prints YAML documents as JSON for drivers that have no YAML
.PHONY: fixtures
fixtures: $(B)/tests/to_json
