/*
 * A child, from the request to the word of how it ended: engine/courier.go; settleTask, cancel and the ends of runs in
 * internal/history. Two couriers do what tasks say: start the child, report its end, stop it. A courier crashes between any
 * two of its statements, and begins anew; leases end while the attempt goes on. The parent ends at any moment, with each
 * policy; the child may end, and may not. Somebody else may have a run of that ID.
 *
 * A delivery has ten seconds, and less when its lease ends. So what waits for longer, or speaks for a newer attempt, comes
 * after it. With -DPAUSED couriers sleep in between for as long as they like. -DFENCED is a way to do without that: a
 * child is started in a transaction that finds its task with the attempt that it was given, and locks it.
 */
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef SLOW
#define SLOW 1 /* leases that end too early */
#endif

#include "laws.pml"

/* tasks */
#define START  0 /* the parent's: child */
#define STOP   1 /* the parent's, after its end */
#define REPORT 2 /* the child's, after its end */

/* what is done with the child when the parent ends */
#define ABANDON   0
#define REQUEST   1
#define TERMINATE 2

/* runs */
#define ABSENT  0
#define RUNNING 1
#define ENDED   2

typedef Row { bit there, leased, parked; byte attempt, worker }

Row row[3];
bit parent_ended, parent_ends;
bit told, told_failed; /* the outcome is an event of the parent; it is that there is no child */
byte policy;
byte child;            /* the run of that ID */
bit foreign;           /* and it is not of this parent */
bit ends;              /* the child ends by itself */
bit wished;            /* somebody asked it to end */
bit unknown;           /* nobody brings the child's workflow any more */
byte starts;           /* how often a run of this parent began */
byte crashes = CRASHES, slow = SLOW;
byte does[3], number[3]; /* what a courier is doing: a task and one, and the attempt */
bit sends[3];          /* it is about to start the child */
bit knows[3];          /* and found its workflow before */

hidden byte law10_started_once = true, law10_told_once = true, law10_told = true, law10_no_orphan = true,
	law10_no_foreign = true, law10_nothing_left = true;

#define DUE(k)   (row[k].there && !row[k].leased && !row[k].parked)
#define OWN(k)   (row[k].there && row[k].attempt == number[me] && row[k].worker == me)
#define NEWEST(k) (row[k].there && row[k].attempt == number[me])
#define HELD(k)  (does[row[k].worker] == k + 1 && number[row[k].worker] == row[k].attempt)

#ifdef PAUSED
#define OTHERS_ARE_DONE true
#define PATIENCE_IS_OVER true
#else
#define OTHERS_ARE_DONE (!NEWEST(START) || !sends[3 - me])
#define PATIENCE_IS_OVER (!sends[1] && !sends[2])
#endif
#ifdef FENCED
#define MAY_START NEWEST(START)
#else
#define MAY_START true
#endif

inline insert(k) { row[k].there = 1 }
inline remove(k) { row[k].there = 0; row[k].leased = 0; row[k].parked = 0; row[k].attempt = 0; row[k].worker = 0 }
inline claim(k)
{
	row[k].attempt++; row[k].worker = me; row[k].leased = 1; does[me] = k + 1; number[me] = row[k].attempt;
	SAY("    courier %d begins task %d, attempt %d\n", me, k, number[me])
}
inline rest() { does[me] = 0; number[me] = 0; sends[me] = 0; knows[me] = 0; goto end_idle }

/* settle, under the lock of the parent. Nobody is told when that has ended. */
inline settle_child(failed)
{
	remove(START);
	if
	:: parent_ended
	:: else ->
		CHECK(law10_told_once, !told);
		told = 1; told_failed = failed; SAY("    the parent is told, failed: %d\n", failed)
	fi
}

inline end_child()
{
	child = ENDED; wished = 0; SAY("    the child ends\n");
	if
	:: !foreign -> insert(REPORT)
	:: else
	fi
}

/* CancelRun with ChildOf */
#ifdef BREAK_STOPS_ANY_RUN
#define IS_CHILD true
#else
#define IS_CHILD (!foreign)
#endif
inline stop_child()
{
	if
	:: child == RUNNING && IS_CHILD ->
		CHECK(law10_no_foreign, !foreign);
		SAY("    the child is stopped\n");
		if
		:: policy == TERMINATE -> end_child()
		:: else -> wished = 1
		fi
	:: else
	fi
}

/* A courier crashes here, or not. */
#define MAY_CRASH if :: true :: atomic { crashes -> crashes--; SAY("    courier %d crashes\n", me); rest() } fi

