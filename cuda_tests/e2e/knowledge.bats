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
	contains "$("$kerncast" learn --list demo.prior 2>&1)" SIMULATED
	equal "$(jq .simulated once.json)" true "whether simulated devices taught it"
	equal "$(grep -c matmul demo.prior)" 1 "lines with a kernel's name"
	"$kerncast" learn taught.db --anonymous -o hashed.prior >learn.out
	equal "$(grep -c matmul hashed.prior || true)" 0 "the same of an anonymous file"
	keep empty "$kerncast" learn nothing.db -o none.prior
	equal "$(<empty.status)" 1 "status without a database"
	[[ ! -e none.prior ]]
}

launches() { # FIRST COUNT NAME NS GRID: rows of a trace, 100 µs from one to the next
	local i
	for ((i = $1; i < $1 + $2; i++)); do echo "kernel,${i}00000,$4,$3,NVIDIA A100-SXM4-40GB,$5,1,1,256,1,1,32,0"; done
}

# 10 launches of 10 µs and 6 of 40: 340 µs / 16.
@test "what a file holds is listed: kernels, launch shapes, sizes, launches and their mean" {
	{
		echo kind,start_ns,duration_ns,name,device_name,grid_x,grid_y,grid_z,block_x,block_y,block_z,registers,static_shared_bytes
		launches 1 10 alpha 10000 100
		launches 11 6 alpha 40000 1000
		launches 17 2 beta 5000 10
	} >made.csv
	"$kerncast" import made.csv -o made.db >/dev/null
	"$kerncast" learn made.db -o made.prior >learn.out
	equal "$("$kerncast" learn --list made.prior | sed 's/  */ /g; 1s/ shapes, .*/ shapes/' | sort)" "$(sort <<-'END'
		made.prior: 2 kernels, 3 launch shapes

		kernel GPU shapes sizes launches mean
		alpha NVIDIA A100-SXM4-40GB 2 2 16 21.2 µs
		beta NVIDIA A100-SXM4-40GB 1 1 2 5.00 µs
	END
	)" "what is listed"
	equal "$("$kerncast" learn --list made.prior --json | jq -c '[.simulated, .bytes, .anonymous, .devices[0].compute_capability,
		(.kernels | sort_by(.name)[] | .name, .device, .launch_shapes, .sizes, .measured, (.mean_ns + 0.5 | floor))]')" \
		"[false,$(stat -c %s made.prior),false,\"8.0\",\"alpha\",0,2,2,16,21250,\"beta\",0,1,1,2,5000]" "the same in JSON"
	"$kerncast" learn made.db -o hashed.prior --anonymous >learn.out
	contains "$("$kerncast" learn --list hashed.prior | head -n 1)" ", without names; "
	equal "$("$kerncast" learn --list hashed.prior --json | jq -c '[.anonymous, (.kernels[].name)]')" "[true,null,null]" "names in JSON"
	sed -n '1p; /beta/p' made.csv >one.csv
	"$kerncast" import one.csv -o one.db >/dev/null
	"$kerncast" learn one.db -o one.prior >learn.out
	contains "$("$kerncast" learn --list one.prior | head -n 1)" "one.prior: 1 kernel, 1 launch shapes, "
}

learns() { # STATUS SAID ARG...: of learn
	local status=$1 said=$2
	shift 2
	keep learns "$kerncast" learn "$@"
	equal "$(<learns.status)" "$status" "status of learn $*"
	equal "$(<learns.err)" "$said" "what learn $* says"
}

@test "what is left out, and what cannot be written, is said" {
	local kept
	{
		echo kind,start_ns,duration_ns,name,device_name,grid_x,grid_y,grid_z,block_x,block_y,block_z,registers,static_shared_bytes
		launches 1 10 alpha 10000 100
		launches 11 6 alpha 40000 1000
	} >made.csv
	sed 's/NVIDIA A100-SXM4-40GB/AMD Instinct MI300X/' made.csv >foreign.csv
	sed '/,1000,/d' foreign.csv >one.csv
	sed 's/NVIDIA A100-SXM4-40GB//' made.csv >unknown.csv
	for kept in made foreign one unknown; do "$kerncast" import $kept.csv -o $kept.db >/dev/null; done
	learns 0 "" made.db -o made.prior
	learns 0 "kerncast: left out: 2 launch shapes on a GPU that is not NVIDIA's" made.db foreign.db -o made.prior
	learns 0 "kerncast: left out: 1 launch shape on a GPU that is not NVIDIA's" made.db one.db -o made.prior
	learns 0 "kerncast: left out: 2 launch shapes on a GPU that their database does not describe (import the trace again with --device)" \
		made.db unknown.db -o made.prior
	learns 1 "kerncast: left out: 1 launch shape on a GPU that is not NVIDIA's
kerncast: nothing to learn: no launch was measured on a GPU that is known" one.db -o none.prior
	[[ ! -e none.prior ]]
	learns 1 "kerncast: cannot write no/such: No such file or directory" made.db -o no/such
	kept=$(sha256sum one.db)
	learns 1 "kerncast: cannot write one.db: it is a database" made.db -o one.db
	equal "$(sha256sum one.db)" "$kept" "the database that was there"
}
