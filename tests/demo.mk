# SPDX-License-Identifier: Apache-2.0
## make demo      the main job, on clusters that it simulates: a live table, and a summary that can fail (KEEP=1: leaves them running)
KEEP ?=
.PHONY: demo
demo: $(B)/tests/demo/demo $(B)/wharf-sandbox $(B)/wharf $(ADAPTERS)
	@$(B)/tests/demo/demo $(if $(filter-out 0,$(KEEP)),--keep)

## make fixtures  $(B)/tests/to_json, which prints YAML documents as JSON for drivers that have no YAML
.PHONY: fixtures
fixtures: $(B)/tests/to_json