proctype Courier(byte me)
{
end_idle:
	do
	:: atomic { DUE(START) -> claim(START); sends[me] = 1; knows[me] = !unknown }; /* startChild */
		MAY_CRASH;
		if
		:: atomic { MAY_START && child == ABSENT && knows[me] ->
				child = RUNNING; starts++; sends[me] = 0; SAY("    courier %d starts the child\n", me) }
#ifdef BREAK_STARTED_WITHOUT_IDENTITY
		:: atomic { child != ABSENT && !foreign -> child = RUNNING; starts++; sends[me] = 0 }
#else
		:: atomic { MAY_START && child != ABSENT && !foreign -> sends[me] = 0 } /* known: first of all */
#endif
		:: atomic { MAY_START && (child == ABSENT -> !knows[me] : foreign) && OTHERS_ARE_DONE -> sends[me] = 0 };
			MAY_CRASH;
			atomic {
				if
				:: NEWEST(START) -> settle_child(1)
				:: else
				fi;
				rest()
			}
		:: atomic { !MAY_START -> rest() }
		fi;
		atomic { CHECK(law10_started_once, starts == 1) };
		MAY_CRASH;
		atomic {
			if
			:: OWN(START) -> row[START].worker = 0; row[START].leased = 0; row[START].parked = 1; rest()
#ifndef BREAK_ORPHAN_IS_LEFT
			:: !OWN(START) && policy != ABANDON && parent_ended -> skip /* stopOrphan */
#endif
			:: else -> rest()
			fi
		};
		MAY_CRASH;
		atomic { stop_child(); rest() }

	:: atomic { DUE(STOP) && (child != ABSENT && IS_CHILD || PATIENCE_IS_OVER) -> claim(STOP) }; /* tries before that change nothing */
		MAY_CRASH;
		atomic { stop_child() };
		MAY_CRASH;
		atomic {
			if
#ifdef BREAK_STOPPED_IS_NOT_DONE
			:: NEWEST(STOP) && policy == TERMINATE -> row[STOP].parked = 1 /* as if there were a word to come */
#endif
			:: NEWEST(STOP) -> remove(STOP)
			:: else
			fi;
			rest()
		}

	:: atomic { DUE(REPORT) -> claim(REPORT) };
		MAY_CRASH;
#ifdef BREAK_REPORT_GOES_FIRST
		atomic { remove(REPORT) };
		MAY_CRASH;
#endif
		atomic {
			if
#ifdef BREAK_REPORT_NEEDS_A_PARKED_TASK
			:: row[START].there && row[START].parked -> settle_child(0)
#elif defined(BREAK_TOLD_WITHOUT_A_ROW)
			:: true -> settle_child(0)
#else
			:: row[START].there -> settle_child(0)
#endif
			:: else /* it does not wait for it any more */
			fi
		};
		MAY_CRASH;
		atomic {
			if
			:: NEWEST(REPORT) -> remove(REPORT)
			:: else
			fi;
			rest()
		}
	od
}

#define ENDS(k) \
	atomic { row[k].leased && !HELD(k) -> row[k].leased = 0 } \
	:: atomic { row[k].leased && slow -> slow--; row[k].leased = 0; SAY("    the lease of task %d ends\n", k) }

proctype Leases()
{
end_idle:
	do
	:: ENDS(START)
	:: ENDS(STOP)
	:: ENDS(REPORT)
	od
}

/* A turn, or a cancellation: what it closes, and what it leaves to do, is one commit. */
proctype Parent()
{
end_idle:
	atomic { parent_ends -> parent_ended = 1; SAY("    the parent ends, policy %d\n", policy);
		if
		:: row[START].there && policy != ABANDON -> remove(START);
#ifndef BREAK_END_TELLS_NOBODY
			insert(STOP)
#endif
		:: else
		fi
	}
}

proctype Child()
{
end_idle:
	atomic { child == RUNNING && (foreign -> wished : wished || ends) -> end_child() }
}

proctype Stranger()
{
	if
	:: atomic { child == ABSENT -> child = RUNNING; foreign = 1; SAY("    somebody else starts a run of the ID\n") }
	:: child != ABSENT
	fi
}

/* When nothing moves any more. */
proctype End()
{
	atomic { timeout ->
		CHECK(law10_told, parent_ended || told || (row[START].parked && child == RUNNING));
		CHECK(law10_no_orphan, foreign || child != RUNNING || policy == ABANDON || !(parent_ended || told_failed));
		CHECK(law10_nothing_left, !row[STOP].there && !row[REPORT].there &&
			(!row[START].there || row[START].parked && child == RUNNING))
	}
}

init
{
	atomic {
		select (policy : ABANDON .. TERMINATE);
		if
#ifndef STAYS
		:: parent_ends = 1
#endif
		:: true
		fi;
		if
		:: ends = 1
		:: true
		:: run Stranger()
		fi;
#ifdef UNKNOWN
		if
		:: unknown = 1
		:: run Undeployment()
		fi;
#endif
		insert(START);
		run Courier(1); run Courier(2); run Leases(); run Parent(); run Child(); run End()
	}
}

#ifdef UNKNOWN
proctype Undeployment() { unknown = 1 }
#endif
