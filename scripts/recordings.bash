# For scripts that replay every recorded trace: sets data, the folder that has traces/MANIFEST.csv and perhaps
# traces_2/MANIFEST.csv, whose column "use" says on which traces constants may be chosen.
# KC_SHARED_DATA: folder of the full recordings; without them, the reduced ones
root=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
data=${KC_SHARED_DATA:-$root/../shared/data}
if [[ ! -r $data/traces/MANIFEST.csv ]]; then
	echo "${0#"$root"/}: no full recordings in $data (KC_SHARED_DATA names another place); the reduced ones:" >&2
	data=$root/cuda_tests/traces
fi

# By kineto's README (ResNet) and by the traces' names
tuned_on=" hta_df_index_v100 kineto_resnet50_autograd_nw0 kineto_resnet50_autograd_nw4 kineto_resnet50_v100_a"
tuned_on+=" kineto_resnet50_v100_b param_linear_2080ti"
for worker in 0 1 2 3 4 5 6 7; do tuned_on+=" param_dlrm_v100_w$worker"; done
tuned_on+=" "

# Whether constants of any model were chosen on the trace
kind_of() { # TRACE
	if [[ $tuned_on == *" $1 "* ]]; then echo "tuned on"; else echo "held out"; fi
}

# Every trace: its file, and its kind with _ for the space
all_recordings() {
	local file use name kind
	while IFS=, read -r file _; do
		name=${file##*/}
		kind=$(kind_of "${name%.csv.gz}")
		[[ $file == file ]] || echo "$data/traces/$file ${kind/ /_}"
	done <"$data/traces/MANIFEST.csv"
	[[ -r $data/traces_2/MANIFEST.csv ]] || return 0
	while IFS=, read -r file _ _ _ _ use; do
		case $use in
		choose*) echo "$data/traces_2/$file tuned_on" ;;
		report*) echo "$data/traces_2/$file held_out" ;;
		esac
	done <"$data/traces_2/MANIFEST.csv"
}
