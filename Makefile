# Entry points. `make run` and `make test` are all a new user needs.
.PHONY: help deps build run test asan asan-build tsan fuzz bench sdk-tests lab-test crash-test disk-test cli-test explorer-test format lint check-layers clean
.DEFAULT_GOAL := help

JOBS ?= $(shell nproc)
CMAKE = cmake -S . -G Ninja

help:
	@echo "make run         install what is missing, build, start on 127.0.0.1:8081"
	@echo "make test        install what is missing, build, run the unit tests and the JavaScript SDK suite"
	@echo "make build       build/orrery (release)"
	@echo "make asan tsan   unit tests under the sanitizers"
	@echo "make sdk-tests   official SDKs (JavaScript, Python, Java, Go) and the raw wire suite, HTTP and TLS"
	@echo "make cli-test    shell, import, export, bench, top against a server, through a pseudo-terminal"
	@echo "make explorer-test  the Data Explorer in a headless browser (screenshots: build/explorer-shots)"
	@echo "make lab-test    recomputes the Design Lab's numbers without the Lab"
	@echo "make crash-test  kill -9 while writing, and while partitions split, restart, verify (ROUNDS=20 SPLIT_ROUNDS=10)"
	@echo "make disk-test   fill a small disk, restart, verify (needs root)"
	@echo "make fuzz        short fuzzing runs (FUZZ_SECONDS=20 each)"
	@echo "make differential  random queries, every plan against the evaluator (DIFFERENTIAL_SECONDS=120)"
	@echo "make bench       measure against nginx, PostgreSQL, raw RocksDB; writes docs/benchmarks*.md"
	@echo "make format lint check-layers"

deps:
	@tools/install_deps.sh build test lint

build/build.ninja:
	@tools/install_deps.sh build
	$(CMAKE) -B build -DCMAKE_BUILD_TYPE=Release

build: build/build.ninja
	@tools/check_layers
	ninja -C build -j $(JOBS) orrery

run: build
	build/orrery serve

test: build/build.ninja
	@tools/install_deps.sh test
	@tools/check_layers
	ninja -C build -j $(JOBS)
	tools/run_unit_tests.sh build
	tests/sdk/run.sh js

# Clang without optimisation and with precompiled headers: a sixth of the time that GCC takes with -O1.
SANITIZED = -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=Sanitized -DCMAKE_CXX_FLAGS_SANITIZED="-O0 -g1" -DORRERY_PRECOMPILE=ON
# The programs that have threads; what they use is instrumented with them.
THREADED = base_test meter_test script_test storage_test partition_test catalog_test engine_test lab_test net_test cli_test rest_test

# Built with what a fuzzer needs, so that `make fuzz FUZZ_BUILD_DIR=build-asan` has nothing left to compile but its targets.
asan-build:
	@tools/install_deps.sh sanitizers
	$(CMAKE) -B build-asan $(SANITIZED) -DORRERY_SANITIZE=fuzzer-no-link,address,undefined -DORRERY_FUZZ=ON
	ninja -C build-asan -j $(JOBS) unit_tests

asan: asan-build
	ASAN_OPTIONS=detect_leaks=1 tools/run_unit_tests.sh build-asan asan

tsan:
	@tools/install_deps.sh sanitizers
	$(CMAKE) -B build-tsan $(SANITIZED) -DORRERY_SANITIZE=thread
	ninja -C build-tsan -j $(JOBS) $(THREADED)
	TSAN_OPTIONS="suppressions=$(CURDIR)/tools/tsan.supp" tools/run_unit_tests.sh build-tsan tsan $(THREADED)

FUZZ_SECONDS ?= 20
FUZZ_BUILD_DIR ?= build-fuzz
fuzz:
	@tools/install_deps.sh sanitizers
	FUZZ_BUILD_DIR=$(abspath $(FUZZ_BUILD_DIR)) tests/fuzz/run.sh $(FUZZ_SECONDS)

# Random items, policies and queries: every plan against the evaluator. Hours: DIFFERENTIAL_SECONDS=36000.
DIFFERENTIAL_SECONDS ?= 120
.PHONY: differential
differential: build/build.ninja
	ninja -C build -j $(JOBS) engine_test
	ORRERY_DIFFERENTIAL_SECONDS=$(DIFFERENTIAL_SECONDS) ORRERY_DIFFERENTIAL_SEED=$$(date +%s) \
		build/src/engine/engine_test --gtest_filter='QueryDifferential.*' --gtest_brief=1 && echo "fuzz: 1 passed, 0 failed"

sdk-tests: build
	@tools/install_deps.sh sdk
	tests/sdk/run.sh js python java go wire
	tests/sdk/run.sh --tls-only js python java go

# What `make test` leaves out of sdk-tests.
.PHONY: sdk-tests-rest
sdk-tests-rest: build
	@tools/install_deps.sh sdk
	tests/sdk/run.sh python java go wire
	tests/sdk/run.sh --tls-only js python java go

ROUNDS ?= 20
SPLIT_ROUNDS ?= 10
crash-test: build
	tests/crash/run.sh $(ROUNDS)
	tests/crash/run.sh $(SPLIT_ROUNDS) --splits 1 --scripts 1

disk-test: build
	tests/disk/run.sh

cli-test: build
	tests/cli/run.sh

lab-test: build
	tests/lab/recompute.py build/orrery

explorer-test: build
	@tools/install_deps.sh explorer
	tests/explorer/run.sh

bench:
	@tools/install_deps.sh bench
	bench/run.sh
	bench/query.sh
	bench/events.sh

format:
	git ls-files 'src/*.h' 'src/*.cc' 'tests/fuzz/*.cc' 'bench/*.cc' 'bench/*.h' | xargs clang-format -i

lint: build/build.ninja check-layers
	@tools/install_deps.sh lint
	git ls-files 'src/*.h' 'src/*.cc' 'tests/fuzz/*.cc' 'bench/*.cc' 'bench/*.h' | xargs clang-format --dry-run --Werror
	git ls-files 'src/*.cc' | grep -v _test | xargs -P $(JOBS) -n 8 clang-tidy -p build --quiet

check-layers:
	@tools/check_layers

clean:
	rm -rf build build-asan build-tsan build-fuzz build-bench
