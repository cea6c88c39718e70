/*
 * One step from the turn that asks for it to its outcome: db/task_begin.go, tasks.go, engine/worker*.go, attempt.go, lease.go,
 * outcome.go; settleTask, holdTask and replayTask of internal/history. Two processes take turns and do steps, and one of
 * them may die for good; code may withdraw the step, its time may be over, and commits, answers and leases are lost.
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
byte marks = 1;      /* that of the next begin by a commit: no two of which nobody knows have one */
byte given[NUMBERS]; /* whose attempt of a number a commit made; 0 none */
bit began[NUMBERS];  /* the function was called in it */
bit calling[NUMBERS];
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
	doing[n]++;
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

/* --- the worker --------------------------------------------------------------------------------------------------- */

inline claim(p) /* ClaimTasks */
{
	CHECK(law9_one_at_a_time, row.worker != 0 || row.attempt == 0 || !calling[row.attempt]);
	row.failures = row.failures + (row.worker != 0);
	row.attempt++; row.worker = p; row.mark = 0; row.leased = 1;
	given[row.attempt] = p;
	SAY("    process %d claims attempt %d\n", p, row.attempt)
}

#ifdef BREAK_CLAIM_HOLDS_NO_ROOM
#define ROOM(p)
#define NO_ROOM(p)
#define BEGIN(p) take_place(p)
#else
#define ROOM(p)    take_place(p)
#define NO_ROOM(p) free_place(p)
#define BEGIN(p)
#endif

proctype Claimer(byte p)
{
#ifdef EARLY
	bit early = 1; /* it asks before there is anything, too */
#else
	bit early;
#endif
end_idle:
	do
	:: atomic { UP(p) && used[p] < SLOTS && (DUE || early) -> early = (DUE -> early : 0); ROOM(p) };
		if
		:: atomic { UP(p) && DUE -> claim(p); BEGIN(p); start(p, row.attempt, row.failures, 0, 0) }
		:: atomic { faults && DUE -> faults--; claim(p); SAY("    and does not hear of it\n"); NO_ROOM(p) }
		:: atomic { UP(p) && !DUE -> NO_ROOM(p) }
		:: dead[p] -> break
		fi
	od
}

/* A lease that nobody renews ends. One that is renewed ends, too, when the database cannot be told in time. */
proctype Leases()
{
end_idle:
	do
	:: atomic { row.leased && (!doing[row.attempt] || dead[row.worker]) -> row.leased = 0 }
	:: atomic { row.leased && faults -> faults--; row.leased = 0; SAY("    the lease of attempt %d ends\n", row.attempt) }
	od
}

inline return_task(p, n, tried, mark) /* ReturnTask: one statement, which compares */
{
	if
#ifdef BREAK_RETURN_NAMES_NO_ATTEMPT
	:: row.there && row.worker == p ->
#else
	:: MINE(p, n, mark) ->
#endif
		row.worker = 0; row.mark = 0; row.leased = 0; row.failures = tried + 1;
		SAY("    attempt %d failed, another one is due\n", n)
	:: else
	fi
}

#ifdef BREAK_SETTLED_WITHOUT_LOCK
#define FREE true
#define LOCK
#define UNLOCK
#else
#define FREE   (holder == 0)
#define LOCK   holder = _pid
#define UNLOCK holder = 0
#endif

#ifdef BREAK_ATTEMPT_NOT_COMPARED
#define NEWEST(n) true
#else
#define NEWEST(n) (row.attempt == n)
#endif
#ifdef BREAK_OUTCOME_PAST_ITS_TIME
#define IN_TIME true
#else
#define IN_TIME (!past)
#endif

inline judge(n) /* settleTask, holdTask */
{
	accepted = (row.there && IN_TIME && NEWEST(n) && !row.held);
	CHECK(law9_newest_attempt, !accepted || row.attempt == n);
	CHECK(law9_in_time, !accepted || !past)
}

