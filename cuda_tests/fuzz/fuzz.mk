# make fuzz starts make again with clang and libFuzzer's instrumentation. A target is a file *_fuzz.c beside what it
# tests, and is named after it; seeds/NAME holds what it begins with, if anything.
fuzzer  = $(patsubst %_fuzz.c,$(BUILD)/fuzz_%,$(notdir $(1)))
FUZZERS := $(call fuzzer,$(FUZZ_SRC))
SEEDS   := $(addprefix $(BUILD)/seeds/,fatbin code_reader cubin features ptx past commands import_file import_sqlite text baseline knowledge variants)
$(foreach source,$(FUZZ_SRC),$(eval $(call fuzzer,$(source)): $(call obj,$(source))))
$(FUZZERS): $(TOOLS) $(ARCHIVES)
	$(CC) -o $@ $(filter %.o,$^) $(TOOLS) $(ARCHIVES) $(SQLITE_LIBS) $(JSON_LIBS) $(ZLIB_LIBS) \
	  $(NAMES_LIBS) $(UNPACK_LIBS) $(SYSTEM_LIBS) $(LDFLAGS) -fsanitize=fuzzer

$(BUILD)/seeds/fatbin $(BUILD)/seeds/code_reader $(BUILD)/seeds/cubin $(BUILD)/seeds/ptx: $(CODE_MODULES) cuda_tests/code/instructions.ptx $(wildcard cuda_tests/fuzz/seeds/*.ptx)
	@mkdir -p $@
	cp $(filter $(if $(filter %/fatbin %/code_reader,$@),%.fatbin %.o,%.$(@F)),$^) $@
	@touch $@
$(BUILD)/seeds/features: $(CODE_FEATURES) $(CODE)/differs_relocatable.cubin
	@mkdir -p $@
	cp $^ $@
	@touch $@
# Small traces; what is only large is cut off, which an importer must bear.
TRACE_SEEDS := $(wildcard cuda_tests/fuzz/seeds/trace.* cuda_tests/traces/raw/nvprof_two_streams_*.csv)
$(BUILD)/seeds/import_file: $(TRACE_SEEDS) $(wildcard cuda_tests/traces/raw/kineto_*.json.gz)
	@mkdir -p $@
	cp $(TRACE_SEEDS) $@
	for seed in $(TRACE_SEEDS); do gzip -c $$seed >$@/$$(basename $$seed).gz; done
	zcat $(filter %.json.gz,$^) | head -n 60 >$@/kineto_cut_off.json
	@touch $@
# There are 23 commands.
$(BUILD)/seeds/past $(BUILD)/seeds/commands $(BUILD)/seeds/import_sqlite: cuda_tests/fuzz/extremes
	$< $@ $(if $(filter %/commands,$@),23)
	@touch $@
$(BUILD)/seeds/baseline: cuda_tests/fuzz/seeds/baseline.json
	@mkdir -p $@
	cp $< $@
	@touch $@
# What kerncast learn writes of the demo: with names, and without (--anonymous).
$(BUILD)/seeds/knowledge: $(wildcard cuda_tests/fuzz/seeds/*.prior)
	@mkdir -p $@
	cp $^ $@
	@touch $@
$(BUILD)/seeds/variants: $(wildcard cuda_tests/fuzz/seeds/variants.*)
	@mkdir -p $@
	cp $^ $@
	@touch $@
# One value a file.
$(BUILD)/seeds/text: cuda_tests/fuzz/seeds/values.txt
	@mkdir -p $@
	split -a 3 -l 1 $< $@/
	for seed in $@/*; do truncate -s -1 $$seed; done
	@touch $@

fuzz-programs: $(FUZZERS) $(SEEDS)
fuzz: ## libFuzzer on what reads untrusted files, FUZZ_SECONDS for each reader
	@scripts/setup --all
	@$(AGAIN) CC=clang SAN=fuzzer-no-link,address,undefined BUILD=$(BUILD)/fuzz fuzz-programs
	@scripts/fuzz $(BUILD)/fuzz
.PHONY: fuzz fuzz-programs
