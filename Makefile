# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

# `make run` and `make test` work in a fresh clone: they install the missing packages, build, and then run or test.

SWIFT ?= swift
STATE := .timerd
BINARIES := timerd timerd-runner timerctl
# Programs that only other programs start.
HELPERS := timerd-session
# The program of the package timerd-fleet, which only machines that share jobs need.
FLEET := timerd-fleet
# The programs with shell completions.
COMPLETED := timerd timerctl
# The Swift runtime is linked statically, so that the binaries run without Swift. They contain no symbols, not even
# the exported ones for plug-ins, because there are no plug-ins.
RELEASE := -c release --static-swift-stdlib -Xlinker -s -Xlinker --no-export-dynamic
# Functions that a program does not call are not in it: each has a section of its own, which the linker leaves out, and
# no function is kept because another program might call it. That saves a tenth of most programs, and a quarter of
# timerd-fleet.
RELEASE += $(foreach flag,-function-sections -internalize-at-link,-Xswiftc -Xfrontend -Xswiftc $(flag))
# A program that can be loaded at any address has a list of the pointers in it: 1.6 MB for timerd, or 13 kB if the
# list is packed. That needs the linker lld, which is part of Swift, and glibc 2.36, which loads such programs. lld
# also stores equal functions, and equal ends of texts, once.
LLD := $(wildcard $(dir $(realpath $(shell command -v $(SWIFT))))ld.lld)
GLIBC := $(shell getconf GNU_LIBC_VERSION 2>/dev/null | cut -d ' ' -f 2)
ifneq ($(LLD),)
ifeq ($(shell printf '%s\n' 2.36 $(or $(GLIBC),0) | sort -V | head -n 1),2.36)
RELEASE += -Xswiftc -use-ld=lld -Xlinker -z -Xlinker pack-relative-relocs -Xlinker -O2 -Xlinker --icf=safe
endif
endif
# The library of C++ and libgcc are linked statically: programs use little of them, and so take less memory. The linker
# searches this folder first, which contains nothing else. (On a new machine g++ is there only after `setup`, so that
# this is evaluated in recipes.)
STATIC := .build/static
LIBSTDCXX = $(wildcard $(shell g++ -print-file-name=libstdc++.a 2>/dev/null))
STATICALLY = $(if $(LIBSTDCXX),-Xlinker -L$(CURDIR)/$(STATIC) -Xswiftc -Xclang-linker -Xswiftc -static-libgcc)
# The largest size of each program with it, in MiB.
SIZES := timerd=25 timerd-runner=18 timerctl=18 timerd-session=1 timerd-fleet=10
# libcurl is what timerd-fleet speaks to etcd with.
PACKAGES := libcurl4-openssl-dev libpam0g-dev libsystemd-dev libsqlite3-dev libtomlplusplus-dev pkg-config g++
FORMATTED := Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Sources

# Where files are installed: `make install DESTDIR=/tmp/x PREFIX=/usr UNITS=/lib/systemd/system`.
PREFIX ?= /usr/local
UNITS ?= $(PREFIX)/lib/systemd/system
USER_UNITS ?= $(PREFIX)/lib/systemd/user
ZSH ?= $(PREFIX)/share/zsh/site-functions
# The binaries to install, and the directory for the package that `make deb` builds.
BIN ?= .build/release
DIST ?= dist

# Where `make run` serves the status page.
PAGE ?= 127.0.0.1:8321

# The benchmarks to run, such as CASES="next agenda"; the default is all. LONG=1 takes ten times as long. The cases of
# test-vm as well.
CASES ?=

# The checks of test-fleet to make, such as CHECKS="owner-crashes etcd-away"; the default is all.
CHECKS ?=

.PHONY: help run status build test generated test-api test-readme test-recipes test-etcd test-fleet test-metrics test-import test-notify test-page test-library test-mutations test-systemd test-vm test-container bench bench-guard docs format check-format setup clean \
    install install-fleet uninstall deb check-deb check-sizes

