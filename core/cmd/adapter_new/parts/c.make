WHARF ?= wharf
CFLAGS ?= -O2 -g -Wall -Wextra
.PHONY: all test install
all: @NAME@.so
@NAME@.so: @SOURCE@
	$(CC) -std=c11 -fPIC -shared -fvisibility=hidden $(CFLAGS) $(shell pkg-config --cflags wharf-adapter) -o $@ $<
test: all
	$(WHARF) adapter test ./@NAME@.so --objects objects --crd crd.yaml
install: all
	install -D -m 644 @NAME@.so '$(DESTDIR)$(shell pkg-config --variable=adapterdir wharf-adapter)/@NAME@.so'
