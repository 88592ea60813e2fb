# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

# Two commands need nothing else: `make run` and `make test` install what is missing, build and go on.

SWIFT ?= swift
STATE := .timerd
# The Swift runtime is linked in, so that the binaries run where no Swift is; symbols stay out of them.
RELEASE := -c release --static-swift-stdlib -Xlinker -s
PACKAGES := libsystemd-dev libsqlite3-dev libtomlplusplus-dev pkg-config g++
FORMATTED := Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Sources

# The cases to run, such as CASES="next agenda"; none named are all. LONG=1 takes ten times as long.
CASES ?=

.PHONY: help run status build test test-systemd bench bench-guard format check-format setup clean

help:
	@echo 'make run           set up, build, and run the daemon here on config/timerd.toml'
	@echo 'make status        the table of its jobs, from another terminal'
	@echo 'make test          set up, build and test'
	@echo 'make test-systemd  test under a real systemd, in a container (needs root)'
	@echo 'make build         release binaries in .build/release/'
	@echo 'make bench         measure it beside its peers, into Benchmarks/RESULTS.md (20 minutes)'
	@echo 'make bench-guard   compare the instructions of the core'"'"'s paths with those recorded'
	@echo 'make format        put the sources into the form CI demands'

# Debian's packages that are missing, and only those. Root installs them; others are told the command.
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
	$(SWIFT) build $(RELEASE)

run: build
	@mkdir -p -m 700 $(STATE)
	exec .build/release/timerd run --config config/timerd.toml \
	    --state $(STATE)/state --runtime $(STATE)/run --log stderr

status:
	@.build/release/timerctl list --socket $(STATE)/run/control.sock

# The black-box suite takes about a minute and a half of real time, since it lets a job wait for a minute;
# the others come first, so that what is wrong is known soon.
test: setup
	$(SWIFT) build --build-tests $(SWIFTFLAGS)
	$(SWIFT) test --skip-build --skip LifeTests $(SWIFTFLAGS)
	$(SWIFT) test --skip-build --filter LifeTests $(SWIFTFLAGS)

test-systemd: build
	Tests/Machine/run .build/release

bench: build
	Benchmarks/run $(CASES)

bench-guard: PACKAGES += valgrind
bench-guard: setup
	Benchmarks/guard

format:
	$(SWIFT) format -i -r $(FORMATTED)

check-format:
	$(SWIFT) format lint --strict -r $(FORMATTED)

clean:
	rm -rf .build Benchmarks/.build $(STATE)
