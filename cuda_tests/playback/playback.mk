# Plays recordings on the simulated device.
PLAYBACK := $(BUILD)/playback/playback
run-programs: $(PLAYBACK)

$(PLAYBACK): $(BUILD)/cuda_tests/playback/playback.o $(SIMCUDA)/libcuda.so
	@mkdir -p $(@D)
	$(CC) -rdynamic -o $@ $^ -ldl -lm $(LDFLAGS)
-include $(BUILD)/cuda_tests/playback/playback.d
