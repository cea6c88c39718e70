/*
 * Two calls of a run to one other, A asked for before B: ClaimTasks, sendCall and patient of engine/courier.go. Two couriers
 * deliver; they crash between any two statements, and leases end while an attempt goes on. The target may come late, or
 * never, and it may end. The run that asked may end meanwhile: its calls are sent all the same, and nobody is told.
 *
 * As in child.pml, a delivery is over before a newer attempt gives a target up; not so with LIMIT_PAUSED_COURIER.
 */
#ifndef CRASHES
#define CRASHES 2
#endif
#ifndef SLOW
#define SLOW 2 /* leases that end too early */
#endif
#define A 0
#define B 1

#include "laws.pml"

/* the target, and what became of a call */
#define ABSENT    0
#define RUNNING   1
#define ENDED     2
#define DELIVERED 1
#define REFUSED   2

typedef Row { bit there, leased; byte attempt, worker, failures }

Row row[2];
byte target;
byte effects[2]; /* how often the target took it */
bit refused[2];  /* the target, or that it is not there, was the answer once */
byte outcome[2];
byte crashes = CRASHES, slow = SLOW;
byte does[3], number[3]; /* what a courier is doing: a call and one, and the attempt */
bit sends[3];    /* it is about to send it */
byte answer[3];

hidden byte law11_in_order = true, law11_one_effect = true, law11_tried_before_failed = true, law11_one_outcome = true,
	law11_delivered = true;

#ifdef BREAK_CLAIM_IGNORES_THE_ORDER
#define FIRST(k) true
#else
#define FIRST(k) (k == A || !row[A].there)
#endif
#define DUE(k)    (row[k].there && !row[k].leased && FIRST(k))
#define NEWEST(k) (row[k].there && row[k].attempt == number[me])
#define HELD(k)   (does[row[k].worker] == k + 1 && number[row[k].worker] == row[k].attempt)
#ifdef LIMIT_PAUSED_COURIER
#define OTHERS_ARE_DONE(k) true
#else
#define OTHERS_ARE_DONE(k) (!NEWEST(k) || !(does[3 - me] == k + 1 && sends[3 - me]))
#endif

inline rest() { does[me] = 0; number[me] = 0; sends[me] = 0; answer[me] = 0; goto end_idle }

inline settle(k, how)
{
	CHECK(law11_one_outcome, outcome[k] == 0);
	CHECK(law11_tried_before_failed, how == DELIVERED || refused[k] || effects[k] > 0);
	outcome[k] = how;
	row[k].there = 0; row[k].leased = 0; row[k].attempt = 0; row[k].worker = 0; row[k].failures = 0;
	SAY("    call %d is settled: %d\n", k, how)
}

inline send(k) /* accept, at the target */
{
	if
#ifdef BREAK_DELIVERED_WITHOUT_IDENTITY
	:: target == RUNNING ->
#elif defined(LIMIT_CALL_THAT_CANCELS) /* to cancel a run that has completed is refused, although it was asked to before */
	:: target == RUNNING && effects[k] > 0 -> answer[me] = DELIVERED
	:: target != RUNNING && effects[k] > 0 -> answer[me] = REFUSED
	:: target == RUNNING && effects[k] == 0 ->
#else
	:: effects[k] > 0 -> answer[me] = DELIVERED /* known: first of all */
	:: target == RUNNING && effects[k] == 0 ->
#endif
		CHECK(law11_one_effect, effects[k] == 0);
		CHECK(law11_in_order, k == B || effects[B] == 0);
		effects[k]++; answer[me] = DELIVERED; SAY("    courier %d delivers call %d\n", me, k)
	:: target != RUNNING && effects[k] == 0 -> refused[k] = 1; answer[me] = REFUSED
	fi;
	sends[me] = 0
}

/* A courier crashes here, or not. */
#define MAY_CRASH if :: true :: atomic { crashes -> crashes--; SAY("    courier %d crashes\n", me); rest() } fi

proctype Courier(byte me)
{
	byte k;
end_idle:
	do
	:: atomic { DUE(A) || DUE(B) ->
			if
			:: DUE(A) -> k = A
			:: DUE(B) -> k = B
			fi;
			row[k].failures = row[k].failures + (row[k].worker != 0 && row[k].failures < 1);
			row[k].attempt++; row[k].worker = me; row[k].leased = 1;
			does[me] = k + 1; number[me] = row[k].attempt; sends[me] = 1;
			SAY("    courier %d begins call %d, attempt %d\n", me, k, number[me])
		};
		MAY_CRASH;
#ifdef BREAK_CRASHES_USE_IT_UP
		if
		:: atomic { NEWEST(k) && row[k].failures > 0 -> settle(k, REFUSED); rest() }
		:: atomic { !NEWEST(k) || row[k].failures == 0 -> skip }
		fi;
#endif
#ifdef BREAK_SETTLED_BEFORE_SENT
		atomic {
			if
			:: NEWEST(k) -> outcome[k] = DELIVERED; row[k].there = 0
			:: else
			fi
		};
		MAY_CRASH;
#endif
		if
		:: atomic { target == RUNNING || effects[k] > 0 -> send(k) }
		:: atomic { target != RUNNING && effects[k] == 0 && OTHERS_ARE_DONE(k) -> send(k) } /* its patience is over; tries before change nothing */
		fi;
		MAY_CRASH;
		atomic {
			if
#ifdef BREAK_SETTLED_WITHOUT_A_ROW
			:: true -> settle(k, answer[me])
#endif
			:: NEWEST(k) -> settle(k, answer[me])
			:: else
			fi;
			rest()
		}
	od
}

#define ENDS(k) \
	atomic { row[k].leased && !HELD(k) -> row[k].leased = 0 } \
	:: atomic { row[k].leased && slow -> slow--; row[k].leased = 0; SAY("    the lease of call %d ends\n", k) }

proctype Leases()
{
end_idle:
	do
	:: ENDS(A)
	:: ENDS(B)
	od
}

proctype Target()
{
end_idle:
	do
	:: atomic { target == ABSENT -> target = RUNNING; SAY("    the target is started\n") }
#ifndef LIVES
	:: atomic { target == RUNNING -> target = ENDED; SAY("    the target ends\n") }
#endif
	od
}

/* When nothing moves any more. */
proctype End()
{
	atomic { timeout ->
		CHECK(law11_delivered, outcome[A] && outcome[B]);
		CHECK(law11_delivered, (outcome[A] == DELIVERED) == (effects[A] > 0) && (outcome[B] == DELIVERED) == (effects[B] > 0))
	}
}

init
{
	atomic {
		row[A].there = 1; row[B].there = 1;
		run Courier(1); run Courier(2); run Leases(); run Target(); run End()
	}
}
