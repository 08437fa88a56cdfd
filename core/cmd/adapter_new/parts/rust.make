WHARF ?= wharf
RUSTC ?= rustc
.PHONY: all test install
all: @NAME@.so
@NAME@.so: @SOURCE@ wharf.rs
	$(RUSTC) --edition 2021 --crate-type cdylib --crate-name adapter -C panic=abort -O -o $@ $<
test: all
	$(WHARF) adapter test ./@NAME@.so --objects objects --crd crd.yaml
install: all
	install -D -m 644 @NAME@.so '$(DESTDIR)$(shell pkg-config --variable=adapterdir wharf-adapter)/@NAME@.so'
