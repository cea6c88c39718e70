/*
 * The transactions of db, and what disturbs them. A scenario defines, beside what rules.pml asks for:
 *   FAULTS  how often a process dies, a connection is lost during COMMIT, a lock is not had in time, a turn is cut short,
 *           or is given up because its code ran too long
 *   LAST    the clock's last tick
 */

byte faults = FAULTS;

#ifdef BREAK_TIME_IGNORES_LAST_EVENT
#define NOW clock
#else
#define NOW LATER(clock, mem.updated) /* greatest(clock_timestamp(), updated_at) */
#endif
#define DUE (db.wake <= clock && entries & ENTRY(db.wake)) /* a claim goes by the table due, and looks at the row */

/* --- db/accept_lane.go, accept_settle.go, accept_side.go ----------------------------------------------------------- */

/*
 * What a transaction does before its COMMIT is seen by nobody, so its statements are one step of the model, and a process
 * that dies at any of them is one whose transaction the server rolls back. A transaction that waits for the lock has read
 * nothing, so calls that wait are as calls that are not sent yet. With -DFINE each statement is a step, and calls wait.
 */
#ifdef FINE
#define TOGETHER
#else
#define TOGETHER atomic
#endif

/* The process dies; the server finds out. */
#define DIE(me) faults--; if :: holder == me -> holder = NOBODY; request = (request -> request : ROLLBACK) :: else fi

#ifdef FINE
#define LANE_MAY_DIE   if :: true :: atomic { faults -> DIE(me); d_step { EACH(refuse(k), k); leave() }; goto end_idle } fi;
#define TURNER_MAY_DIE if :: true :: atomic { faults -> DIE(me); goto end_idle } fi;
#else
#define LANE_MAY_DIE
#define TURNER_MAY_DIE
#endif

inline read_and_judge(a, b)
{
#ifdef BREAK_ACCEPT_READS_IN_LOCK
	copy_rest(mem, snap);
#else
	copy_rest(mem, db);
#endif
#ifdef BREAK_TIME_BEFORE_LOCK
	moment = LATER(early, mem.updated);
#else
	moment = NOW;
#endif
	EACH(judge(k, moment), k);
	k = 0
}

inline leave() { a = 0; b = 0; retrying = (retrying && !second); second = 0; k = 0 }

/* One engine's accept lane with its side lane: for one run they take turns, because calls follow those that wait. */
proctype Lane(byte me)
{
	byte a, b;
	bit second; /* decides once more after a lost connection */
#ifdef BREAK_ACCEPT_READS_IN_LOCK
	Run snap;
#endif
#ifdef BREAK_TIME_BEFORE_LOCK
	byte early;
#endif
end_idle:
	do
	:: atomic { !RESOLVES(0) && SENDABLE(0) -> call[0].tries-- } /* ErrTokenNotFound */
	:: TOGETHER {
			atomic { pick(me, a, b) };
			if
#ifdef KNOWN
			:: me == PROCESS && knows && (ALL_SIGNALS(a, b) || ONE_ANSWER(a, b)) -> begin_known(0); goto stmt
#endif
			:: holder == 0 && !CALLS_WAIT -> goto locks
#ifdef BREAK_SKIPPED_IS_UNKNOWN
			:: holder != 0 -> d_step { EACH(call[k].verdict = UNKNOWN; answer(k), k); leave() }; goto end_idle
#endif
			:: else -> goto wait /* SKIP LOCKED left the run out and FindRuns found it: to the side lane */
			fi
		};
#ifdef KNOWN
stmt:	/* AcceptKnown, ResumeKnown: decided before, and now one statement locks, compares and writes. Others may have come between */
		TOGETHER {
			if
			:: ACCEPT_AS_KNOWN(a, b) -> holder = me; d_step { accept_known(a, b) }; request = COMMIT; goto committing
			:: else -> d_step { forget_known() }; goto wait
			fi
		};
#endif
wait:
#ifdef BREAK_ACCEPT_READS_IN_LOCK
		atomic { true -> d_step { copy_rest(snap, db) } };
#endif
#ifdef BREAK_TIME_BEFORE_LOCK
		early = clock;
#endif
		if
		:: TOGETHER { holder == 0 ->
locks:			atomic { holder == 0 -> holder = me; d_step { copy_row(mem, db) } };
				LANE_MAY_DIE
				d_step { read_and_judge(a, b) };
				LANE_MAY_DIE
#ifdef BREAK_ANSWER_BEFORE_COMMIT
				d_step { EACH(answer(k), k); k = 0 };
#endif
				request = (mem.next == db.next -> ROLLBACK : COMMIT) /* nothing to write: rolled back */
			}
		:: atomic { holder != 0 && faults -> /* lock_timeout */
				faults--; d_step { EACH(refuse(k), k); leave() }; goto end_idle
			}
		fi;
#ifdef KNOWN
committing:
#endif
		if
#ifdef FINE
		:: ended?eval(me);
			if
			:: d_step { EACH(answer(k), k); leave() }
			:: atomic { faults -> DIE(me); d_step { EACH(refuse(k), k); leave() } }
			fi
#else
		:: atomic { ended?eval(me) -> d_step { leave() } } /* the answers were given with the commit */
#endif
		:: atomic { holder == me && faults && request == COMMIT -> faults--; holder = NOBODY; /* the connection is lost */
#ifdef BREAK_ANSWER_OF_FAILED_ATTEMPT
				d_step { EACH(answer(k), k); leave() }
#else
				if
				:: !second -> second = 1; retrying = 1; d_step { EACH(unjudge(k), k); k = 0 }; goto wait
				:: second -> d_step { EACH(refuse(k), k); leave() }
				fi
#endif
			}
		:: atomic { faults -> DIE(me); d_step { EACH(refuse(k), k); leave() } }
		fi
	od
}

