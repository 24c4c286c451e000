# Programs that do what is allowed and seldom expected; each .c is one, linked to the stand-in driver.
AWKWARD          := $(BUILD)/awkward
AWKWARD_PROGRAMS := $(patsubst cuda_tests/awkward/%.c,$(AWKWARD)/%,$(wildcard cuda_tests/awkward/*.c))

awkward-programs: $(AWKWARD_PROGRAMS)
.PHONY: awkward-programs
run-programs: awkward-programs

$(AWKWARD_PROGRAMS): $(AWKWARD)/%: $(BUILD)/cuda_tests/awkward/%.o $(SIMCUDA)/libcuda.so
	@mkdir -p $(@D)
	$(CC) -rdynamic -o $@ $^ -pthread -ldl $(LDFLAGS)
-include $(wildcard $(BUILD)/cuda_tests/awkward/*.d)
