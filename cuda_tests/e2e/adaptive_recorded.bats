# --measure=adaptive on recorded trainings. Time passes in the player only while all of its threads wait
# (cuda_tests/playback/simulated_time.c), so that the machine's speed does not matter.
load common

# Three runs, as adaptive-on-traces says: at most 15 % of the launches are measured once they are known, errors are at most
# 0.3 points more than where all are, and kernels that become a tenth slower are found within two seconds.
recorded() { # TRACE
	KC_SHARED_DATA=$reduced run "$root/scripts/adaptive-on-traces" --build "$build" --seconds 12 --limits "$1"
	equal "$status|${#lines[@]}" "0|4" "status and lines of
$output"
}

@test "on a recorded training of one stream the three limits hold" {
	recorded kineto_resnet50_v100_a
}

@test "on a recorded training whose kernels vary much they hold" {
	recorded hta_df_index_v100
}

@test "on a recorded training of three streams and short steps they hold" {
	recorded param_dlrm_v100_w0
}