help:
	@echo 'make run           set up, build, and run the daemon in the foreground with config/timerd.toml'
	@echo 'make status        show the table of its jobs, from another terminal'
	@echo 'make test          set up, build and test'
	@echo 'make generated     write the parts of pages and tests that come from declarations, such as the keys and the endpoints'
	@echo 'make test-library  test the library PausableTimers at length: a client package, laws, threads, kills (15 minutes)'
	@echo 'make test-mutations  put mistakes into the core, the fleet and the start sequence, and check that the tests notice each (30 minutes)'
	@echo 'make test-systemd  test under a real systemd, in a container (needs root)'
	@echo 'make test-vm       suspend a virtual machine, cut its power, set its clock, break its disk (a quarter of an hour, needs root; CASES="suspend power-cut")'
	@echo 'make test-api      ask a daemon everything that its OpenAPI document describes, rightly and wrongly (a minute)'
	@echo 'make test-readme   run the commands of README.md and docs/ as they are printed (half a minute)'
	@echo 'make test-recipes  run each recipe of docs/RECIPES.md, with stand-ins for its programs (a minute)'
	@echo 'make test-etcd     use a real etcd as a fleet does, and kill, stop, fill and wipe it (a minute)'
	@echo 'make test-fleet    let three machines share jobs over three real etcds, and cut, kill and stop them (8 minutes, needs root)'
	@echo 'make test-import   import the timers and crontabs of this machine and of some twenty packages (a minute)'
	@echo 'make test-page     drive the status page in a real browser, and check it for accessibility (2 minutes)'
	@echo 'make test-metrics  scrape a daemon with a real Prometheus, and let each alert fire and clear (half a minute)'
	@echo 'make test-notify   send notifications to a real mail server and to web servers that fail in each way (half a minute)'
	@echo 'make test-container  build the image of Containerfile and try it, without a container engine (needs root)'
	@echo 'make build         build release binaries in .build/release/'
	@echo 'make deb           build a Debian package in dist/'
	@echo 'make check-deb     check the package with lintian, and the sizes of the programs'
	@echo 'make check-sizes   check that no program is larger than intended'
	@echo 'make install       install what was built, below PREFIX=/usr/local and DESTDIR='
	@echo 'make install-fleet install timerd-fleet as well, which connects machines that share jobs'
	@echo 'make uninstall     remove it; the configuration and the saved state are kept'
	@echo 'make bench         compare it with other schedulers, results in Benchmarks/RESULTS.md (an hour)'
	@echo 'make bench-guard   compare the instruction counts of the core with the recorded ones'
	@echo 'make docs          build the documentation of the library in .build/docs/'
	@echo 'make format        format the sources, as CI demands'

# Installs only the missing Debian packages: as root, or with sudo. Without sudo it prints the command.
setup:
	@missing=; for package in $(PACKAGES); do \
	    dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q 'ok installed' \
	        || missing="$$missing $$package"; \
	done; \
	if [ -n "$$missing" ]; then \
	    if [ "$$(id -u)" = 0 ]; then sudo=; elif command -v sudo >/dev/null; then sudo=sudo; \
	    else echo "missing packages; as root: apt-get install$$missing" >&2; exit 1; fi; \
	    $$sudo apt-get update -q && \
	    DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -q -y --no-install-recommends $$missing; \
	fi
	@command -v $(SWIFT) >/dev/null || { echo 'no swift; see https://swift.org/install' >&2; exit 1; }

build: setup
	@mkdir -p $(STATIC) && for library in $(LIBSTDCXX); do ln -sf $$library $(STATIC)/; done
	$(SWIFT) build $(RELEASE) $(STATICALLY)

