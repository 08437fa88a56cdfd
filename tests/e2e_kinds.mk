# SPDX-License-Identifier: Apache-2.0
## make e2e-kinds each kind against its own controller, from WHARF_CONTROLLERS (E2E_KINDS="--kinds PATTERN -k PATTERN --older 1 --record FOLDER --keep")
.PHONY: e2e-kinds
e2e-kinds: $(B)/wharf $(ADAPTERS) $(B)/tests/to_json
	@python3 -B tests/e2e_kinds/run.py --build $(B) $(E2E_KINDS)
