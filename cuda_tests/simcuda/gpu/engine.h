/*
 * The discrete-event simulation: it takes in host calls, advances time and ends work.
 *
 *   intake     ops submitted by host threads, in the order of their calls. A launch
 *              takes one short lock and does nothing else
 *   sim_op     one operation, from the call to its end. It waits for the ops it
 *              depends on (its stream's last one, the legacy stream's rules, an
 *              event's record, a graph's edges) and for its turn in its hardware
 *              queue, then runs on the SMs or a copy engine.
 *   sim_run    one launch of an executable graph: its nodes' ops and edges
 *
 * Simulated time never runs ahead of the host's clock: sim_advance_locked() handles what is
 * due at present. Everything but the intake needs the engine lock.
 */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include "cuda_tests/simcuda/sim.h"

enum sim_state {
	SIM_NEW,
	SIM_WAITING, /* for other ops, or for its turn in the hardware queue */
	SIM_DUE,     /* in the timer heap, until its earliest start */
	SIM_RUNNING,
	SIM_DONE,
};

struct sim_edge {
	struct sim_edge *next;
	struct sim_op *op;
};

struct sim_op {
	struct sim_op *next;  /* link in the intake, then in the hardware queue */
	struct sim_op *after; /* link in the list of finished ops, or of host functions */
	atomic_uint refs;
	enum sim_state state;
	struct sim_device *device;
	struct CUstream_st *stream;
	uint32_t missing; /* ops it waits for */
	uint32_t level;
	int queued;    /* it is in a hardware queue */
	int collected; /* the sink is told of it */
	struct sim_edge *dependents;
	struct sim_edge *starters; /* those that may begin when all its blocks have */
	struct sim_op *beside;     /* the kernel that it began beside: the next in order follows both */
	struct sim_edge own_edge;  /* the edge from its predecessor, which saves an allocation */
	int own_edge_used;
	struct sim_op *whole;     /* the end of the graph launch that it is a node of, where that is an activity */
	double first_ns, last_ns; /* of such an end: when a node has first started, and last ended; 0: none has */
	int placed;               /* all its blocks have begun */
	double earliest_ns, start_ns, end_ns;
	struct sm_kernel blocks;
	struct sim_work work;
	struct simcuda_activity activity;
};

struct sim_run {
	struct sim_op *end;     /* done when all nodes are */
	struct sim_op **serial; /* end of the executable graph's last launch; its launches do not overlap */
	uint32_t ops, edges;
	int has_host; /* 1: some node is a host function */
	/* Not NULL: its nodes' ops are made when it is taken in, so that the launch takes as long however many they
	 * are. Engine lock held; 0: out of memory. */
	int (*unfold)(struct sim_run *run, struct CUstream_st *stream);
	struct CUgraphExec_st *exec; /* for unfold, as the next one */
	uint32_t correlation;
	struct sim_op **op;
	uint32_t (*edge)[2]; /* from, to: indices of op */
};

void sim_engine_init(void);
uint64_t sim_clock_ns(void);
double sim_time_of(uint64_t clock_ns); /* simulated ns, from the host's clock */

/* Returns a new op for this work on this stream, or null when out of memory. */
struct sim_op *sim_op_new(CUstream stream, const struct sim_work *work);
void sim_op_release(struct sim_op *op);

/* Submits an op and takes over its reference. Waits while the stream is full. */
void sim_enqueue(struct sim_op *op);

void sim_lock(void);
void sim_unlock(void);
void sim_take_in(void);               /* engine lock held */
void sim_wait_for(struct sim_op *op); /* engine lock held, but released while waiting; takes a reference of its own */
int sim_is_done(struct sim_op *op);   /* engine lock held */
void sim_advance_locked(void);
void sim_nap(void); /* engine lock held, but released until the next event */
void sim_deliver(void);
void sim_start_host_thread(void);
void sim_op_try_start(struct sim_op *op);
/* Sets op's earliest start from the end of a predecessor. */
void sim_op_not_before(struct sim_op *op, const struct sim_op *ended);

#endif
