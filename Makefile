# kerncast. Targets: those with ## behind them, which `make help` lists.
# Variables: CC=clang, SAN=address,undefined or SAN=thread (unit tests), OPT,
# CUDA (toolkit folder), PREFIX and DESTDIR (install), CLIENTS (make clients), SECONDS and SEED (make torture). A
# compiler other than gcc and a sanitizer have build folders of their own, below build/.
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

ifeq ($(origin CC),default)
CC := gcc
endif
comma   := ,
VARIANT := $(filter-out gcc cc,$(notdir $(firstword $(CC)))) $(subst $(comma),-,$(SAN))
BUILD   ?= build$(if $(strip $(VARIANT)),/$(subst $() ,-,$(strip $(VARIANT))))
# What $(CC) compiles for, and for a machine other than this one the prefix of its tools and the folder of its libraries.
HOST    := $(shell uname -m 2>/dev/null)
TARGET  := $(shell $(CC) -dumpmachine 2>/dev/null)
MACHINE := $(or $(firstword $(subst -, ,$(TARGET))),$(HOST))
ifneq ($(MACHINE),$(HOST))
CROSS   := $(TARGET)-
SYSROOT ?= $(wildcard $(CURDIR)/build/sysroot-$(MACHINE))
AR      := $(CROSS)ar
endif
OBJCOPY := $(CROSS)objcopy
NM      := $(CROSS)nm
CUDA    ?= $(shell scripts/find-cuda)
CUDA    := $(CUDA)
NVCC    ?= $(CUDA)/bin/nvcc
PREFIX  ?= /usr/local
OPT     ?= -O2 -g
CSTD    := -std=gnu11
WARN    := -Wall -Wextra -Werror -Wmissing-prototypes -Wstrict-prototypes -Wvla
CPPFLAGS += -I. -I$(BUILD) -isystem $(CUDA)/include -isystem $(CUDA)/extras/CUPTI/include -D_GNU_SOURCE
# A product and a sum are rounded one by one, also where the machine has one instruction for both: what is predicted, and
# what a replay makes of a recording, is the same on every machine.
CFLAGS  += $(CSTD) $(OPT) $(WARN) -ffp-contract=off -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -pthread -MMD -MP
ifneq ($(SAN),)
CFLAGS  += -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
LDFLAGS += -fsanitize=$(SAN)
NVCC_SAN := $(addprefix -Xcompiler -fsanitize=,$(subst $(comma), ,$(SAN)))
endif

# --- what must be there before anything compiles
PACKAGES := sqlite3 jansson yajl zlib liblz4 libzstd
PKG_CONFIG := $(if $(CROSS),PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(TARGET)/pkgconfig) pkg-config
packages = $(shell $(PKG_CONFIG) $(1) 2>/dev/null)
IN_SYSROOT := $(SYSROOT:%=--sysroot=%)
LACKING  := $(if $(CUDA),,cuda.h) $(if $(call packages,--libs $(PACKAGES)),,$(PACKAGES)) \
  $(if $(filter /%,$(shell $(CC) $(IN_SYSROOT) -print-file-name=libiberty.a 2>/dev/null)),,libiberty)
CPPFLAGS += $(IN_SYSROOT) $(call packages,--cflags $(PACKAGES))
LDFLAGS  += $(IN_SYSROOT)
READY    := $(BUILD)/flags
ifneq ($(strip $(LACKING)),)
READY    += not-set-up
endif
.PHONY: not-set-up
not-set-up:
	@echo "make: not all of these were found: $(strip $(LACKING)). Run scripts/setup first." >&2; exit 1

# make -n writes nothing.
DRY_RUN := $(findstring n,$(filter-out --%,$(firstword -$(MAKEFLAGS))))

# Other flags, other objects: the file changes only when they do.
FLAGS := $(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS)
ifeq ($(DRY_RUN),)
ifneq ($(file <$(BUILD)/flags),$(FLAGS))
$(shell mkdir -p $(BUILD))
$(file >$(BUILD)/flags,$(FLAGS))
endif
endif
$(BUILD)/flags: ;
# What gcc's optimiser cannot see is set differs from version to version: it is said, and does not end the build. Objects
# are the same with this, so it is not in FLAGS.
CFLAGS += -Wno-unknown-warning-option -Wno-error=maybe-uninitialized

