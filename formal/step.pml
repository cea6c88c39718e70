/*
 * One step from the turn that asks for it to its outcome: db/task_begin.go here, the worker in attempt.pml. Two processes
 * take turns and do steps, and one of them may die for good; code may withdraw the step, its time may be over, and commits,
 * answers and leases are lost.
 *
 * A lease has no length: it ends when nobody renews it, and, as a fault, at any moment.
 */
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef SLOTS
#define SLOTS 1 /* of a process */
#endif
#ifndef TRIES
#define TRIES 2 /* attempts that may fail */
#endif
#define NUMBERS 9

#include "laws.pml"

/* the step, as events say */
#define NONE      0
#define OPEN      1
#define COMPLETED 2
#define FAILED    3
#define TIMED_OUT 4
#define WITHDRAWN 5 /* by code, or its run ended */

typedef Row { bit there, leased, held; byte attempt, worker, mark, failures }

byte step;
Row row;             /* of tasks */
byte holder;         /* of the run's lock: a process of the model; 0 nobody */
bit past;            /* schedule-to-close is over */
bit withdraws;       /* code withdraws the step, or the run ends, at some moment */
byte faults = FAULTS;
bit dead[3];
byte used[3];        /* places: line.used */
byte under_way[3];   /* attempts that it has */
byte marks = 1;      /* that of the next begin by a commit: no two of which nobody knows have one */
byte given[NUMBERS]; /* whose attempt of a number a commit made; 0 none */
bit began[NUMBERS];  /* the function was called in it */
bit ended[NUMBERS];  /* it is over, or its lease has ended, or nobody knows of it */
byte doing[NUMBERS]; /* attempts of a number that processes which live renew */
bit holds[NUMBERS];  /* it has held the step */
#ifdef HOLD
#define FINAL OPEN /* RetryPolicy.Hold */
bit replays = 1;
#else
#define FINAL FAILED
#endif

hidden byte law9_one_outcome = true, law9_newest_attempt = true, law9_in_time = true, law9_never_lost = true,
	law9_one_begin = true, law9_one_at_a_time = true, law9_places = true, law9_replayed_once = true;

#define UP(p) (!dead[p])
#define REPEATS (past && row.attempt > 1) /* past its time no outcome counts: claims would only repeat themselves */
#ifdef BREAK_LOST_IS_NOT_DUE
#define DUE (row.there && !row.held && !row.leased && !REPEATS && row.worker == 0)
#else
#define DUE (row.there && !row.held && !row.leased && !REPEATS)
#endif
#ifdef BREAK_UNSURE_IS_ANY_BEGIN
#define MINE(p, n, m) (row.there && row.worker == p && row.attempt == n)
#else
#define MINE(p, n, m) (row.there && row.worker == p && row.attempt == n && row.mark == m)
#endif

inline clear_row() { row.there = 0; row.leased = 0; row.held = 0; row.attempt = 0; row.worker = 0; row.mark = 0; row.failures = 0 }
inline take_place(p) { used[p]++; CHECK(law9_places, used[p] <= SLOTS) }
inline free_place(p) { CHECK(law9_places, used[p] > 0); used[p]-- }

inline start(p, n, tried, mark, unsure) /* worker.start */
{
	doing[n]++; under_way[p]++;
	run Attempt(p, n, tried, mark, unsure)
}

/* --- a turn ------------------------------------------------------------------------------------------------------- */

inline open_step(p, place)
{
	step = OPEN;
	row.there = 1; row.attempt = place; row.leased = place; row.worker = (place -> p : 0); row.mark = (place -> marks : 0);
	given[1] = (place -> p : given[1]);
	SAY("    the step is asked for by a commit of process %d, begun: %d\n", p, place)
}

inline give_back(p, place) /* letGo, unreserve */
{
	if
#ifndef BREAK_DROPPED_TURN_KEEPS_ITS_PLACE
	:: place -> free_place(p)
#endif
	:: else
	fi;
	place = 0
}

proctype Turner(byte p)
{
	bit place;
end_idle:
	do
	:: atomic { UP(p) && step == NONE -> /* a place first, then the statement that locks, compares and writes */
			if
			:: used[p] < SLOTS -> take_place(p); place = 1
			:: else
			fi
		};
		if
		:: atomic { UP(p) && holder == 0 && step == NONE -> holder = _pid };
			if
			:: atomic { open_step(p, place); holder = 0 };
				if
				:: atomic { UP(p) ->
						if
						:: place -> start(p, 1, 0, marks, 0)
						:: else
						fi;
						place = 0
					}
				:: atomic { dead[p] -> place = 0 }
				fi
			:: atomic { faults -> faults--; holder = 0; give_back(p, place) } /* refused, and rolled back */
			:: atomic { faults && UP(p) -> faults--; /* lost during COMMIT: nobody knows */
					SAY("    process %d does not hear of its commit\n", p);
					if
#ifdef BREAK_UNSURE_GIVES_ITS_PLACE_BACK
					:: place -> start(p, 1, 0, marks, 1); free_place(p)
#else
					:: place -> start(p, 1, 0, marks, 1)
#endif
					:: else
					fi
				};
				atomic {
					if
					:: open_step(p, place)
					:: SAY("    and it is rolled back\n")
					fi;
					holder = 0; place = 0; marks++
				}
			:: atomic { dead[p] -> holder = 0; place = 0 }
			fi
		:: atomic { UP(p) && (holder != 0 || step != NONE) -> give_back(p, place) } /* it is not as known: dropped */
		:: atomic { dead[p] -> place = 0; break }
		fi
	:: atomic { UP(p) && holder == 0 && step == OPEN && (past || withdraws) -> /* a turn, or a cancellation of the run */
			step = (past -> TIMED_OUT : WITHDRAWN);
			SAY("    the step is closed: %d\n", step);
#ifndef BREAK_CLOSED_STEP_KEEPS_ITS_ROW
			clear_row()
#endif
		}
	od
}

#include "attempt.pml"

proctype Fate() /* dies for good; the other one lives */
{
end_idle:
	atomic { faults -> faults--; dead[1] = 1; SAY("    process 1 dies\n") }
}

proctype Clock()
{
	past = 1
}

/* When nothing moves any more. */
proctype End()
{
	atomic { timeout ->
		CHECK(law9_never_lost, step != OPEN || row.held);
		CHECK(law9_never_lost, step == OPEN || !row.there);
		CHECK(law9_places, used[2] == 0 && (dead[1] || used[1] == 0))
	}
}

init
{
	atomic {
#ifdef HOLD /* what becomes of one that is not begun yet */
		step = OPEN; row.there = 1; run Operator();
#endif
		run Turner(1); run Turner(2); run Claimer(1); run Claimer(2); run Leases(); run Fate(); run End();
		if
#ifdef TIMED
		:: run Clock()
#else
		:: withdraws = 1
#endif
		:: true
		fi
	}
}
