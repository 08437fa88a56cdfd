# SPDX-License-Identifier: Apache-2.0
## make e2e       the host against real kube-apiserver, etcd and kube-controller-manager (E2E="-k PATTERN --keep --lanes 4 --management FOLDER --workers FOLDER[,FOLDER]"; KUEUE_ASSETS: with a real Kueue)
.PHONY: e2e
e2e: $(B)/wharf $(ADAPTERS) $(B)/tests/to_json
	@python3 -B tests/e2e/run.py --build $(B) $(E2E)
