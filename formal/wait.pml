/*
 * A wait with a deadline, and turns that come late. Two signals of one name are accepted at any time before, at and after
 * the deadline; two engines take turns whenever they like. The workflow waits for a signal until the deadline, then for
 * one without a deadline, then ends. What it gets must not depend on when turns came.
 */
#define NSIG  2
#define NCALL 2
#ifndef FAULTS
#define FAULTS 1
#endif
#define LAST     2
#define DEADLINE 1

#include "rules.pml"

byte program;
#define STAYS      0
#define ROLLS_OVER 1 /* after the first wait is over; the next generation names it again, past its deadline */
#define BOTH       2 /* both waits are open at once */
#define AGAIN      3 /* an expired hook makes it withdraw the first wait, a signal name it again */

#define IS_OVER(t) (mem.wait[t].status == DONE || mem.wait[t].status == LATE)

/* For a signal until the deadline, then for one without, then it ends. */
inline author()
{
	d_until[0] = DEADLINE + (program == AGAIN);
	if
	:: program == AGAIN -> d_create = 1; d_expires = DEADLINE
	:: else
	fi;
	if
	:: IS_OVER(0) && mem.wait[1].status == DONE -> d_end = COMPLETE
	:: IS_OVER(0) && mem.gen == 1 && program == ROLLS_OVER -> d_end = CONTINUE
	:: else ->
		d_wait[0] = !(program == AGAIN && mem.hook.shown == EXPIRED && mem.wait[1].status != DONE);
		d_wait[1] = (IS_OVER(0) || program == BOTH || !d_wait[0])
	fi
}

/* What an engine without delay would do: the first wait of the run gets what came before its deadline. */
#define AT_ONCE (w != 0 || mem.gen != 1 || program == AGAIN || mem.sig[head].at < DEADLINE)

inline at_end() { skip }

#include "turn.pml"
#include "rows.pml"
#include "callers.pml"
#include "door.pml"

init
{
	byte any;

	atomic {
#ifdef KNOWN
		select (program : STAYS .. ROLLS_OVER); /* the others would take long, and differ in what turns do only */
#else
		select (program : STAYS .. AGAIN);
#endif
		call[0].kind = SEND; call[0].tries = 1;
		call[1].kind = SEND; call[1].tries = 1; call[1].id = 1;
		db.gen = 1; db.first = 1; db.next = 2; db.takento = 1;
		run Lane(1); run Lane(2); run Turner(3); run Turner(4); run Server(); run Clock(); run End()
	}
}
