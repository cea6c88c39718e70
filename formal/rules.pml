/*
 * The data of one run and the rules of internal/history, over it. The scenarios include this file and define:
 *   NSIG      signal IDs            NCALL  messages that callers hold
 *   author()  workflow code: reads mem, fills in the decision (d_*)
 *
 * db is what is committed. mem is what the transaction that holds the row's lock has read and decided; only the holder
 * touches it, so one is enough, and it is all zeros while nobody holds the lock.
 */

#include "laws.pml"

#define NEVER 255 /* a time that does not come; NULL in a column */
#define NWAIT 2

/* runs.status */
#define RUNNING   0
#define BLOCKED   1
#define COMPLETED 2
#define CANCELLED 3
#define ENDED(s)  (s >= COMPLETED)

/* the states of a hook; the closed ones are causes */
#define ABSENT   0
#define ACTIVE   1
#define RESUMED  2
#define DISPOSED 3
#define EXPIRED  4
#define REVOKED  5 /* cancelled: the run was */
#define RUNENDED 6

/* the status of a wait; 0 is that of an ID never named in the generation */
#define OPEN     1
#define DONE     2
#define LATE     3
#define WITHDREW 4

/* messages */
#define SEND    1
#define RESUME  2
#define DISPOSE 3
#define CANCEL  4

/* verdicts; GONE carries its cause. A call that is refused because nobody knows (ErrUnavailable) has none. */
#define ACCEPTED  1
#define DUPLICATE 2
#define CONFLICT  3
#define OVER      4 /* ErrRunEnded */
#define UNKNOWN   5
#define GONE(c)   (10 + c)

typedef Signal { byte seq, at; bit payload, eaten } /* seq 0: no such row */
typedef Wait { byte status, deadline, openedseq, openedat; bit again }
typedef Hook {
	byte state, expires, openedseq, openedat, seq, at, shown;
	bit payload, fact, dirty /* fact: somebody else closed it, so it is to be shown; dirty: to be written */
}
typedef Run {
	byte status, gen, first, next, wake, updated, backlog, wish; /* the row of runs; wish: seq of cancel_requested */
	Signal sig[NSIG];    /* the rows of signals, with the events they stand for */
	Hook hook;           /* the row of hooks, with its events */
	byte takento, stand; /* the fold: facts shown, effective time */
	bit opened, by_turn; /* by_turn: a turn writes this */
	Wait wait[NWAIT]
}
typedef Call {
	byte kind, id;
	bit payload, token;      /* token: the caller has a token, not the IDs */
	byte tries, verdict, seq;
	bit taken, known         /* in a lane; its identity was committed when it was sent */
}

Run db, mem;
byte clock;
byte entries = 1;       /* of the run in the table due: a bit for each wake_at; at first a turn is due at 0 */
Call call[NCALL];
byte told;              /* what callers know became of the hook */
bit acked[NSIG];        /* somebody was answered ACCEPTED */

hidden byte law1_receipt_after_commit = true, law3_one_effect = true, law3_first_receipt = true,
	law3_conflict_never_success = true, law4_known_before_ended = true, law5_one_order = true, law6_ends_once = true,
	law6_late_never_consumes = true, law6_in_time_is_taken = true, law7_nothing_lost = true, law7_unread_counted = true,
	law7_wake_up = true, law7_due_is_wake = true, law8_one_cause = true, law8_decided_on_committed = true, ended_stays_ended = true,
	skipped_is_not_unknown = true, model_author_waits = true;
/* Scratch of d_steps: no part of the state. */
hidden byte i, id, head, w, due, dueat, dueseq, fact, factat, factseq, t_calls;
hidden byte t_call, t_cut, t_ended, t_go, t_taken, t_shown, t_more;
/* The decision of workflow code: the waits it names and until when, what it does with the hook, how it ends. */
hidden byte d_until[NWAIT], d_end, d_expires;
hidden byte d_wait[NWAIT], d_create, d_dispose, d_hook;
#define CONTINUE 1
#define COMPLETE 2

#define PAST(h, t) (h.expires <= t) /* NEVER is after every time */

/* --- accept.go, accept_hook.go ------------------------------------------------------------------------------------- */

inline append(now) { mem.next++; mem.updated = now; t_taken = 0 }

#ifdef BREAK_ACCEPT_DOES_NOT_WAKE
#define WAKES(now) false
#elif defined(BREAK_WAKE_KEEPS_A_LATER_TIME)
#define WAKES(now) (mem.status != BLOCKED && mem.wake == NEVER)
#else
#define WAKES(now) (mem.status != BLOCKED && now < mem.wake)
#endif

inline wake_unless_blocked(now) { mem.wake = (WAKES(now) -> now : mem.wake) }

