# SPDX-License-Identifier: Apache-2.0
# Packages. Each target builds everything anew in $(B)/package, without paths of this folder, and writes to $(B)/dist; the same
# sources and SOURCE_DATE_EPOCH give the same bytes.
PACKAGE := $(abspath $(B))/package
DIST := $(abspath $(B))/dist
EPOCH = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md))
PACKAGE_MAKE = $(MAKE) --no-print-directory OPT='-O2 -ffile-prefix-map=$(CURDIR)=.' SAN=
ARCH = $(shell uname -m)
STRIP ?= strip

# $(call stage,NAME,PREFIX,VARIABLES): a separate installed tree in $(PACKAGE)/NAME.root, stripped.
define stage
	@rm -rf '$(PACKAGE)/$(1).root'
	@mkdir -p '$(DIST)' '$(PACKAGE)'
	+@$(PACKAGE_MAKE) B='$(B)/package/build$(2)' PREFIX=$(2) $(3) install DESTDIR='$(PACKAGE)/$(1).root' > '$(PACKAGE)/$(1).log' 2>&1 || \
		{ tail -n 30 '$(PACKAGE)/$(1).log'; exit 1; }
	@cd '$(PACKAGE)/$(1).root$(2)' && $(STRIP) --strip-unneeded --remove-section=.comment bin/wharf bin/wharf-sandbox libexec/wharf/* lib/wharf/adapters/*.so
endef

.PHONY: dist deb rpm release sbom image image-root

## make dist      $(B)/dist/wharf-VERSION.tar.gz: the committed sources
dist:
	@mkdir -p '$(DIST)'
	@git archive --format=tar --prefix=wharf-$(VERSION)/ HEAD | gzip -9n > '$(DIST)/wharf-$(VERSION).tar.gz'
	@echo '$(DIST)/wharf-$(VERSION).tar.gz'

## make deb       $(B)/dist/wharf_VERSION-1_ARCH.deb, with dpkg-deb
DEB = $(DIST)/wharf_$(VERSION)-1_$(shell dpkg --print-architecture).deb
deb:
	$(call stage,deb,/usr)
	@find '$(PACKAGE)/deb.root/usr/share/man' -name '*.[1-9]' -exec gzip -9n {} +
	@SOURCE_DATE_EPOCH=$(EPOCH) sh etc/package/deb/build.sh '$(PACKAGE)/deb.root' $(VERSION) '$(DEB)'
	@echo '$(DEB)'

## make rpm       $(B)/dist/wharf-VERSION-1.ARCH.rpm, of the committed sources, with rpmbuild
RPM = $(DIST)/wharf-$(VERSION)-1.$(ARCH).rpm
rpm: dist
	@rm -rf '$(PACKAGE)/rpm'
	@mkdir -p '$(PACKAGE)/rpm'
	@SOURCE_DATE_EPOCH=$(EPOCH) rpmbuild -bb --nodeps --quiet --define '_topdir $(PACKAGE)/rpm' --define '_sourcedir $(DIST)' \
		--define '_rpmdir $(DIST)' --define '_rpmfilename wharf-$(VERSION)-1.$(ARCH).rpm' --define 'wharf_version $(VERSION)' \
		--define '_buildhost localhost' --define 'use_source_date_epoch_as_buildtime 1' --define 'clamp_mtime_to_source_date_epoch 1' \
		--define '_smp_mflags -j$(shell nproc)' etc/package/wharf.spec > '$(PACKAGE)/rpm.log' 2>&1 || { tail -n 30 '$(PACKAGE)/rpm.log'; exit 1; }
	@echo '$(RPM)'

## make sbom      $(B)/dist/wharf-VERSION.spdx.json: the files and the packages of the libraries, SPDX 2.3
SBOM = $(DIST)/wharf-$(VERSION).spdx.json
sbom:
	@rm -rf '$(PACKAGE)/image.root' && mkdir -p '$(DIST)' '$(PACKAGE)/image.root/usr/bin' '$(PACKAGE)/image.root/usr/lib/wharf/adapters' '$(PACKAGE)/image.root/usr/libexec/wharf'
	+@$(PACKAGE_MAKE) B='$(B)/package/build/usr' PREFIX=/usr all > '$(PACKAGE)/image.log' 2>&1 || { tail -n 30 '$(PACKAGE)/image.log'; exit 1; }
	@cp '$(PACKAGE)/build/usr/wharf' '$(PACKAGE)/image.root/usr/bin/'
	@cp '$(PACKAGE)/build/usr/wharf-adapter' '$(PACKAGE)/image.root/usr/libexec/wharf/'
	@cp '$(PACKAGE)/build/usr/adapters/'*.so '$(PACKAGE)/image.root/usr/lib/wharf/adapters/'
	@cd '$(PACKAGE)/image.root/usr' && $(STRIP) --strip-unneeded --remove-section=.comment bin/wharf libexec/wharf/* lib/wharf/adapters/*.so
	@python3 -B etc/package/sbom.py '$(PACKAGE)/image.root/usr' $(VERSION) $(EPOCH) > '$(SBOM)'
	@echo '$(SBOM)'

## make image     $(B)/dist/wharf-VERSION-image.tar, for podman load, docker load and kind load image-archive
IMAGE ?= wharf:$(VERSION)
image-root: sbom
	@mv '$(PACKAGE)/image.root' '$(PACKAGE)/image.stage'
	@sh etc/package/root.sh '$(PACKAGE)/image.stage' '$(PACKAGE)/image.root' '$(SBOM)'
	@rm -rf '$(PACKAGE)/image.stage'

image: image-root
	@python3 -B etc/package/image.py '$(PACKAGE)/image.root' '$(IMAGE)' $(EPOCH) '$(DIST)/wharf-$(VERSION)-image.tar'

## make release   $(B)/dist/wharf-VERSION-linux-ARCH.tar.gz, which brings its libraries, and SHA256SUMS
RELEASE = wharf-$(VERSION)-linux-$(ARCH)
ifneq ($(BUNDLE),)
# Not RUNPATH, which does not apply to the libraries of libraries.
LDFLAGS_ALL += -Wl,--disable-new-dtags,-z,origin '-Wl,-rpath,$$ORIGIN/../lib/wharf/lib:$$ORIGIN/../../lib/wharf/lib'
endif
release:
	$(call stage,release,/usr/local,BUNDLE=1)
	@sh etc/package/bundle.sh '$(PACKAGE)/release.root/usr/local'
	@rm -rf '$(PACKAGE)/$(RELEASE)' && mv '$(PACKAGE)/release.root/usr/local' '$(PACKAGE)/$(RELEASE)'
	@cd '$(PACKAGE)' && tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$(EPOCH) -cf - $(RELEASE) | gzip -9n > '$(DIST)/$(RELEASE).tar.gz'
	@cd '$(DIST)' && sha256sum $(RELEASE).tar.gz > SHA256SUMS
	@echo '$(DIST)/$(RELEASE).tar.gz'
