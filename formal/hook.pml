/*
 * One hook with an expiry, from its creation to its closing. Its token is the host's own, so callers have it before the hook
 * exists. Callers: one answers by token, one by IDs (equal or another payload), one disposes, cancels, or sends the signal
 * that makes the workflow go on. Time passes.
 */
#define NSIG  1
#define NCALL 3
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef LAST
#define LAST 1
#endif
#define EXPIRY LAST

#include "rules.pml"

byte program; /* what the workflow does when the signal comes */
#define WITHDRAWS 0
#define COMPLETES 1
#define ROLLS_OVER 2

#define SETTLED (mem.hook.shown > ACTIVE)

/* Opens the hook and waits for its answer; ends when it has one. */
inline author()
{
	d_create = 1; d_hook = 1; d_expires = EXPIRY;
	if
	:: SETTLED -> d_end = COMPLETE
	:: !SETTLED && mem.gen == 1 && mem.wait[0].status == DONE -> /* without a look at the hook */
		if
		:: program == WITHDRAWS -> d_dispose = 1; d_wait[1] = 1
		:: program == COMPLETES -> d_end = COMPLETE
		:: program == ROLLS_OVER -> d_end = CONTINUE
		fi
	:: else -> d_wait[0] = (mem.gen == 1)
	fi
}

#ifdef LIMIT_PLAIN_READ
/* A list or a snapshot, without the lock: an active hook past its deadline shows as expired. */
proctype Reader()
{
end_idle:
	atomic { db.hook.state == ACTIVE && PAST(db.hook, clock) -> told = EXPIRED;
		SAY("    a list at %d shows the hook as expired\n", clock)
	}
}
#endif

inline at_end() { CHECK(law7_nothing_lost, db.hook.state <= ACTIVE || ENDED(db.status) || db.hook.shown == DISPOSED) }

#include "turn.pml"
#include "rows.pml"
#include "callers.pml"
#include "door.pml"

init
{
	byte any;

	atomic {
		call[0].kind = RESUME; call[0].token = 1; call[0].tries = 2;
		call[1].kind = RESUME; call[1].tries = 1;
		select (any : 0 .. 1);
		call[1].payload = any;
		select (any : SEND .. CANCEL);
		call[2].kind = any; call[2].tries = 1 + (any == CANCEL);
		if
		:: call[2].kind == SEND -> select (program : WITHDRAWS .. ROLLS_OVER)
		:: else
		fi;
		db.gen = 1; db.first = 1; db.next = 2; db.takento = 1;
		run Lane(1); run Lane(2); run Turner(3); run Server(); run Clock(); run End();
#ifdef LIMIT_PLAIN_READ
		run Reader()
#endif
	}
}