# The web server prints a link to the status page, and ends with the daemon, which is its parent because of exec.
run: build
	@mkdir -p -m 700 $(STATE)
	@.build/release/timerd web --with-parent --runtime $(STATE)/run --listen $(PAGE) & \
	exec .build/release/timerd run --config config/timerd.toml \
	    --state $(STATE)/state --runtime $(STATE)/run --log stderr

status:
	@.build/release/timerctl list --socket $(STATE)/run/control.sock

# The black-box tests take about 90 s of real time, because one job waits for a minute. The other tests run first, so
# that errors show up early.
# One of the tests compares jobs with Debian's cron; it starts one of its own in a namespace.
test: PACKAGES += tmux cron
test: setup
	$(SWIFT) build --build-tests $(SWIFTFLAGS)
	SWIFT='$(SWIFT)' Tests/run --skip LifeTests $(SWIFTFLAGS)
	SWIFT='$(SWIFT)' Tests/run --filter LifeTests $(SWIFTFLAGS)

# A test compares what is in the repository with what this writes.
generated: setup
	TIMERD_GENERATE=1 $(SWIFT) test --filter 'Generated|WrongValuesTests' $(SWIFTFLAGS)

test-library: setup
	Tests/System/Library/run

test-mutations: setup
	Tests/Support/Mutations/run core
	Tests/Support/Mutations/run fleet
	Tests/Support/Mutations/run shell

# One of the cases installs the package.
test-systemd: deb
	Tests/System/Machine/run .build/release

# In a virtual machine with the package. CASES="suspend power-cut" are the cases (all), SUSPENDS=1 and CUTS=3 how many
# suspends and power cuts there are, and LONG=1 makes both campaigns long.
test-vm: deb
	Tests/System/VM/run "$$(ls -t $(DIST)/timerd_*.deb | head -n 1)" $(CASES)

test-api: setup
	$(SWIFT) build
	Tests/System/API/run .build/debug

test-readme: PACKAGES += curl
test-readme: setup
	$(SWIFT) build
	Tests/System/Readme/run .build/debug

test-recipes: PACKAGES += iproute2
test-recipes: setup
	$(SWIFT) build
	Tests/System/Recipes/run .build/debug

test-etcd: PACKAGES += openssl
test-etcd: setup
	$(SWIFT) build --build-tests $(SWIFTFLAGS)
	SWIFT='$(SWIFT)' Tests/System/Etcd/run

test-fleet: PACKAGES += faketime iproute2 nftables
test-fleet: setup
	$(SWIFT) build $(SWIFTFLAGS)
	Tests/System/Fleet/run $(CHECKS)

test-page: PACKAGES += chromium fonts-inter fonts-jetbrains-mono nodejs python3-venv
test-page: setup
	$(SWIFT) build
	Tests/System/Page/run .build/debug

test-metrics: setup
	$(SWIFT) build
	Tests/System/Metrics/run .build/debug

test-import: setup
	$(SWIFT) build
	Tests/System/Import/run .build/debug

test-notify: PACKAGES += curl python3-venv
test-notify: setup
	$(SWIFT) build
	Tests/System/Notify/run .build/debug

test-container: build
	Tests/System/Container/run .build/release

