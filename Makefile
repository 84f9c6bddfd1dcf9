# The front door: everything a newcomer types. The work is done by CMake
# presets (CMakePresets.json) and by the scripts this calls.
#
#   make demo        build, then run causal attention and compare with float64
#   make check       build and run every test; two minutes of random programs (RANDOM_SEED=N: not fresh ones); under ASan
#                    and UBSan the tests of passes, each example after each pass, two fuzzers for a minute each
#   make check-all   the long form: every size, 20,000 random programs, sanitizers, debug, long fuzzing
#   make bench       speed against OpenBLAS and against our own slower forms
#   make install     into PREFIX (default /usr/local)
#   make docs        refresh the generated pages: docs/pipeline.md, dialects, passes
#                    (scripts/update-docs.sh FOLDER --check: fail if one is stale)
#   make format      clang-format on every C++ file
#   make clean       remove the build folder

PRESET ?= release
PREFIX ?= /usr/local
RANDOM_SEED ?=
JOBS ?=
BUILD := build/$(PRESET)
NINJA := ninja -C $(BUILD) $(if $(JOBS),-j$(JOBS))

.PHONY: demo check check-all bench install docs format clean build configure bootstrap
.DEFAULT_GOAL := build

bootstrap:
	@scripts/bootstrap.sh

configure: bootstrap
	@test -f $(BUILD)/build.ninja || cmake --preset $(PRESET)

build: configure
	@$(NINJA)

demo: configure
	@$(NINJA) attentile
	@scripts/demo.sh $(BUILD)

check: bootstrap
	@scripts/check.py $(if $(RANDOM_SEED),--seed $(RANDOM_SEED))

check-all: bootstrap
	@scripts/check.py --all

bench: bootstrap
	@scripts/bootstrap.sh libopenblas-dev
	@test -f $(BUILD)/build.ninja || cmake --preset $(PRESET)
	@scripts/bench.sh $(BUILD)

install: build
	@cmake --install $(BUILD) --prefix $(PREFIX)

docs: build
	@scripts/update-docs.sh $(BUILD)

format: bootstrap
	@git ls-files '*.cpp' '*.h' '*.c' | xargs clang-format-22 -i

clean:
	@rm -rf build