/* --- db/advance.go, advance_claim.go, block.go --------------------------------------------------------------------- */

#ifdef BREAK_TURN_WITHOUT_LOCK
#define CLAIMABLE true
#define ROW snap
#else
#define CLAIMABLE DUE
#define ROW db
#endif

inline fold_and_turn(cut)
{
#if defined(BREAK_TURN_READS_IN_LOCK) || defined(BREAK_TURN_WITHOUT_LOCK)
	copy_rest(mem, snap);
#else
	copy_rest(mem, db);
#endif
	mem.by_turn = 1;
	moment = NOW;
	take_turn(moment, cut);
	cut = 0
}

/* One engine's dispatcher. A poll that finds nothing due changes nothing, so here the claim waits until something is. */
proctype Turner(byte me)
{
	byte seen;
	bit cut;
#if defined(BREAK_TURN_READS_IN_LOCK) || defined(BREAK_TURN_WITHOUT_LOCK)
	Run snap;
#endif
end_idle:
	do
#ifdef KNOWN
	:: atomic { handed -> handed = 0 } /* it is in memory only: a process that dies, or has too much of it, loses it */
	:: atomic { me == TURNS && handed -> begin_known(1) }; /* AdvanceKnown, LockKnown */
		TOGETHER {
			if
			:: ADVANCE_AS_KNOWN -> holder = me; d_step { advance_known() }; request = COMMIT; goto storing
			:: else -> d_step { forget_known() }; goto end_idle
			fi
		}
#endif
	::
#ifdef BREAK_TURN_READS_IN_LOCK
		d_step { DUE -> copy_rest(snap, db) };
		if
		:: DUE && holder == 0
		:: !DUE || holder != 0 -> goto end_idle
		fi;
#endif
#ifdef BREAK_TURN_WITHOUT_LOCK
		atomic { DUE && holder == 0 -> d_step { copy_row(snap, db); copy_rest(snap, db) } };
#endif
		TOGETHER {
			atomic { CLAIMABLE && holder == 0 -> holder = me; CLAIMED; d_step { copy_row(mem, ROW) } };
			TURNER_MAY_DIE
			if
#ifdef KNOWN
			:: atomic { faults && clock < LAST -> faults--; postpone(); request = COMMIT; goto storing }
#endif
			:: atomic { faults -> faults--; seen = mem.next; request = ROLLBACK; goto block }
			:: cut = 0
			:: atomic { faults -> faults--; cut = 1 }
			fi;
			d_step { fold_and_turn(cut) };
			TURNER_MAY_DIE
			request = COMMIT
		};
#ifdef KNOWN
storing:
#endif
		if
		:: ended?eval(me)
		:: atomic { holder == me && faults -> DIE(me) } /* or loses its connection: it is the same to a turn */
		fi;
		goto end_idle;
block:	/* the code ran too long: nothing is stored, and a transaction of its own blocks the run if it is as it was */
		ended?eval(me);
		d_step { holder == 0 -> holder = me;
			copy_row(mem, db); copy_rest(mem, db); moment = NOW;
			if
#ifdef BREAK_BLOCK_BLINDLY
			:: true ->
#else
			:: mem.next == seen && !ENDED(mem.status) ->
#endif
				mem.status = BLOCKED; mem.wake = moment; append(moment); request = COMMIT
			:: else -> request = ROLLBACK
			fi;
			seen = 0
		};
		ended?eval(me)
	od
}

/* --- the rest of the world ----------------------------------------------------------------------------------------- */

#ifdef CLOCK_STEPS_BACK
bool back;
#define ENOUGH back
#else
#define ENOUGH true
#endif

proctype Clock()
{
	do
	:: clock < LAST -> clock++
#ifdef CLOCK_STEPS_BACK
	:: atomic { clock == LAST && !back -> back = true; clock-- } /* once */
#endif
	:: clock == LAST && ENOUGH -> break
	od
}

#define WAITS(t) (db.wait[t].status == OPEN && db.wait[t].deadline == NEVER)

/* When nothing moves any more, and all that is due was done. */
proctype End()
{
	timeout ->
	d_step {
		find_fact(db);
		CHECK(law7_nothing_lost, ENDED(db.status) || fact == NEVER);
		CHECK(law7_nothing_lost, ENDED(db.status) || db.backlog == 0 || !WAITS(0) && !WAITS(1));
		CHECK(law7_wake_up, ENDED(db.status) || db.wake > clock);
		at_end()
	}
}