inline install(n, how)
{
	if
	:: !accepted
	:: accepted && how == OPEN -> /* held */
		CHECK(law9_replayed_once, !holds[n]);
		holds[n] = 1; row.held = 1; row.worker = 0; row.mark = 0; row.leased = 0;
		SAY("    attempt %d holds the step\n", n)
	:: accepted && how != OPEN ->
		CHECK(law9_one_outcome, step == OPEN);
#ifdef LIMIT_BEGUN_WHILE_SETTLED
		CHECK(law9_newest_attempt, row.attempt == n);
#endif
		step = how; clear_row();
		SAY("    the outcome of attempt %d is stored: %d\n", n, how)
	fi;
	accepted = 0
}

inline lane(n, how, heard) /* a message of the accept lane */
{
	judge(n);
	install(n, how);
	if
	:: heard -> goto over
	:: else -> faults--; SAY("    and nobody hears of it\n")
	fi
}

proctype Attempt(byte p, n, tried, mark; bit unsure)
{
	bit accepted;
	byte how; /* OPEN: held; NONE: to be tried again */

	if
#ifndef BREAK_UNSURE_IS_NOT_ASKED
	:: unsure -> /* confirm, by RenewTasks */
end_asks:	if
		:: atomic { UP(p) && MINE(p, n, mark) -> row.leased = 1 }
		:: atomic { UP(p) && !MINE(p, n, mark) -> goto over }
		:: atomic { UP(p) && faults -> faults--; goto over }
		fi
#endif
	:: else
	fi;
end_begins:
	if
	:: atomic { UP(p) && tried >= TRIES -> how = FINAL } /* its workers were lost: used up */
	:: atomic { UP(p) && tried < TRIES ->
			CHECK(law9_one_begin, given[n] == p && !began[n]);
			began[n] = 1; calling[n] = 1; SAY("    attempt %d runs in process %d\n", n, p)
		};
end_calls:	if
		:: atomic { UP(p) -> calling[n] = 0; how = COMPLETED }
		:: atomic { UP(p) -> calling[n] = 0; how = (tried + 1 < TRIES -> NONE : FINAL) }
		fi
	fi;
end_concludes:
	do
	:: atomic { UP(p) && !MINE(p, n, mark) -> goto over } /* told by a renewal, or by the commit that closed the step */
	:: atomic { UP(p) && how == NONE -> return_task(p, n, tried, mark); goto over }
	:: atomic { UP(p) && how == NONE && faults -> faults--; return_task(p, n, tried, mark) } /* done, and not heard */
#ifdef FINE
	:: atomic { UP(p) && how != NONE && FREE -> LOCK; judge(n) };
		if
		:: atomic { UP(p) -> install(n, how); UNLOCK; goto over }
		:: atomic { faults -> faults--; install(n, how); UNLOCK; SAY("    and nobody hears of it\n") }
		:: atomic { faults -> faults--; accepted = 0; UNLOCK }
		:: atomic { dead[p] -> accepted = 0; UNLOCK; goto end_concludes }
		fi
#else
	:: atomic { UP(p) && how != NONE && FREE -> lane(n, how, 1) }
	:: atomic { UP(p) && how != NONE && FREE && faults -> lane(n, how, 0) }
#endif
#ifdef HOLD
	:: atomic { UP(p) && how == OPEN && holds[n] && FREE -> lane(n, how, 1) } /* said again, late */
#endif
	od;
over:
	atomic { free_place(p); doing[n]--; calling[n] = 0 }
}

#ifdef HOLD
/* Somebody replays a step that is held. */
proctype Operator()
{
end_idle:
	do
	:: atomic { holder == 0 && row.held && replays && !past ->
			replays--; row.held = 0; row.failures = 0;
#ifndef BREAK_REPLAY_KEEPS_THE_ATTEMPT
			row.attempt++; /* whoever held it has no say any more */
#endif
			SAY("    the step is replayed\n")
		}
	od
}
#endif

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
