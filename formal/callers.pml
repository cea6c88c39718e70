/*
 * Callers send messages, and send them again whatever the answer was. What they are told is compared with what is stored
 * and with what they were told before.
 */

#if defined(FINE) || defined(BREAK_ACCEPT_READS_IN_LOCK) || defined(BREAK_TIME_BEFORE_LOCK) || \
	defined(BREAK_SKIPPED_IS_UNKNOWN)
#define CALLS_WAIT 1
#else
#define CALLS_WAIT 0 /* see TOGETHER in door.pml */
#endif
/* The second engine takes calls only while the first one decides again: else it makes no difference which of them does. */
#define TAKES(me)   (me == 1 || retrying || CALLS_WAIT)
#define SENDABLE(k) ((holder == 0 || CALLS_WAIT) && !call[k].taken && call[k].tries > 0)
/* A token is resolved by a plain read before anything else; what is not found there is answered at once. */
#define RESOLVES(k) (!call[k].token || db.hook.state != ABSENT)

bit retrying; /* a lane decides again */

inline enter(k)
{
	call[k].taken = 1; call[k].tries--;
	call[k].known = (call[k].kind == SEND -> db.sig[call[k].id].seq != 0 : db.hook.state != ABSENT)
}

/* A batch is one call or two. */
inline pick(me, a, b)
{
	if
	:: TAKES(me) && SENDABLE(0) && RESOLVES(0) -> a = 0
	:: TAKES(me) && SENDABLE(1) && RESOLVES(1) -> a = 1
	:: TAKES(me) && SENDABLE(NCALL - 1) && RESOLVES(NCALL - 1) -> a = NCALL - 1
	fi;
	if
	:: b = NCALL
	:: a != 0 && SENDABLE(0) && RESOLVES(0) -> b = 0
	:: a != 1 && SENDABLE(1) && RESOLVES(1) -> b = 1
	:: a != NCALL - 1 && SENDABLE(NCALL - 1) && RESOLVES(NCALL - 1) -> b = NCALL - 1
	fi;
	d_step {
		enter(a);
		if
		:: b < NCALL -> enter(b)
		:: else
		fi
	}
}

#define GOOD(v) (v == ACCEPTED || v == DUPLICATE)

inline heard_of_signal(k)
{
	id = call[k].id;
	CHECK(skipped_is_not_unknown, call[k].verdict != UNKNOWN);
	CHECK(law1_receipt_after_commit, !GOOD(call[k].verdict) || db.sig[id].seq != 0);
	CHECK(law3_conflict_never_success, !GOOD(call[k].verdict) || db.sig[id].payload == call[k].payload);
	CHECK(law3_first_receipt, !GOOD(call[k].verdict) || call[k].seq == db.sig[id].seq);
	CHECK(law4_known_before_ended, !call[k].known ||
		call[k].verdict == (db.sig[id].payload == call[k].payload -> DUPLICATE : CONFLICT));
	CHECK(law4_known_before_ended, call[k].verdict != OVER || (ENDED(db.status) && db.sig[id].seq == 0));
	CHECK(law3_one_effect, call[k].verdict != ACCEPTED || !acked[id]);
	acked[id] = (acked[id] || call[k].verdict == ACCEPTED)
}

/* What a verdict says of the hook; ABSENT: nothing. */
#define SAYS(k) (call[k].verdict > 10 -> call[k].verdict - 10 : \
	(call[k].verdict == CONFLICT || call[k].kind == RESUME -> RESUMED : DISPOSED))

inline heard_of_hook(k)
{
	if
	:: call[k].verdict == UNKNOWN -> CHECK(law8_one_cause, !call[k].known)
	:: else ->
		CHECK(law1_receipt_after_commit, !GOOD(call[k].verdict) || db.hook.state == SAYS(k));
		CHECK(law3_first_receipt, !GOOD(call[k].verdict) || call[k].seq == db.hook.seq);
		CHECK(law3_conflict_never_success, !GOOD(call[k].verdict) || call[k].kind == DISPOSE ||
			db.hook.payload == call[k].payload);
		CHECK(law8_one_cause, told == 0 || told == SAYS(k));
		told = SAYS(k)
	fi
}

/* No answer of a failed attempt is ever given. */
inline unjudge(k) { call[k].verdict = 0; call[k].seq = 0 }

/* Nobody knows: the process died, or the lock or the database could not be had. */
inline refuse(k) { unjudge(k); call[k].taken = 0; call[k].known = 0 }

/* A caller reads its answer. */
inline answer(k)
{
	SAY("    caller %d reads verdict %d, seq %d\n", k, call[k].verdict, call[k].seq);
	if
	:: call[k].kind == SEND -> heard_of_signal(k)
	:: call[k].kind == CANCEL ->
		CHECK(law1_receipt_after_commit, db.status == (GOOD(call[k].verdict) -> CANCELLED : COMPLETED));
		CHECK(law3_first_receipt, !GOOD(call[k].verdict) || call[k].seq == db.wish)
	:: else -> heard_of_hook(k)
	fi;
	refuse(k)
}

/*
 * The server ends transactions: the client asks for it, or is gone. To others a commit and its writes are one step. When
 * the client is gone during COMMIT, nobody but the server knows which way it ends.
 *
 * What a receipt says never changes, so it makes no difference when a caller reads it: here that is in the step of the
 * commit. A process that dies after its commit and before its answer is one that is gone during the commit. With -DFINE
 * answers are steps of their own.
 */
chan ended = [0] of { byte };

proctype Server()
{
	byte who;
end_idle:
	do
	:: atomic { request ->
			d_step {
				if
				:: request == COMMIT -> install()
				:: else
				fi;
#ifndef FINE
				for (k : 0 .. NCALL - 1) {
					if
					:: call[k].verdict && holder != NOBODY -> answer(k)
					:: else
					fi
				}
#endif
				forget(mem);
				PUBLISH
				who = holder; request = 0; holder = 0
			};
			if
			:: who != NOBODY -> ended!who
			:: else
			fi;
			who = 0
		}
	:: atomic { request == COMMIT && holder == NOBODY -> request = ROLLBACK }
#ifdef BREAK_COMMITS_IN_TWO
	:: d_step { request == COMMIT && holder == NOBODY && !mem.by_turn -> /* signals first, the run's row never */
			copy_row(mem, db); install();
			forget(mem);
			request = 0; holder = 0
		}
#endif
	od
}
