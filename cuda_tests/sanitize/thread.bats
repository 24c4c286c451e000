# The library under ThreadSanitizer.
sanitizer=thread runtime=libtsan.so
load common

@test "thread: demo, 8 threads" { demo 20; }
@test "thread: demo, a second run" { again; }
@test "thread: one kernel at growing sizes" { sizes sizes 1048576 4; }
@test "thread: 8 threads at ever other sizes" { sizes crowd 8 800; }
@test "thread: graphs of the runtime, 8 threads" { graph sim/runtime_graph; }
@test "thread: graphs of the driver, 8 threads" { graph driver/linked_driver_graph; }
@test "thread: module images freed after the load" { options && clean "$build/matrix/driver/linked_driver_images"; }
@test "thread: fork before CUDA" { fork sim/process_fork_first; }
@test "thread: fork after CUDA" { fork sim/process_fork_after; }
@test "thread: fork while four threads launch" { fork sim/process_fork_busy; }
@test "thread: KERNCAST_JOURNAL_MAX reached" { journal_full; }
@test "thread: KERNCAST_JOURNAL_MAX reached by graphs, 8 threads" { graph_full; }
@test "thread: 8 threads launch after the end" { after_end; }
@test "thread: CUPTI drops records" { fault cupti-drop; }
@test "thread: a launch fails" { fault launch-fail=100; }
@test "thread: the driver's addresses are not those it exports" { fault hidden-addresses; }
@test "thread: killed, then recovered" { killed; }
