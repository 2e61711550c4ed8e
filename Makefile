# Two commands for newcomers: `make demo` and `make test`. `make` alone prints this list.

# rustup's place, for shells that have not been told about it.
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin
TARGET := $(or $(CARGO_TARGET_DIR),target)

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint bench verdicts clocks service-load service-chaos fleet-chaos judgehost-chaos judgehost-hello vm-chaos judgehost-spread hostile-vm foreign shadow-chaos fleet-versions fleet-dispatch fleet-sim manual release

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

demo: ## Install what is missing, build, and judge right and wrong programs in several languages
	scripts/setup demo
	CARGO_INCREMENTAL=0 cargo build --package tautochrone
	scripts/demo $(TARGET)/debug/tauto

test: ## Install what is missing, then check format, lints, unit tests, house rules, and the binary in brief
	scripts/setup test
	cargo xtask test short $(STRICT)

test-all: ## Install what is missing, then check everything: all languages, services, fleets, browser, virtual machines
	scripts/setup test-all
	cargo xtask test all --strict

lint: ## Check format and lints only
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

bench: ## Measure the bars that releases are held to, beside plain processes
	cargo build --release --package tautochrone
	cargo run --release --package e2e --bin bars

verdicts: ## Judge one program again and again with limits near its time, idle and loaded: do verdicts agree?
	cargo build --release --package tautochrone
	cargo run --release --package e2e --bin verdicts

clocks: ## Clocks that count: how alike by language, how near the reference machine is, forty judgements idle and loaded
	cargo build --release --package tautochrone
	cargo run --release --package e2e --bin clocks -- languages
	cargo run --release --package e2e --bin clocks -- judgements
	cargo run --release --package e2e --bin clocks -- programs


service-load: SUBMISSIONS := 10000
service-load: ## Fill the service's queue (SUBMISSIONS=10000): how long handing in takes, how fast it judges beside `tauto verify`
	cargo build --release --package tautochrone
	TAUTO_BIN=$(abspath $(TARGET))/release/tauto cargo run --release --package e2e --bin queue -- $(SUBMISSIONS)

ROUNDS := 200
service-chaos: ## Kill parts of the service and of its database, cut links, under load (ROUNDS=200, SEED=): is anything lost or judged twice?
	cargo build --release --package tautochrone
	TAUTO_BIN=$(abspath $(TARGET))/release/tauto cargo run --release --package e2e --bin chaos -- $(ROUNDS) $(SEED)

fleet-chaos: SUBMISSIONS := 2000
fleet-chaos: ## Kill parts of a fleet and cut its links under load (SUBMISSIONS=2000, SEED=): is anything lost, doubled or judged elsewhere?
	cargo build --release --package tautochrone
	TAUTO_BIN=$(abspath $(TARGET))/release/tauto cargo run --release --package e2e --bin fleet_chaos -- $(SUBMISSIONS) $(SEED)

judgehost-chaos: SUBMISSIONS := 500
judgehost-chaos: ## Kill judgehosts under load while a server drops connections (SUBMISSIONS=500): is anything lost, doubled or judged otherwise?
	cargo build --release --package tautochrone
	TAUTO_JUDGEHOST_SUBMISSIONS=$(SUBMISSIONS) TAUTO_BIN=$(abspath $(TARGET))/release/tauto cargo test --release --package e2e --test judgehost -- --nocapture --test-threads 1 chaos

judgehost-hello: ## DOMjudge's example problem by its own executables (DOMJUDGE=/path/to/a/checkout): are its programs judged as tagged?
	cargo build --release --package tautochrone
	TAUTO_BIN=$(abspath $(TARGET))/release/tauto cargo run --release --package e2e --bin hello -- $(abspath $(DOMJUDGE))

hostile-vm: ## Every hostile program in a virtual machine of its own (under emulation: an hour): is each outcome that of the sandbox alone?
	cargo build --release --package tautochrone
	TAUTO_BIN=$(abspath $(TARGET))/release/tauto cargo test --release --package e2e --test hostile -- --machines

vm-chaos: SUBMISSIONS := 200
vm-chaos: ## Lose virtual machines at random moments, by root of the guest and from outside (SUBMISSIONS=200): is any submission lost, doubled or wrong?
	cargo build --release --package tautochrone
	TAUTO_BIN=$(abspath $(TARGET))/release/tauto cargo run --release --package e2e --bin vm_chaos -- $(SUBMISSIONS)

vm-examples: JOBS := 2
vm-examples: ## Every submission of the examples in a virtual machine (JOBS=2, at a time): are the verdicts those of the sandbox alone?
	cargo build --release --package tautochrone
	TAUTO_BIN=$(abspath $(TARGET))/release/tauto cargo run --release --package e2e --bin vm_examples -- $(JOBS)

vm-bench: ROUNDS := 3
vm-bench: ## What a slot costs that is a virtual machine, beside the sandbox alone: boot, renewal, each test, spread, memory (ROUNDS=3)
	cargo build --release --package tautochrone
	TAUTO_BIN=$(abspath $(TARGET))/release/tauto cargo run --release --package e2e --bin vm_bars -- $(ROUNDS)

judgehost-spread: JUDGINGS := 20
judgehost-spread: ## A program near its limit on busy CPUs (JUDGINGS=20): how far do times and verdicts vary, beside a plain judgehost?
	cargo build --release --package tautochrone
	TAUTO_BIN=$(abspath $(TARGET))/release/tauto cargo run --release --package e2e --bin spread -- $(JUDGINGS)

foreign: ## Tests of testlib, Polygon and DMOJ (ARGS="testlib DIR", "polygon PACKAGE…" or "dmoj DIR"): do packages of others come out as they say?
	cargo build --release --package tautochrone
	TAUTO_BIN=$(abspath $(TARGET))/release/tauto cargo run --release --package e2e --bin foreign -- $(ARGS)

shadow-chaos: SUBMISSIONS := 2000
shadow-chaos: ## Kill tauto shadow five times in a recorded contest (SUBMISSIONS=2000): is anything lost or judged twice?
	cargo build --release --package tautochrone
	TAUTO_SHADOW_SUBMISSIONS=$(SUBMISSIONS) TAUTO_BIN=$(abspath $(TARGET))/release/tauto cargo test --release --package e2e --test shadow -- --nocapture killed

fleet-versions: ## Have this version and another one (BEFORE=/path/to/tauto) judge together, by socket and brokers: is anything lost or doubled?
	cargo build --release --package tautochrone
	TAUTO_BEFORE=$(abspath $(BEFORE)) TAUTO_BIN=$(abspath $(TARGET))/release/tauto cargo test --release --package e2e --test fleet_versions -- --nocapture

fleet-dispatch: ## Work over three brokers beside the Unix socket: how long jobs wait for an idle slot, and slots for jobs
	cargo build --release --package tautochrone
	TAUTO_BIN=$(abspath $(TARGET))/release/tauto cargo run --release --package e2e --bin dispatch

fleet-sim: ## Play a whole fleet in simulation: waiting, mishaps, slow nodes (ARGS="--nodes 10000 --seed 1")
	cargo run --release --package sim -- $(ARGS)

release: ## Build tarball, Debian package, apt repository, list of components and checksums
	scripts/release

manual: ## Write docs/man anew from the definitions of the command line
	cargo run --package tautochrone -- manual docs/man
