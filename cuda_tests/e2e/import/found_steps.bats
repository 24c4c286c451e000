# report --by step of recordings that tell no steps.
load ../common

# STEPS of 3 layers and an optimizer, LAUNCHES each; with "copy", a copy from the host begins each; with "parts", each has
# 4 parts that begin so. Times in nanoseconds.
make_recording() { # STEPS LAYERS copy|parts|none
	python3 - "$@" >t.csv <<-'END'
		import sys
		steps, layers, mark = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
		print("kind,start_ns,duration_ns,launch_ns,grid_x,block_x,stream,bytes,name")
		now = 1000
		def call(kind, name, count=""):
		    global now
		    now += 10000
		    print(f"{kind},{now + 3000},5000,{now},{'' if count else 8},{'' if count else 64},7,{count},{name}")
		for _ in range(steps):
		    for _ in range(4 if mark == "parts" else 1):
		        if mark != "none":
		            now += 400000
		            call("memcpy", "Memcpy HtoD", 4096)
		        call("kernel", "embed")
		        for _ in range(layers):
		            for name in ("norm", "attention", "add", "product"):
		                call("kernel", name)
		        call("kernel", "loss")
		    call("kernel", "clip")
		    call("kernel", "adam")
	END
	rm -f t.db*
	"$kerncast" import t.csv -o t.db >/dev/null
}

@test "steps that nothing tells are found, up to the launch" {
	make_recording 6 5 copy
	"$kerncast" report --by step t.db >page
	contains "$(<page)" "not told, but found by what repeats: 6 of 24 launches, 6 of them exactly; each begins after the longest wait of the host"
	equal "$("$kerncast" report --by step --csv t.db | tr -d '\r' | cut -d, -f1,2,5,6)" "name,number,launches,measured
step 1,1,24,24
step 2,2,24,24
step 3,3,24,24
step 4,4,24,24
step 5,5,24,24
step 6,6,24,24"
	"$kerncast" report --json --by step t.db >t.json
	"$root/scripts/check-schemas" t.json
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('t.json') AS TEXT), '\$.steps', '\$.step_searches[0].verdict',
		'\$.step_searches[0].outer')")" '[[],"steps",{"count":6,"launches":24,"regular":6,"start":"wait"}]'
	# The next step begins with its copy: 25 calls, 10 us apart, after a wait of 400 us.
	equal "$(sqlite3 :memory: "SELECT value ->> 'copies' || '/' || (value ->> 'time_ns')
		FROM json_each(CAST(readfile('t.json') AS TEXT), '\$.found_steps') LIMIT 1")" 1/650000
	"$kerncast" report --json t.db >t.json
	"$root/scripts/check-schemas" t.json
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('t.json') AS TEXT), '\$.found_steps', '\$.step_searches')")" "[null,null]"
}

@test "layers of a single step are not called steps" {
	make_recording 1 24 copy
	keep none "$kerncast" report --by step t.db
	equal "$(<none.status)" 1
	contains "$(<none.err)" "None were found by what repeats; 4 launches repeat 24 times, but those may be layers"
}

@test "nested repeats are both shown, and neither is called the step" {
	make_recording 5 5 parts
	"$kerncast" report --by step t.db >page
	contains "$(<page)" "not told; of nested repeats, either may be the step. Outer: 5 of 90 launches, 5 of them exactly"
	contains "$(<page)" "inner: 20 of 22 launches"
	equal "$("$kerncast" report --by step --csv t.db | tr -d '\r' | grep -c '^outer repeat')" 5
	equal "$("$kerncast" report --by step --csv t.db | tr -d '\r' | grep -c '^inner repeat')" 20
	! "$kerncast" report --by step --csv t.db | grep '^step'
}

@test "a filter counts launches, and not which steps there are" {
	make_recording 6 5 copy
	equal "$("$kerncast" report --by step --csv --kernel norm t.db | tr -d '\r' | cut -d, -f1,5 | tail -n 1)" "step 6,5"
}
