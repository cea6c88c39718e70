/*
 * wake_at is the only schedule: whatever hints are lost, what was accepted is shown, and what is due happens. A model of
 * its own, of the row's wake_at and who finds it; time passes, and with fairness every process goes on.
 *
 * The row starts with a turn due and a wait with a deadline. Two dispatchers claim; one side accepts messages (with
 * -DTRAFFIC without end, but of those that change nothing).
 */
#define NEVER    255
#define LAST     2
#define DEADLINE 1
#define SLACK    1 /* floorSlack */
#define MESSAGES 1
#define HOT      2 /* hotBatches */

byte clock, holder, wake;
byte accepted, shown;     /* messages: committed, shown to workflow code by a committed turn */
bool timed_out;           /* the wait is over */
bool hint[2];             /* NOTIFY, or the channel within the process: may be lost */
byte floor[2];            /* where a dispatcher's claims begin */
byte queued;              /* dispatchers that wait for the lock (AdvanceOne) */
#ifdef TRAFFIC
byte crashes = 0;
#else
byte crashes = 1;
#endif

#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define RAISE(d)  floor[d] = (asked > SLACK -> asked - SLACK : 0)
#define DUE(at)   (wake <= at)

#ifdef BREAK_ACCEPT_DOES_NOT_WAKE
#define WOKEN(at) wake
#elif defined(BREAK_WAKE_KEEPS_A_LATER_TIME)
#define WOKEN(at) (wake == NEVER -> at : wake)
#else
#define WOKEN(at) MIN(wake, at)
#endif

/* The accept side. Its transaction may be a long one, as those of a host are: time passes between clock and commit. */
proctype Accept()
{
	byte at, n, hot;
end_idle:
	do
	:: n < MESSAGES ->
#ifdef TRAFFIC
		if
		:: hot == HOT -> hot = 0; /* a run that is due batch after batch rests: whoever waits for it gets it */
#ifndef BREAK_HOT_RUN_DOES_NOT_REST
			queued == 0
#endif
		:: else
		fi;
#endif
		atomic { holder == 0 -> holder = 1 };
		at = clock;
#ifdef TRAFFIC
		if
		:: accepted == 1 -> atomic { hot = (DUE(clock) -> hot + 1 : 0); at = 0; holder = 0 } /* duplicates */
		:: accepted == 0 ->
#endif
			atomic { accepted++; wake = WOKEN(at); printf("message %d, accepted at %d, is committed at %d: wake_at %d\n",
				accepted, at, clock, wake); at = 0; holder = 0; n++ };
#ifdef TRAFFIC
			n--
		fi;
#endif
		if
		:: hint[0] = true
		:: skip
		fi;
		if
		:: hint[1] = true
		:: skip
		fi
	od
}

/* What a turn writes, by what it read under the lock. */
inline turn(read)
{
	timed_out = timed_out || clock >= DEADLINE;
	shown = read;
	wake = (timed_out -> NEVER : DEADLINE);
	printf("a turn at %d shows %d messages: wake_at %d\n", clock, shown, wake)
}

proctype Dispatcher(byte me)
{
	byte asked, from, read;
	do
	:: atomic { hint[me] -> hint[me] = false;
			asked = clock;
			from = floor[me]
		};
claim:
		if
		:: atomic { holder == 0 && DUE(asked) && wake >= from -> /* SKIP LOCKED */
taken:
#ifdef BREAK_TURN_OVERWRITES_WAKE
				read = accepted /* and lets go of the lock while it works */
			};
			atomic { holder == 0 -> holder = 2 + me };
#else
				holder = 2 + me; read = accepted
			};
#endif
			if
			:: atomic { turn(read); holder = 0; RAISE(me) }
			:: atomic { crashes -> crashes--; holder = 0; floor[me] = 0; printf("a turn dies\n") }
			fi
		:: atomic { holder != 0 && DUE(asked) && wake >= from -> RAISE(me) } /* left out, because locked */
			if
#ifndef TRAFFIC
			:: skip /* it is not due for long, or the lock is not had in time */
#endif
			:: queued++; /* AdvanceOne */
				atomic { holder == 0 -> queued--;
					if
					:: DUE(asked) -> goto taken
					:: else
					fi
				}
			fi
		:: atomic { !DUE(asked) || wake < from -> RAISE(me) }
		fi;
		atomic { asked = 0; from = 0; read = 0 }
#ifndef BREAK_NOBODY_POLLS
	:: atomic { true -> /* the poll */
			asked = clock;
#ifdef BREAK_FLOOR_NEVER_LOOKS_BACK
			from = floor[me];
#else
			from = 0; /* lookBack */
#endif
			goto claim
		}
#endif
	od
}

proctype Clock()
{
	do
	:: clock < LAST -> clock++
	:: clock == LAST -> break
	od
}

init { atomic { run Accept(); run Dispatcher(0); run Dispatcher(1); run Clock() } }

/* Whatever happened: in the end what was accepted is shown, and what was due has happened. */
ltl law7_shown_in_the_end { [] <> (shown == accepted && timed_out) }