# The commit that `kerncast --version` tells; "+" where files differ from it.
COMMIT := $(shell scripts/package/commit)
define COMMIT_HEADER
#define KC_COMMIT "$(COMMIT)"
endef
ifeq ($(DRY_RUN),)
ifneq ($(file <$(BUILD)/commit.h),$(COMMIT_HEADER))
$(file >$(BUILD)/commit.h,$(COMMIT_HEADER))
endif
endif
$(BUILD)/commit.h: ;
$(BUILD)/tools/help/about.o: $(BUILD)/commit.h

# --- sources: of a folder and of the rooms in it. The audit library (shim/audit) is a program of its own.
rooms   = $(filter-out shim/audit/%,$(foreach depth,* */* */*/* */*/*/*,$(wildcard $(1)/$(depth)$(2))))
sources = $(filter-out %_test.c %_bench.c %_fuzz.c,$(call rooms,$(1),.c))
obj     = $(patsubst %,$(BUILD)/%.o,$(basename $(1)))
PREDICTOR_SRC := $(call sources,predictor)
STORE_SRC     := $(call sources,store)
SHIM_SRC      := $(call sources,shim) $(call rooms,shim,.S)
TOOLS_SRC     := $(call sources,tools)
TOOLS_FILES   := $(call rooms,tools,.S)
TOOLS_OBJ     := $(call obj,$(TOOLS_SRC) $(TOOLS_FILES))
# kerncast, and kerncast-lab: main.o with what it is to be. All else is in an archive, of which each links what it needs.
PROGRAM_OBJ   := $(BUILD)/tools/main.o
LAB_OBJ       := $(PROGRAM_OBJ) $(BUILD)/tools/lab/lab.o
PROGRAMS      := kerncast kerncast-lab
TEST_SRC      := $(foreach folder,predictor store shim tools,$(call rooms,$(folder),_test.c))
BENCH_SRC     := $(foreach folder,predictor store shim,$(call rooms,$(folder),_bench.c))
FUZZ_SRC      := $(foreach folder,predictor store tools,$(call rooms,$(folder),_fuzz.c))

# Rooms and files of predictor and store that run inside applications, without those in AFTER. Everything else of them
# runs afterwards, and is in an archive that libkerncast.so is not linked from.
INSIDE    := $(addprefix predictor/,engine engine_entries graph learned code concurrency device experience math prior solo papers/bsp papers/leftover papers/roofline) \
  $(addprefix store/,common database journal past)
AFTER     := store/database/upkeep/% store/journal/journal_file.c predictor/code/text/% predictor/code/machine/cubin.c \
  predictor/math/dense_fit.c predictor/concurrency/together.c predictor/solo/resources/shares.c predictor/solo/elsewhere/%
inside     = $(filter-out $(AFTER),$(filter $(foreach part,$(INSIDE),$(part)/% $(part).c),$(1)))

PREDICTOR := $(BUILD)/libpredictor.a
STORE     := $(BUILD)/libstore.a
PRELOADED := $(STORE) $(PREDICTOR)
READERS   := $(BUILD)/libreaders.a
# In this order: each may need what comes after it.
ARCHIVES  := $(READERS) $(PRELOADED)
SHIM      := $(BUILD)/libshim.a
TOOLS     := $(BUILD)/libtools.a
TESTS     := $(patsubst %.c,$(BUILD)/%,$(TEST_SRC))

SQLITE_LIBS   := $(call packages,--libs sqlite3)
SQLITE_STATIC := -Wl,-Bstatic $(SQLITE_LIBS) -Wl,-Bdynamic
JSON_LIBS     := $(call packages,--libs jansson yajl)
ZLIB_LIBS     := $(call packages,--libs zlib)
# Of code inside programs (predictor/code): static, as the shim must not bring its own into an application.
UNPACK_LIBS   := -Wl,-Bstatic $(call packages,--libs liblz4 libzstd) -Wl,-Bdynamic
# Of readable names (store/query/readable.c): there is no shared one.
NAMES_LIBS    := -liberty
SYSTEM_LIBS   := -pthread -ldl -lm

all: $(BUILD)/libkerncast.so $(BUILD)/libkerncast-audit.so $(addprefix $(BUILD)/,$(PROGRAMS)) $(BUILD)/hooks-agree ## libkerncast.so, kerncast and kerncast-lab (the default)

$(BUILD)/%.o: %.c $(READY)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@
$(BUILD)/%.o: %.S $(READY)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -MMD -MP -c $< -o $@

# In the library, what every launch runs is optimised across these files and not padded, and the numbers that it is worked
# out with lie next to each other: its caches are empty, so each line that it takes is a miss. For gcc, which knows how;
# tests and the command link the plain objects, and sanitizers look at these.
ifneq ($(and $(filter gcc% %-gcc,$(notdir $(firstword $(CC)))),$(if $(SAN),,plain)),)
LAUNCH_PATH := $(addprefix predictor/,engine.c $(addprefix experience/,outlook.c context.c) \
  $(addprefix concurrency/,timeline.c block_scheduler.c sm_room.c contention.c ring.c)) store/journal/journal.c \
  $(addprefix shim/,calls/launch.c code/variants.c code/kernel_formula.c tables/functions.c tables/streams.c)
endif
LAUNCH_PATH_OBJ   := $(LAUNCH_PATH:%.c=$(BUILD)/%.path.o)
LAUNCH_PATH_FLAGS := -flto -fno-merge-constants -fno-align-jumps -fno-align-labels -fno-align-loops
$(BUILD)/%.path.o: %.c $(READY)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LAUNCH_PATH_FLAGS) -c $< -o $@

# What the command prints goes through print.h, whichever file prints it.
$(call obj,$(TOOLS_SRC)): CPPFLAGS += -include tools/output/print.h
$(call obj,$(TOOLS_SRC)): tools/output/print.h

# Tests compare numbers as it says.
$(BUILD)/%_test $(BUILD)/%_test.o: private CPPFLAGS += -include predictor/math/number_testing.h

# What the pages of reports bring along (tools/report/html).
$(call obj,$(TOOLS_FILES)): $(wildcard tools/report/html/*.css tools/report/html/*.js)

# A sanitizer's runtime looks its functions up before it is ready for instrumented code.
$(addprefix $(BUILD)/shim/entry/,dlsym.o object.o): CFLAGS += -fno-sanitize=all

$(PREDICTOR): $(call obj,$(call inside,$(PREDICTOR_SRC)))
$(STORE): $(call obj,$(call inside,$(STORE_SRC)))
$(READERS): $(call obj,$(filter-out $(call inside,$(PREDICTOR_SRC) $(STORE_SRC)),$(PREDICTOR_SRC) $(STORE_SRC)))
# For tests, in which dlsym() is the C library's: a sanitizer's runtime would be served by ours.
$(SHIM): $(filter-out %/dlsym_entry.o,$(call obj,$(SHIM_SRC))) $(BUILD)/shim/entry/local/dlsym_entry.o
$(BUILD)/shim/entry/local/dlsym_entry.o: $(BUILD)/shim/entry/dlsym_entry.o
	@mkdir -p $(@D)
	$(OBJCOPY) -w --localize-symbol='dlsym@*' $< $@
$(TOOLS): $(filter-out $(LAB_OBJ),$(TOOLS_OBJ))
$(ARCHIVES) $(SHIM) $(TOOLS):
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

# Functions of the C library that the application's own of that name must not serve.
OF_LIBC = $(shell sed -n 's/^\tX.[a-z_]*, \([a-z0-9_]*\), .*/\1/p' shim/entry/libc.c)
$(BUILD)/shim/exports.map: shim/exports.map shim/entry/c_library.h $(READY)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -E -P -x c $< -o $@
# Functions that nothing in it calls are left out, and what only they need: -z defs asks for no more than that.
$(BUILD)/libkerncast.so: $(LAUNCH_PATH_OBJ) $(call obj,$(filter-out $(LAUNCH_PATH),$(SHIM_SRC))) $(PRELOADED) $(BUILD)/shim/exports.map
	$(CC) -shared $(if $(LAUNCH_PATH),$(CFLAGS) $(LAUNCH_PATH_FLAGS)) -o $@ $(filter %.o,$^) $(PRELOADED) $(SQLITE_STATIC) $(UNPACK_LIBS) $(SYSTEM_LIBS) -Wl,--gc-sections \
	  -Wl,--version-script=$(BUILD)/shim/exports.map -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,-z,now -Wl,-z,defs \
	  $(OF_LIBC:%=-Wl,--wrap=%) $(LDFLAGS)
$(BUILD)/hooks-agree: $(BUILD)/libkerncast.so shim/hooks.h shim/unhooked.txt scripts/check-hooks
	@scripts/check-hooks $< $(CUDA)
	@touch $@
# The loader runs it before there is a C library: it needs none, and no sanitizer's runtime.
$(BUILD)/libkerncast-audit.so: shim/audit/audit.c $(READY)
	$(CC) $(CPPFLAGS) $(CSTD) $(OPT) $(WARN) -fPIC -fvisibility=hidden -ffreestanding -fno-stack-protector -MMD -MP \
	  $(if $(filter aarch64,$(MACHINE)),-mno-outline-atomics) -shared -nostdlib -o $@ $< -Wl,-z,now -Wl,-z,defs
$(BUILD)/kerncast: $(PROGRAM_OBJ)
$(BUILD)/kerncast-lab: $(LAB_OBJ)
$(addprefix $(BUILD)/,$(PROGRAMS)): $(TOOLS) $(ARCHIVES)
	$(CC) -o $@ $(filter %.o,$^) $(TOOLS) $(ARCHIVES) $(SQLITE_LIBS) $(JSON_LIBS) $(ZLIB_LIBS) \
	  $(NAMES_LIBS) $(UNPACK_LIBS) $(SYSTEM_LIBS) $(LDFLAGS)

# A test links the archive of its own folder before those below it.
test_archive = $(if $(filter $(BUILD)/tools/%,$(1)),$(TOOLS),$(if $(filter $(BUILD)/shim/%,$(1)),$(SHIM)))
$(filter $(BUILD)/tools/%,$(TESTS)): $(TOOLS)
$(filter $(BUILD)/shim/%,$(TESTS)): $(SHIM)
$(TESTS): $(BUILD)/%: $(BUILD)/%.o $(ARCHIVES)
	$(CC) -o $@ $< $(call test_archive,$@) $(ARCHIVES) $(SQLITE_LIBS) $(JSON_LIBS) \
	  $(ZLIB_LIBS) -lcmocka \
	  $(NAMES_LIBS) $(UNPACK_LIBS) $(SYSTEM_LIBS) $(LDFLAGS)
# Memory ends where the test says.
$(BUILD)/store/query/renumbered_test: LDFLAGS += -Wl,--wrap=kc_intern

-include cuda_tests/simcuda/simcuda.mk
-include cuda_tests/matrix/matrix.mk
-include cuda_tests/experiments/experiments.mk
-include cuda_tests/gpu/gpu.mk
-include cuda_tests/matrix/doors/doors.mk
-include cuda_tests/code/code.mk
-include cuda_tests/fuzz/fuzz.mk
-include cuda_tests/prior/prior.mk
-include cuda_tests/sizes/sizes.mk
-include cuda_tests/slow/slow.mk
-include cuda_tests/playback/playback.mk
-include cuda_tests/explain/explain.mk
-include cuda_tests/awkward/awkward.mk
-include cuda_tests/ranges/ranges.mk
-include cuda_tests/torture/torture.mk
-include cuda_tests/real_driver/real_driver.mk

# What starts no thread shows ThreadSanitizer nothing.
SINGLE_THREADED := $(filter $(addprefix $(BUILD)/,predictor/% tools/tune/% tools/lab/basis/%),$(TESTS)) \
  $(EXPERIMENT_TESTS) $(EXPLAIN_TESTS)
UNIT_TESTS := $(filter-out $(if $(filter thread,$(SAN)),$(SINGLE_THREADED)), \
  $(TESTS) $(SIMCUDA_TESTS) $(EXPERIMENT_TESTS) $(EXPLAIN_TESTS))
unit-tests: $(UNIT_TESTS)

# --- CUDA programs: nvcc
NVCCFLAGS := -O2 -Xcompiler -Wall,-Wextra $(NVCC_SAN) \
  -gencode arch=compute_75,code=[sm_75,compute_75] -gencode arch=compute_90,code=sm_90
DEMOS := $(addprefix $(BUILD)/,demo-static demo-static-sim demo-shared)
$(BUILD)/cuda_tests/demo/demo.o: cuda_tests/demo/demo.cu $(READY)
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -c $< -o $@
# The shared runtime is the toolkit's, unless LD_LIBRARY_PATH names the stand-in's folder.
$(BUILD)/demo-shared: $(BUILD)/cuda_tests/demo/demo.o
	$(NVCC) -cudart shared $< -o $@ -Xlinker -rpath,$(CUDA)/lib64 $(NVCC_SAN)
$(BUILD)/demo-static: $(BUILD)/cuda_tests/demo/demo.o
	$(NVCC) -cudart static $< -o $@ $(NVCC_SAN)
$(BUILD)/demo-static-sim: $(BUILD)/cuda_tests/demo/demo.o $(SIMCUDA)/libcudart_sim.a
	$(NVCC) -cudart none $^ -o $@ -ldl -lpthread $(NVCC_SAN)
$(BUILD)/gpu-probe: $(BUILD)/cuda_tests/demo/gpu_probe.o
	$(CC) -o $@ $< -ldl $(LDFLAGS)

# --- bench
BENCHES := $(patsubst %.c,$(BUILD)/%,$(BENCH_SRC))
$(filter $(BUILD)/shim/%,$(BENCHES)): $(SHIM)
$(BENCHES): $(BUILD)/%: $(BUILD)/%.o $(ARCHIVES)
	$(CC) -o $@ $< $(call test_archive,$@) $(ARCHIVES) $(SQLITE_LIBS) $(NAMES_LIBS) $(UNPACK_LIBS) $(SYSTEM_LIBS) $(LDFLAGS)
$(BUILD)/launch_path: $(BUILD)/cuda_tests/bench/launch_path.o
	$(CC) -o $@ $< -ldl $(LDFLAGS)
$(BUILD)/noop_preload.so: $(BUILD)/cuda_tests/bench/noop_preload.o
	$(CC) -shared -o $@ $< $(LDFLAGS)
$(BUILD)/lag: $(BUILD)/cuda_tests/bench/lag.o $(SIMCUDA)/libcuda.so
	$(CC) -o $@ $^ $(LDFLAGS)
bench-programs: all $(BENCHES) $(BUILD)/launch_path $(BUILD)/lag $(BUILD)/noop_preload.so $(BUILD)/gpu-probe $(SIMCUDA_LIBS) \
  $(BUILD)/awkward/large_graph $(filter %/cost %/counting.so,$(RANGES_PROGRAMS))

demo-programs: all $(filter-out %-shared,$(DEMOS)) $(BUILD)/gpu-probe $(SIMCUDA_LIBS)

run-programs: demo-programs $(DEMOS) $(BUILD)/lag $(DOOR_PROGRAMS) $(addprefix $(EXPLAIN)/,shared.ptx matmul.ptx)

# --- for people: each sets up, builds and runs
# Variables above were settled before scripts/setup ran, so these start make again.
AGAIN = $(MAKE) --no-print-directory -s $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
E2E  := $(if $(SAN),,$(wildcard cuda_tests/e2e/*.bats cuda_tests/e2e/*/*.bats))
demo: ## a CUDA program under kerncast, and the report; installs what is missing
	@echo "Building kerncast and a CUDA program, after installing what is missing: some minutes the first time, then a second."
	@scripts/setup
	@$(AGAIN) demo-programs
	@scripts/demo $(BUILD)
test: ## unit and end-to-end tests; SAN=thread: unit tests under a sanitizer
	@scripts/setup
	@$(AGAIN) unit-tests $(if $(E2E),run-programs gpu-check-files)
	@KC_BUILD=$(abspath $(BUILD)) scripts/run-tests $$($(AGAIN) list-tests)
# Those of code that depends on the machine, and not on what QEMU has not: lists of robust mutexes (liveness, journal_file),
# pages that are asked for (journal_pages), ids of threads that end (streams). blocks takes minutes.
QEMU_TESTS = $(filter-out %/liveness_test %/journal_file_test %/journal_pages_test %/streams_test %/blocks_test, \
  $(filter $(addprefix $(BUILD)/,shim/% store/journal/% simcuda/% predictor/math/% predictor/code/container/% predictor/code/evaluate/%), \
  $(UNIT_TESTS)))
qemu-tests: all $(QEMU_TESTS) $(SIMCUDA_LIBS)
list-qemu-tests:
	@echo $(QEMU_TESTS)
aarch64: ## the product for aarch64, and unit tests under QEMU; installs a cross compiler
	@scripts/setup
	@scripts/setup --aarch64
	@$(AGAIN) CC=aarch64-linux-gnu-gcc qemu-tests
	@KC_TEST_RUNNER="$$(command -v qemu-aarch64 || command -v qemu-aarch64-static) -L build/sysroot-aarch64" \
	  scripts/run-tests $$($(AGAIN) CC=aarch64-linux-gnu-gcc list-qemu-tests)
clients: ## numba, Triton, … of PyPI, with and without kerncast; CLIENTS=all: PyTorch too
	@scripts/setup --all
	@$(AGAIN) all $(SIMCUDA_LIBS)
	@scripts/clients --build $(BUILD) $(CLIENTS)
mutants: ## changes constants one at a time: do tests notice? Half an hour or more
	@scripts/setup
	@$(AGAIN) unit-tests run-programs
	@scripts/mutants --build $(BUILD)
# SECONDS (120), SEED (by the clock). Half of the damaged files are tried with the sanitizers.
torture: ## kills, damage, limits and hostile names for two minutes, seeded; SECONDS=, SEED=
	@scripts/setup --all
	@$(AGAIN) torture-programs
	@$(call under,address-undefined) all
	@scripts/torture --build $(BUILD) $(addprefix --seconds ,$(SECONDS)) $(addprefix --seed ,$(SEED))
bench: ## added cost of a launch, speed of the rest, beside their budgets
	@scripts/setup
	@$(AGAIN) bench-programs
	@scripts/bench $(BUILD)
# Those of 15 s and more come first, the longest at the front: at the end no processor waits for another.
LONG := $(addprefix cuda_tests/e2e/,matrix.bats commands/replay.bats) $(BUILD)/tools/tune/tuning_trace_test \
  $(addprefix cuda_tests/e2e/,gpu_check_faults.bats gpu_check.bats application/graphs.bats import/import.bats application/kill.bats \
  commands/schemas.bats commands/export.bats commands/diff.bats commands/experiment.bats commands/explain.bats \
  application/delivery.bats experiments.bats second_run.bats application/memory.bats torture.bats recorded.bats)
ALL_TESTS := $(UNIT_TESTS) $(E2E)
list-tests:
	@echo $(foreach test,$(LONG),$(filter $(test),$(ALL_TESTS))) $(filter-out $(LONG),$(ALL_TESTS))

# Unit tests and the whole library under gcc's sanitizers, each in a build folder of its own.
# setarch: ThreadSanitizer's fixed addresses are taken where the kernel randomises more than 28 bits.
under = $(AGAIN) SAN=$(subst -,$(comma),$(1)) BUILD=$(BUILD)/$(1)
sanitize-programs: all unit-tests $(SIMCUDA_LIBS) $(BUILD)/demo-static-sim \
  $(addprefix $(MATRIX)/,$(addprefix sim/,runtime_graph process_fork_first process_fork_after process_fork_busy) \
  driver/linked_driver_graph driver/linked_driver_images) $(SANITIZED_SIZES) $(addprefix $(AWKWARD)/,exit late.so)
sanitize: ## unit tests and the library itself under the sanitizers
	@scripts/setup
	@$(call under,address-undefined) sanitize-programs
	@$(call under,thread) sanitize-programs
	@KC_BUILD=$(abspath $(BUILD)) \
	  $$(setarch $$(uname -m) -R true 2>/dev/null && echo setarch $$(uname -m) -R) \
	  scripts/run-tests $$($(call under,address-undefined) list-tests) $$($(call under,thread) list-tests) \
	  $(wildcard cuda_tests/sanitize/*.bats)

SHELLS := bash zsh fish
define of_program # NAME: its manual page and completions
$(BUILD)/$(1).1: $(BUILD)/$(1)
	$$< --man >$$@
$(addprefix $(BUILD)/$(1).,$(SHELLS)): $(BUILD)/$(1).%: $(BUILD)/$(1)
	$$< --completion $$* >$$@
endef
$(foreach program,$(PROGRAMS),$(eval $(call of_program,$(program))))
PLACE := $(DESTDIR)$(PREFIX)
LIBRARIES := $(PLACE)/lib/kerncast
MANUALS := $(PLACE)/share/man/man1
BASH_COMPLETIONS := $(PLACE)/share/bash-completion/completions
# Below PREFIX, where this system's zsh looks; Debian's packages have them elsewhere.
ZSH_FUNCTIONS ?= share/zsh/site-functions
ZSH_COMPLETIONS := $(PLACE)/$(ZSH_FUNCTIONS)
FISH_COMPLETIONS := $(PLACE)/share/fish/vendor_completions.d
SCHEMAS := $(PLACE)/share/kerncast/schemas
install: all $(foreach program,$(PROGRAMS),$(addprefix $(BUILD)/$(program).,1 $(SHELLS))) ## into PREFIX (/usr/local), below DESTDIR
	install -d -m 755 "$(PLACE)/bin" "$(MANUALS)" "$(BASH_COMPLETIONS)" "$(ZSH_COMPLETIONS)" "$(FISH_COMPLETIONS)" "$(SCHEMAS)"
	install -m 755 $(addprefix $(BUILD)/,$(PROGRAMS)) "$(PLACE)/bin"
	install -D -m 755 $(BUILD)/libkerncast.so "$(LIBRARIES)/libkerncast.so"
	install -D -m 755 $(BUILD)/libkerncast-audit.so "$(LIBRARIES)/libkerncast-audit.so"
	install -m 644 $(PROGRAMS:%=$(BUILD)/%.1) "$(MANUALS)"
	install -m 644 $(PROGRAMS:%=$(BUILD)/%.fish) "$(FISH_COMPLETIONS)"
	@for program in $(PROGRAMS); do \
	  install -m 644 $(BUILD)/$$program.bash "$(BASH_COMPLETIONS)/$$program" && \
	  install -m 644 $(BUILD)/$$program.zsh "$(ZSH_COMPLETIONS)/_$$program" || exit 1; done
	install -m 644 tools/schemas/*.schema.json "$(SCHEMAS)"
uninstall: ## removes what install put there
	rm -f "$(LIBRARIES)/libkerncast.so" "$(LIBRARIES)/libkerncast-audit.so" $(foreach program,$(PROGRAMS),\
	  "$(PLACE)/bin/$(program)" "$(MANUALS)/$(program).1" "$(BASH_COMPLETIONS)/$(program)" \
	  "$(ZSH_COMPLETIONS)/_$(program)" "$(FISH_COMPLETIONS)/$(program).fish") $(patsubst tools/schemas/%,"$(SCHEMAS)/%",$(wildcard tools/schemas/*.schema.json))
	rmdir "$(LIBRARIES)" "$(SCHEMAS)" "$(PLACE)/share/kerncast" 2>/dev/null || true

# --- packages, in build/dist, for any Linux on x86-64 with glibc 2.28 or newer. The first needs the network, for zig.
wheel: ## the Python package, with command and libraries; needs the network once
	@scripts/setup
	@scripts/package/stage build/stage/wheel ""
	@python3 scripts/package/wheel build/stage/wheel build/dist
deb: ## the Debian package
	@scripts/setup
	@scripts/package/deb build/dist
tarball: ## what make install installs, to be unpacked anywhere
	@scripts/setup
	@scripts/package/tarball build/dist
dist: ## all of these and the source archive, with SHA256SUMS
	@scripts/setup
	@scripts/package/dist build/dist

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(filter Makefile %.mk,$(MAKEFILE_LIST))

# --- lint: each part says all that it finds
tracked      = $(wildcard $(shell git ls-files --cached --others --exclude-standard $(1)))
CPPCHECK    := cppcheck -q --std=c11 --enable=warning,performance,portability --error-exitcode=1 \
  --suppressions-list=scripts/lists/cppcheck.txt -I. -D__x86_64__ '-DElfW(type)=Elf64_\#\#type' '-DCUDART_DRIVER_TABLE(x)='
lint: ## cppcheck, shellcheck, TypeScript on the page, format, hooks against CUDA's headers
	@scripts/setup --all
	@$(AGAIN) -k format-check lint-c lint-shell lint-bats lint-js lint-hooks lint-mutants && echo "nothing found"
lint-c:
	$(CPPCHECK) -j$(shell nproc) predictor store shim tools cuda_tests
lint-shell:
	shellcheck -x $(shell grep -lsE '^#!/bin/(ba)?sh' $(call tracked,.ci scripts cuda_tests))
# Names of a loaded file (SC2154, SC2034) are not seen by shellcheck in a bats file.
lint-bats:
	shellcheck -x -s bats -S warning -e SC2154,SC2034 $(call tracked,'*.bats' '*.bash')
# One script is made of all these files. Names that are not defined, members that the browser's objects lack, unused ones.
lint-js:
	tsc --noEmit --allowJs --checkJs --noUnusedLocals --target es2022 --lib es2022,dom,dom.iterable $(call tracked,'tools/report/html/*.js')
lint-hooks: $(BUILD)/libkerncast.so
	scripts/check-hooks --complete $< $(CUDA)
lint-mutants:
	scripts/mutants --fit
FORMATTED    := '*.c' '*.cc' '*.h' '*.cu' '*.cuh'
format-check:
	clang-format --dry-run -Werror $(call tracked,$(FORMATTED))
format: ## clang-format on every source
	clang-format -i $(call tracked,$(FORMATTED))
# Remove build/cuda and build/sysroot-aarch64 yourself if they are to go.
clean: ## removes what was built; what scripts/setup fetched stays
	@[ ! -d $(BUILD) ] || find $(BUILD) -mindepth 1 -maxdepth 1 ! -path build/cuda ! -path build/sysroot-aarch64 -exec rm -rf {} +

COMPILED := $(PREDICTOR_SRC) $(STORE_SRC) $(SHIM_SRC) $(TOOLS_SRC) $(TEST_SRC) \
  $(BENCH_SRC) $(FUZZ_SRC) $(wildcard cuda_tests/bench/*.c cuda_tests/demo/*.c)
-include $(patsubst %.o,%.d,$(call obj,$(COMPILED)) $(LAUNCH_PATH_OBJ)) $(BUILD)/libkerncast-audit.d
.PHONY: all unit-tests qemu-tests list-qemu-tests aarch64 demo-programs run-programs bench-programs sanitize-programs list-tests demo test clients mutants torture bench sanitize lint \
  lint-c lint-shell lint-bats lint-js lint-hooks lint-mutants format-check format install uninstall wheel deb tarball dist help clean
