# What one program's database taught, in a file with which others begin: kerncast learn, run --prior, replay --prior.
load common

first_seen_error() { # DB: median, percent; all of them are first seen
	sql "SELECT round(100 * error, 2) FROM (SELECT abs(1.0 * (end_ns - start_ns) / (measured_end_ns - measured_start_ns) - 1)
		AS error FROM launch WHERE novelty = 'first_seen') ORDER BY error
		LIMIT 1 OFFSET (SELECT count(*) / 2 FROM launch WHERE novelty = 'first_seen')" "$1"
}

learned() { # records a program and learns from it
	"$kerncast" run -q -o taught.db "$build/demo-static-sim" >first.out
	"$kerncast" learn taught.db -o demo.prior >learn.out
}

same_again() { # DB [ARG...]: launches, and of them those replayed with the predicted solo time of the run
	local db=$1
	shift
	"$kerncast" replay --csv "$@" "$db" >again.csv
	sqlite3 -batch "$db" ".mode csv" ".import again.csv again" ".mode list" \
		"SELECT count(*), sum(l.solo_ns = a.solo_ns AND l.end_ns - l.start_ns = a.end_ns - a.start_ns) FROM launch l
		JOIN again a ON a.process = l.process AND a.sequence = l.sequence" "DROP TABLE again"
}

@test "a program of another name and database begins with what was learned, and is replayed so" {
	local with without
	learned
	cp "$build/demo-static-sim" another
	export SIMCUDA_SEED=2
	"$kerncast" run -q -o without.db ./another >without.out
	"$kerncast" run -q -o with.db --prior demo.prior ./another >with.out
	cmp without.out with.out
	with=$(first_seen_error with.db)
	without=$(first_seen_error without.db)
	echo "# simulated, median error of first-seen launches: $without % without --prior, $with % with it" >&3
	within "$without" 20 100000 "median error of first-seen launches without --prior, %"
	# What kernels do to one another is not in the file, and half of these run beside others.
	within "$with" 0 10 "the same with --prior, %"
	equal "$(same_again with.db --prior demo.prior)" "2000|2000" "launches, and those predicted again as in the run"
	contains "$("$kerncast" replay with.db)" "2,000 launches are of processes that began with a file of kerncast learn"
	equal "$(same_again with.db | cut -d'|' -f1)" 2000 "launches without the file"
	equal "$([[ $(same_again with.db) == "2000|2000" ]] && echo same || echo others)" others "predictions without it"
	contains "$(sql "SELECT text FROM message WHERE code = 'PRIOR'" with.db)" \
		"$("$kerncast" learn --list demo.prior | sed -n 's/.*checksum //p')"
}

@test "a file that is damaged, of others or missing is not used, and a message says why" {
	learned
	cp demo.prior damaged
	printf x | dd of=damaged bs=1 seek=100 conv=notrunc status=none
	cp demo.prior open
	chmod 666 open
	ln -s demo.prior link
	for file in damaged open link missing /dev/null; do
		rm -f kerncast.db
		KERNCAST_PRIOR=$file "$kerncast" run -q "$build/demo-static-sim" >out
		cmp first.out out
		equal "$(sql 'SELECT count(*) FROM launch')" 2000 "launches with $file"
		equal "$(sql "SELECT count(*) FROM message WHERE code = 'PRIOR_REFUSED'")" 1 "messages with $file"
	done
	keep failed "$kerncast" replay --prior damaged taught.db
	equal "$(<failed.status)" 1 "status of replay with a damaged file"
	contains "$(<failed.err)" "damaged cannot be used: it is damaged (its checksum)"
}

@test "learning pools databases, leaves names out if asked to, and is the same every time" {
	learned
	"$kerncast" learn taught.db -o again.prior >learn.out
	cmp demo.prior again.prior
	(umask 0 && "$kerncast" learn taught.db taught.db -o twice.prior >learn.out)
	equal "$(stat -c %a twice.prior)" 644 "mode of a file made with umask 0"
	"$kerncast" learn --list demo.prior --json >once.json
	"$kerncast" learn --list twice.prior --json >twice.json
	equal "$(sqlite3 :memory: "SELECT sum(value ->> 'measured') FROM json_each(readfile('once.json'), '\$.kernels')")" \
		2000 "launches of one database"
	equal "$(sqlite3 :memory: "SELECT sum(value ->> 'measured') FROM json_each(readfile('twice.json'), '\$.kernels')")" \
		4000 "launches of it twice"
	equal "$(grep -c matmul demo.prior)" 1 "lines with a kernel's name"
	"$kerncast" learn taught.db --anonymous -o hashed.prior >learn.out
	equal "$(grep -c matmul hashed.prior || true)" 0 "the same of an anonymous file"
	keep empty "$kerncast" learn nothing.db -o none.prior
	equal "$(<empty.status)" 1 "status without a database"
	[[ ! -e none.prior ]]
}