# All files that `install` writes, except the configuration, and the variables for their paths.
share = $(DESTDIR)$(PREFIX)/share
lib = $(DESTDIR)$(PREFIX)/lib
fleet_units = $(FLEET).service $(FLEET).socket
units = $(filter-out $(fleet_units),$(notdir $(wildcard systemd/*.service systemd/*.socket systemd/*.slice systemd/*.target)))
pages = $(filter-out $(FLEET).8,$(notdir $(wildcard man/*)))
user_units = $(notdir $(wildcard systemd/user/*))
installed = $(BINARIES:%=$(DESTDIR)$(PREFIX)/bin/%) $(HELPERS:%=$(DESTDIR)$(PREFIX)/libexec/%) $(units:%=$(DESTDIR)$(UNITS)/%) \
    $(user_units:%=$(DESTDIR)$(USER_UNITS)/%) \
    $(lib)/sysusers.d/timerd.conf $(lib)/tmpfiles.d/timerd.conf $(lib)/systemd/catalog/timerd.catalog \
    $(foreach page,$(pages),$(share)/man/man$(lastword $(subst ., ,$(page)))/$(page)) \
    $(COMPLETED:%=$(share)/bash-completion/completions/%) $(COMPLETED:%=$(DESTDIR)$(ZSH)/_%) \
    $(COMPLETED:%=$(share)/fish/vendor_completions.d/%.fish) $(share)/doc/timerd/examples/timerd.toml \
    $(share)/timerd/timerd.schema.json $(share)/timerd/openapi.json \
    $(share)/timerd/prometheus/timerd.rules.yml $(share)/timerd/grafana/timerd.json
# Those of `install-fleet`.
installed_fleet = $(DESTDIR)$(PREFIX)/bin/$(FLEET) $(fleet_units:%=$(DESTDIR)$(UNITS)/%) \
    $(lib)/sysusers.d/$(FLEET).conf $(share)/man/man8/$(FLEET).8

# It does not build, so that root creates no files in .build.
install:
	@for binary in $(BINARIES) $(HELPERS); do [ -x $(BIN)/$$binary ] \
	    || { echo "no $$binary in $(BIN); make build first" >&2; exit 1; }; done
	install -d $(sort $(dir $(installed))) $(DESTDIR)/etc/timerd/jobs.d
	install -m 755 $(BINARIES:%=$(BIN)/%) $(DESTDIR)$(PREFIX)/bin/
	install -m 755 $(HELPERS:%=$(BIN)/%) $(DESTDIR)$(PREFIX)/libexec/
	@# The units contain the paths of the programs.
	@put() { sed 's|/usr/bin/timer|$(PREFIX)/bin/timer|' $$1 >$$2 && chmod 644 $$2; }; \
	for unit in $(units); do put systemd/$$unit $(DESTDIR)$(UNITS)/$$unit || exit 1; done; \
	for unit in $(user_units); do put systemd/user/$$unit $(DESTDIR)$(USER_UNITS)/$$unit || exit 1; done
	install -m 644 systemd/timerd.sysusers.conf $(lib)/sysusers.d/timerd.conf
	install -m 644 systemd/timerd.tmpfiles.conf $(lib)/tmpfiles.d/timerd.conf
	install -m 644 systemd/timerd.catalog $(lib)/systemd/catalog/timerd.catalog
	for page in $(pages); do install -m 644 man/$$page $(share)/man/man$${page##*.}/ || exit 1; done
	@# bash sources its script and does not run it, so the interpreter line is removed.
	umask 022 && for binary in $(COMPLETED); do \
	    script="$(BIN)/$$binary --generate-completion-script" \
	        && $$script bash | sed '1 { /^#!/ d }' >$(share)/bash-completion/completions/$$binary \
	        && $$script zsh >$(DESTDIR)$(ZSH)/_$$binary \
	        && $$script fish >$(share)/fish/vendor_completions.d/$$binary.fish || exit 1; done
	umask 022 && $(BIN)/timerd schema >$(share)/timerd/timerd.schema.json
	@# The configurations contain the path of the schema. An existing configuration is kept.
	@put() { sed 's|///usr/share/|//$(PREFIX)/share/|' $$1 >$$2 && chmod 644 $$2; }; \
	put config/timerd.toml $(share)/doc/timerd/examples/timerd.toml \
	    && { [ -e $(DESTDIR)/etc/timerd/timerd.toml ] \
	        || put config/system.toml $(DESTDIR)/etc/timerd/timerd.toml; }
	install -m 644 Sources/Control/COpenAPI/openapi.json $(share)/timerd/openapi.json
	install -m 644 monitoring/prometheus/timerd.rules.yml $(share)/timerd/prometheus/timerd.rules.yml
	install -m 644 monitoring/grafana/timerd.json $(share)/timerd/grafana/timerd.json
	@[ -n "$(DESTDIR)" ] || echo 'now: systemd-sysusers && journalctl --update-catalog &&' \
	    'systemctl daemon-reload && systemctl enable --now timerd'

install-fleet:
	@[ -x $(BIN)/$(FLEET) ] || { echo "no $(FLEET) in $(BIN); make build first" >&2; exit 1; }
	install -d $(sort $(dir $(installed_fleet)))
	install -m 755 $(BIN)/$(FLEET) $(DESTDIR)$(PREFIX)/bin/
	@put() { sed 's|/usr/bin/timer|$(PREFIX)/bin/timer|' $$1 >$$2 && chmod 644 $$2; }; \
	for unit in $(fleet_units); do put systemd/$$unit $(DESTDIR)$(UNITS)/$$unit || exit 1; done
	install -m 644 systemd/$(FLEET).sysusers.conf $(lib)/sysusers.d/$(FLEET).conf
	install -m 644 man/$(FLEET).8 $(share)/man/man8/
	@[ -n "$(DESTDIR)" ] || echo 'now: systemd-sysusers &&' \
	    'systemctl daemon-reload && systemctl enable --now $(FLEET).socket'

uninstall:
	rm -f $(installed) $(installed_fleet)
	-rmdir --ignore-fail-on-non-empty -p $(share)/doc/timerd/examples $(share)/timerd/prometheus $(share)/timerd/grafana

deb: PACKAGES += debhelper
deb: build
	@mkdir -p $(DIST)
	DIST=$(DIST) DEB_RULES_REQUIRES_ROOT=no debian/rules binary
	dh_clean
	@ls -l $(DIST)/*.deb

check-deb: PACKAGES += lintian
check-deb: deb check-sizes
	lintian --fail-on error,warning $(DIST)/timerd_*.deb $(DIST)/$(FLEET)_*.deb

check-sizes: build
	@for limit in $(SIZES); do \
	    program=$${limit%=*}; bytes=$$(stat -c %s $(BIN)/$$program) || exit 1; \
	    echo "$$program has $$bytes bytes, of at most $${limit#*=} MiB"; \
	    [ $$bytes -le $$(($${limit#*=} * 1048576)) ] || exit 1; \
	done

bench: build
	Benchmarks/run $(CASES)

bench-guard: PACKAGES += valgrind
bench-guard: setup
	Benchmarks/guard

# docc reads the symbol graph that the compiler writes; a warning is an error.
DOCS := .build/docs
DOCC ?= $(dir $(realpath $(shell command -v $(SWIFT))))docc
docs: setup
	@# The compiler writes the symbols of what it compiles only: all of it, each time.
	@rm -rf $(DOCS) && mkdir -p $(DOCS)/symbols
	$(SWIFT) build --scratch-path $(DOCS)/build --target PausableTimers \
	    -Xswiftc -emit-symbol-graph -Xswiftc -emit-symbol-graph-dir -Xswiftc $(CURDIR)/$(DOCS)/symbols
	@# The symbols of the library contain those of Instants, which it exports. What is below is not its interface.
	@rm -f $(DOCS)/symbols/Timekeeping* $(DOCS)/symbols/Instants*
	$(DOCC) convert Sources/Library/PausableTimers/PausableTimers.docc --warnings-as-errors \
	    --fallback-display-name PausableTimers --fallback-bundle-identifier timerd.PausableTimers \
	    --additional-symbol-graph-dir $(DOCS)/symbols --output-path $(DOCS)/PausableTimers.doccarchive

format:
	$(SWIFT) format -i -r $(FORMATTED)

check-format:
	$(SWIFT) format lint --strict -r $(FORMATTED)

clean:
	rm -rf .build Benchmarks/.build $(STATE) $(DIST)
