# What the prior's trees ask of launches: scripts/train-prior reads it.
PRIOR_ROWS := $(BUILD)/prior_rows
$(PRIOR_ROWS): $(BUILD)/cuda_tests/prior/prior_rows.o $(PREDICTOR)
	$(CC) -o $@ $^ -lm $(LDFLAGS)
-include $(wildcard $(BUILD)/cuda_tests/prior/*.d)
