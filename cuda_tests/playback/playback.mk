# Plays recordings on the simulated device: as they were, and as fast as the machine can. So can other programs be run.
PLAYBACK := $(addprefix $(BUILD)/playback/,playback playback_at_once lag_at_once large_graph_at_once)
run-programs: $(PLAYBACK)

$(BUILD)/playback/playback: $(BUILD)/cuda_tests/playback/playback.o
$(BUILD)/playback/playback_at_once: $(addprefix $(BUILD)/cuda_tests/playback/,playback_at_once.o simulated_time.o)
$(BUILD)/playback/lag_at_once: $(addprefix $(BUILD)/cuda_tests/playback/,lag_at_once.o simulated_time.o)
$(BUILD)/playback/large_graph_at_once: $(addprefix $(BUILD)/cuda_tests/,awkward/large_graph.o playback/simulated_time.o)
$(PLAYBACK): $(SIMCUDA)/libcuda.so
	@mkdir -p $(@D)
	$(CC) -rdynamic -o $@ $(filter %.o,$^) $(filter %.so,$^) -ldl -lm $(LDFLAGS)
$(BUILD)/cuda_tests/playback/playback_at_once.o: cuda_tests/playback/playback.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -DSPIN_NS=0 -c $< -o $@
$(BUILD)/cuda_tests/playback/lag_at_once.o: cuda_tests/bench/lag.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -DSPIN_S=0 -c $< -o $@
-include $(wildcard $(BUILD)/cuda_tests/playback/*.d)
