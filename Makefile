# Two commands for newcomers: `make demo` and `make test`. `make` alone prints this list.

# rustup's place, for shells that have not been told about it.
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin
TARGET := $(or $(CARGO_TARGET_DIR),target)

# What is measured is what is shipped.
SHIPPED := TAUTO_BIN=$(abspath $(TARGET))/dist/tauto cargo
E2E := $(SHIPPED) run --release --package e2e --bin
SUITE := $(SHIPPED) test --release --package e2e --test

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint bench verdicts clocks service-load service-chaos fleet-chaos judgehost-chaos judgehost-hello vm-chaos judgehost-spread hostile-vm foreign shadow-chaos fleet-versions fleet-dispatch fleet-sim manual release vm-examples vm-bench shipped

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

demo: ## Install what is missing, build, and judge right and wrong programs in several languages
	scripts/setup demo
	CARGO_INCREMENTAL=0 cargo build --workspace --no-default-features --bin tauto
	scripts/demo $(TARGET)/debug/tauto

test: ## Install what is missing, then check format, lints, unit tests, house rules, and the binary in brief
	scripts/setup test
	scripts/xtask test short $(STRICT)

test-all: ## Install what is missing, then check everything: all languages, services, fleets, browser, virtual machines
	scripts/setup test-all
	scripts/xtask test all --strict

lint: ## Check format and lints only
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

shipped: # As scripts/release builds it
	cargo build --profile dist --package tautochrone

bench: shipped ## Measure the bars that releases are held to, beside plain processes
	$(E2E) bars

verdicts: shipped ## Judge one program again and again with limits near its time, idle and loaded: do verdicts agree?
	$(E2E) verdicts

clocks: shipped ## Clocks that count: how alike by language, how near the reference machine is, forty judgements idle and loaded
	$(E2E) clocks -- languages
	$(E2E) clocks -- judgements
	$(E2E) clocks -- programs

service-load: SUBMISSIONS := 10000
service-load: shipped ## Fill the service's queue (SUBMISSIONS=10000): how long handing in takes, how fast it judges beside `tauto verify`
	$(E2E) queue -- $(SUBMISSIONS)

ROUNDS := 200
service-chaos: shipped ## Kill parts of the service and of its database, cut links, under load (ROUNDS=200, SEED=): is anything lost or judged twice?
	$(E2E) chaos -- $(ROUNDS) $(SEED)

fleet-chaos: SUBMISSIONS := 2000
fleet-chaos: shipped ## Kill parts of a fleet and cut its links under load (SUBMISSIONS=2000, SEED=): is anything lost, doubled or judged elsewhere?
	$(E2E) fleet_chaos -- $(SUBMISSIONS) $(SEED)

judgehost-chaos: SUBMISSIONS := 500
judgehost-chaos: shipped ## Kill judgehosts under load while a server drops connections (SUBMISSIONS=500): is anything lost, doubled or judged otherwise?
	TAUTO_JUDGEHOST_SUBMISSIONS=$(SUBMISSIONS) $(SUITE) judgehost -- --nocapture --test-threads 1 chaos

judgehost-hello: shipped ## DOMjudge's example problem by its own executables (DOMJUDGE=/path/to/a/checkout): are its programs judged as tagged?
	$(E2E) hello -- $(abspath $(DOMJUDGE))

hostile-vm: shipped ## Every hostile program in a virtual machine of its own (under emulation: an hour): is each outcome that of the sandbox alone?
	$(SUITE) hostile -- --machines

vm-chaos: SUBMISSIONS := 200
vm-chaos: shipped ## Lose virtual machines at random moments, by root of the guest and from outside (SUBMISSIONS=200): is any submission lost, doubled or wrong?
	$(E2E) vm_chaos -- $(SUBMISSIONS)

vm-examples: JOBS := 2
vm-examples: shipped ## Every submission of the examples in a virtual machine (JOBS=2, at a time): are the verdicts those of the sandbox alone?
	$(E2E) vm_examples -- $(JOBS)

vm-bench: ROUNDS := 3
vm-bench: shipped ## What a slot costs that is a virtual machine, beside the sandbox alone: boot, renewal, each test, spread, memory (ROUNDS=3)
	$(E2E) vm_bars -- $(ROUNDS)

judgehost-spread: JUDGINGS := 20
judgehost-spread: shipped ## A program near its limit on busy CPUs (JUDGINGS=20): how far do times and verdicts vary, beside a plain judgehost?
	$(E2E) spread -- $(JUDGINGS)

foreign: shipped ## Tests of testlib, Polygon and DMOJ (ARGS="testlib DIR", "polygon PACKAGE…" or "dmoj DIR"): do packages of others come out as they say?
	$(E2E) foreign -- $(ARGS)

shadow-chaos: SUBMISSIONS := 2000
shadow-chaos: shipped ## Kill tauto shadow five times in a recorded contest (SUBMISSIONS=2000): is anything lost or judged twice?
	TAUTO_SHADOW_SUBMISSIONS=$(SUBMISSIONS) $(SUITE) shadow -- --nocapture killed

fleet-versions: shipped ## Have this version and another one (BEFORE=/path/to/tauto) judge together, by socket and brokers: is anything lost or doubled?
	TAUTO_BEFORE=$(abspath $(BEFORE)) $(SUITE) fleet_versions -- --nocapture

fleet-dispatch: shipped ## Work over three brokers beside the Unix socket: how long jobs wait for an idle slot, and slots for jobs
	$(E2E) dispatch

fleet-sim: ## Play a whole fleet in simulation: waiting, mishaps, slow nodes (ARGS="--nodes 10000 --seed 1")
	cargo run --release --package sim -- $(ARGS)

release: ## Build tarball, Debian package, apt repository, list of components and checksums
	scripts/release

manual: ## Write docs/man anew from the definitions of the command line
	cargo run --package tautochrone -- manual docs/man
