/* What a worker does with a step: tasks.go of db; worker.go, workerline.go, attempt.go, lease.go and outcome.go of engine. */

inline claim(p) /* ClaimTasks */
{
	CHECK(law9_one_at_a_time, row.attempt == 0 || ended[row.attempt]);
	row.failures = row.failures + (row.worker != 0);
	row.attempt++; row.worker = p; row.mark = 0; row.leased = 1;
	given[row.attempt] = p;
	SAY("    process %d claims attempt %d\n", p, row.attempt)
}

#ifdef BREAK_UNTOLD_IS_ANY_BEGIN
#define BY_CLAIM true
#else
#define BY_CLAIM (row.mark == 0)
#endif

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
	bit early = (p == 2); /* it asks before there is anything, too */
#else
	bit early;
#endif
	bit untold, known;
end_idle:
	do
	:: atomic { UP(p) && untold -> known = (under_way[p] > 0) }; /* returnUntold: what it knows of, then the statement */
end_untold: atomic { UP(p) ->
			if
			:: row.there && row.worker == p && !known && BY_CLAIM -> row.worker = 0; row.leased = 0; SAY("    and gives it back\n")
			:: else
			fi;
			untold = 0; known = 0
		}
	:: atomic { UP(p) && !untold && used[p] < SLOTS && (DUE || early) -> early = (DUE -> early : 0); ROOM(p) };
		if
		:: atomic { UP(p) && DUE -> claim(p); BEGIN(p); start(p, row.attempt, row.failures, 0, 0) }
		:: atomic { faults && DUE -> faults--; claim(p); ended[row.attempt] = 1; untold = 1; SAY("    and does not hear of it\n"); NO_ROOM(p) }
		:: atomic { UP(p) && faults && !DUE -> faults--; untold = 1; NO_ROOM(p) }
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
	:: atomic { row.leased && (!doing[row.attempt] || dead[row.worker]) -> row.leased = 0; ended[row.attempt] = 1 }
	:: atomic { row.leased && faults -> faults--; row.leased = 0; ended[row.attempt] = 1; SAY("    the lease of attempt %d ends\n", row.attempt) }
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
		row.worker = 0; row.mark = 0; row.leased = 0; row.failures = tried + 1; ended[n] = 1;
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
		holds[n] = 1; ended[n] = 1; row.held = 1; row.worker = 0; row.mark = 0; row.leased = 0;
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
			began[n] = 1; SAY("    attempt %d runs in process %d\n", n, p)
		};
end_calls:	if
		:: atomic { UP(p) -> how = COMPLETED }
		:: atomic { UP(p) -> how = (tried + 1 < TRIES -> NONE : FINAL) }
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
	atomic { free_place(p); doing[n]--; under_way[p]-- }
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
			row.attempt++; ended[row.attempt] = 1; /* whoever held it has no say any more */
#endif
			SAY("    the step is replayed\n")
		}
	od
}
#endif
