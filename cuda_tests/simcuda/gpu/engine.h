/*
 * The discrete-event simulation: host calls go in, time passes, work ends.
 *
 *   intake     ops handed over by host threads, in the order of their call; a
 *              short lock, nothing else happens on a launch
 *   sim_op     one operation, from the call to its end. It waits for the ops it
 *              depends on (its stream's last one, the legacy stream's rules, an
 *              event's record, a graph's edges) and for its turn in its hardware
 *              queue, then runs on the SMs or a copy engine.
 *   sim_run    one launch of an executable graph: its nodes' ops and edges
 *
 * Simulated time never passes the host's clock: sim_advance_to() is called with
 * the present and handles what is due. All else needs the engine lock.
 */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include "cuda_tests/simcuda/sim.h"

enum sim_state {
	SIM_NEW,
	SIM_WAITING, /* for other ops or its turn */
	SIM_DUE,     /* in the timer heap, until its earliest start */
	SIM_RUNNING,
	SIM_DONE,
};

struct sim_edge {
	struct sim_edge *next;
	struct sim_op *op;
};

struct sim_op {
	struct sim_op *next;  /* in the intake, then in the hardware queue */
	struct sim_op *after; /* in the list of finished ops, or of host functions */
	atomic_uint refs;
	enum sim_state state;
	struct sim_device *device;
	struct CUstream_st *stream;
	uint32_t missing; /* ops it waits for */
	uint32_t level;
	int queued;    /* it has a place in a hardware queue */
	int collected; /* its activity is wanted */
	struct sim_edge *dependents;
	struct sim_edge own_edge; /* saves an allocation: the edge to this op from its predecessor */
	int own_edge_used;
	double earliest_ns, start_ns, end_ns;
	struct sm_kernel blocks;
	struct sim_work work;
	struct simcuda_activity activity;
};

struct sim_run {
	struct sim_op *end;     /* done when all nodes are */
	struct sim_op **serial; /* the executable graph's last end: launches of one do not overlap */
	uint32_t ops, edges;
	int has_host; /* some node is a host function */
	struct sim_op **op;
	uint32_t (*edge)[2]; /* from, to: indices of op */
};

void sim_engine_init(void);
uint64_t sim_clock_ns(void);
double sim_time_of(uint64_t clock_ns); /* simulated ns, from the host's clock */

/* A new op for this work on this stream, called now. Null: out of memory. */
struct sim_op *sim_op_new(CUstream stream, const struct sim_work *work);
void sim_op_release(struct sim_op *op);

/* Hands an op over; takes its reference. Waits while the stream is full. */
void sim_enqueue(struct sim_op *op);

void sim_lock(void);
void sim_unlock(void);
void sim_take_in(void);               /* engine lock held */
void sim_wait_for(struct sim_op *op); /* engine lock held, let go meanwhile; takes a reference itself */
int sim_is_done(struct sim_op *op);   /* engine lock held */
void sim_advance_locked(void);
void sim_nap(void); /* engine lock held: let go of it until the next event */
void sim_deliver(void);
void sim_start_host_thread(void);
void sim_op_try_start(struct sim_op *op);
void sim_op_not_before(struct sim_op *op, const struct sim_op *ended); /* its start, by a predecessor's end */

#endif
