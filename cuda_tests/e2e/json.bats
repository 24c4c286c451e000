# `kerncast report --json`: one document whose keys others rely on.
load common

keys_at() { # JSON path
	sqlite3 :memory: "SELECT key FROM json_each(CAST(readfile('report.json') AS TEXT), '$1')"
}

@test "report --json has every key of the contract, and README documents them" {
	local part key
	"$kerncast" run -q "$build/demo-static-sim" --rounds 30
	"$kerncast" report --json >report.json
	equal "$(sqlite3 :memory: "SELECT json_valid(CAST(readfile('report.json') AS TEXT))")" 1 "one valid document"
	for key in ledger accuracy first_seen new_size repeated solo overlapped kernels simulated; do
		contains "$(keys_at '$')" "$key"
	done
	for key in launches predicted unpredictable failed measured matched unmatched unmeasured dropped invalid; do
		contains "$(keys_at '$.ledger')" "$key"
		equal "$(sqlite3 :memory: "SELECT json_type(CAST(readfile('report.json') AS TEXT), '\$.ledger.$key')")" \
			integer "type of ledger.$key"
	done
	for part in accuracy first_seen new_size repeated solo overlapped; do
		for key in n mape median p90 within_20; do
			contains "$(keys_at "\$.$part")" "$key"
		done
	done
	within "$(sqlite3 :memory: "SELECT json_array_length(CAST(readfile('report.json') AS TEXT), '\$.kernels')")" 6 6 kernels
	for key in $(keys_at '$') $(keys_at '$.ledger') $(keys_at '$.accuracy') $(keys_at '$.kernels[0]'); do
		grep -q -F "\`$key\`" "$root/tools/README.md" "$root/README.md" || { echo "$key is not documented"; return 1; }
	done
}

@test "report --json agrees with the rows it is made from" {
	"$kerncast" run -q "$build/demo-static-sim"
	equal "$(report '$.accuracy.n')" "$(sql 'SELECT count(*) FROM launch WHERE measured_start_ns IS NOT NULL')" n
	local mape
	mape=$(sql "SELECT 100.0 * avg(abs((end_ns - start_ns) - (measured_end_ns - measured_start_ns))
		/ CAST(measured_end_ns - measured_start_ns AS REAL)) FROM launch")
	within "$(report '$.accuracy.mape')" "$(awk "BEGIN { print $mape * 0.99 }")" "$(awk "BEGIN { print $mape * 1.01 }")" mape
	equal "$(($(report '$.first_seen.n') + $(report '$.new_size.n') + $(report '$.repeated.n')))" \
		"$(report '$.accuracy.n')" "first seen, new size and repeated together"
	equal "$(($(report '$.solo.n') + $(report '$.overlapped.n')))" "$(report '$.accuracy.n')" "solo and overlapped together"
}