inline judge_signal(k, now)
{
	id = call[k].id;
	if
#ifdef BREAK_ENDED_BEFORE_KNOWN
	:: ENDED(mem.status) -> call[k].verdict = OVER
	:: !ENDED(mem.status) && mem.sig[id].seq
#elif defined(BREAK_IDENTITY_PER_GENERATION)
	:: mem.sig[id].seq && mem.sig[id].seq >= mem.first
#elif defined(BREAK_BATCH_IGNORES_ITSELF)
	:: db.sig[id].seq
#else
	:: mem.sig[id].seq
#endif
		-> if
#ifndef BREAK_CONFLICT_IS_SUCCESS
		:: mem.sig[id].payload != call[k].payload -> call[k].verdict = CONFLICT
#endif
		#ifdef BREAK_DUPLICATE_GETS_A_NEW_RECEIPT
		:: else -> call[k].verdict = DUPLICATE; call[k].seq = mem.next
#else
		:: else -> call[k].verdict = DUPLICATE; call[k].seq = mem.sig[id].seq
#endif
		fi
	:: else -> if
		:: ENDED(mem.status) -> call[k].verdict = OVER
		:: else ->
			CHECK(law3_one_effect, mem.sig[id].seq == 0);
			mem.sig[id].seq = mem.next; mem.sig[id].at = now; mem.sig[id].payload = call[k].payload;
			append(now);
			mem.backlog++;
			wake_unless_blocked(now);
			call[k].verdict = ACCEPTED; call[k].seq = mem.sig[id].seq
		fi
	fi
}

/* resolve appends the event that closes the hook. */
inline resolve(s, now) { mem.hook.state = s; mem.hook.seq = mem.next; mem.hook.at = now; mem.hook.dirty = 1; append(now) }

inline judge_hook(k, now)
{
	if
	:: mem.hook.state == ABSENT -> call[k].verdict = UNKNOWN
	:: mem.hook.state == RESUMED && (call[k].kind == DISPOSE || mem.hook.payload != call[k].payload) ->
		call[k].verdict = CONFLICT
	:: mem.hook.state == RESUMED && call[k].kind == RESUME && mem.hook.payload == call[k].payload ->
		call[k].verdict = DUPLICATE; call[k].seq = mem.hook.seq
	:: mem.hook.state == DISPOSED && call[k].kind == DISPOSE ->
		call[k].verdict = DUPLICATE; call[k].seq = mem.hook.seq
	:: mem.hook.state == ACTIVE && PAST(mem.hook, now) -> call[k].verdict = GONE(EXPIRED)
	:: mem.hook.state == ACTIVE && !PAST(mem.hook, now) ->
		if
		:: call[k].kind == RESUME -> mem.hook.payload = call[k].payload; resolve(RESUMED, now)
		:: else -> resolve(DISPOSED, now)
		fi;
		mem.hook.fact = 1;
		wake_unless_blocked(now);
		call[k].verdict = ACCEPTED; call[k].seq = mem.hook.seq
	:: else -> /* closed: by its cause */
#ifdef BREAK_TOKEN_FORGETS_CAUSE
		if
		:: call[k].token -> call[k].verdict = GONE(EXPIRED)
		:: else -> call[k].verdict = GONE(mem.hook.state)
		fi
#else
		call[k].verdict = GONE(mem.hook.state)
#endif
	fi
}

/* An ending closes the open hook: as expired when its deadline is past, which is what its callers were told since. */
inline close_hook(cause, now)
{
	if
	:: mem.hook.state == ACTIVE -> if
#ifndef BREAK_ENDING_IGNORES_DEADLINE
		:: PAST(mem.hook, now) -> resolve(EXPIRED, now)
#endif
		:: else -> resolve(cause, now)
		fi;
		mem.hook.shown = mem.hook.state
	:: else
	fi
}

inline judge_cancel(k, now)
{
	if
#ifdef BREAK_CANCEL_AGAIN_IS_ANOTHER_RECEIPT
	:: mem.status == CANCELLED -> call[k].verdict = DUPLICATE; call[k].seq = mem.next - 1
#else
	:: mem.status == CANCELLED -> call[k].verdict = DUPLICATE; call[k].seq = mem.wish
#endif
	:: mem.status == COMPLETED -> call[k].verdict = OVER
	:: else ->
		mem.wish = mem.next; append(now); /* run.cancel_requested */
#ifndef BREAK_CANCEL_LEAVES_HOOK
		close_hook(REVOKED, now);
#endif
		append(now); /* run.cancelled */
		mem.status = CANCELLED; mem.wake = NEVER;
		call[k].verdict = ACCEPTED; call[k].seq = mem.wish
	fi
}

/* Records.Accept */
inline judge(k, now)
{
	call[k].seq = 0;
	if
	:: call[k].kind == SEND -> judge_signal(k, now)
	:: call[k].kind == CANCEL -> judge_cancel(k, now)
	:: else -> judge_hook(k, now);
		CHECK(law8_decided_on_committed, call[k].verdict != UNKNOWN || db.hook.state == ABSENT)
	fi;
	SAY("  at %d judge call %d (kind %d, id %d, payload %d): verdict %d, seq %d\n", now, k, call[k].kind, call[k].id,
		call[k].payload, call[k].verdict, call[k].seq)
}
