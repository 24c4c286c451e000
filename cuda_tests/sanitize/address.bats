# The library under AddressSanitizer and UndefinedBehaviorSanitizer.
sanitizer=address-undefined runtime=libasan.so
load common

@test "address,undefined: demo, 8 threads" { demo 20; }
@test "address,undefined: demo, a second run" { again; }
@test "address,undefined: one kernel at growing sizes" { sizes sizes 1048576 4; }
@test "address,undefined: 8 threads at ever other sizes" { sizes crowd 8 800; }
@test "address,undefined: graphs of the runtime, 8 threads" { graph sim/runtime_graph; }
@test "address,undefined: graphs of the driver, 8 threads" { graph driver/linked_driver_graph; }
@test "address,undefined: module images freed after the load" { options && clean "$build/matrix/driver/linked_driver_images"; }
@test "address,undefined: fork before CUDA" { fork sim/process_fork_first; }
@test "address,undefined: fork after CUDA" { fork sim/process_fork_after; }
@test "address,undefined: KERNCAST_JOURNAL_MAX reached" { journal_full; }
@test "address,undefined: CUPTI drops records" { fault cupti-drop; }
@test "address,undefined: a launch fails" { fault launch-fail=100; }
@test "address,undefined: the driver's addresses are not those it exports" { fault hidden-addresses; }
@test "address,undefined: killed, then recovered" { killed; }
