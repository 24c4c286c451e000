# Programs with NVTX ranges, and a library with an NVTX of its own. A toolkit may lack NVTX's headers: then there are none.
RANGES          := $(BUILD)/ranges
NVTX_HEADERS    := $(wildcard $(CUDA)/include/nvtx3/nvToolsExt.h)
RANGES_PROGRAMS := $(if $(NVTX_HEADERS),$(addprefix $(RANGES)/,ranges names forks graphs cost late.so counting.so))

run-programs: $(RANGES_PROGRAMS)
$(foreach name,ranges names forks graphs cost,$(eval $(RANGES)/$(name): $(BUILD)/cuda_tests/ranges/$(name).o))
$(filter-out %.so,$(RANGES_PROGRAMS)): $(SIMCUDA)/libcuda.so
	@mkdir -p $(@D)
	$(CC) -o $@ $(filter %.o,$^) $(filter-out %.o,$^) -pthread -ldl $(LDFLAGS)
$(RANGES)/%.so: $(BUILD)/cuda_tests/ranges/%.o
	@mkdir -p $(@D)
	$(CC) -shared -o $@ $^ -Wl,-soname,$(@F) -ldl $(LDFLAGS)
-include $(wildcard $(BUILD)/cuda_tests/ranges/*.d)
