/*
 * One run from its first turn to its end, over generations: two engines accept, one or two take turns, connections and
 * processes fail. Time stands still here. Callers: two with one signal ID (equal or other payloads), one with another ID.
 */
#define NSIG  2
#define NCALL 3
#ifndef FAULTS
#define FAULTS 1
#endif
#define LAST 0
#ifndef MORE
#define MORE 1 /* how often two of the callers send; the first one sends twice */
#endif
#ifndef THIRD
#define THIRD MORE
#endif

#include "rules.pml"

byte program; /* what the workflow does */
#define READS   0 /* a signal, then it ends: the rest is unread */
#define READS_2 1 /* a signal, rolls over, a signal, ends */
#define ROLLS   2 /* rolls over at once, a signal, ends */

inline author()
{
	if
	:: mem.gen == 1 && program == ROLLS -> d_end = CONTINUE
	:: mem.gen == 1 && program == READS_2 && mem.wait[0].status == DONE -> d_end = CONTINUE
	:: !(mem.gen == 1 && program != READS) && mem.wait[0].status == DONE -> d_end = COMPLETE
	:: else -> d_wait[0] = 1
	fi
}

inline at_end() { skip }

#include "turn.pml"
#include "rows.pml"
#include "callers.pml"
#include "door.pml"

init
{
	byte any;

	atomic {
		select (program : READS .. ROLLS);
		call[0].kind = SEND; call[0].tries = 2;
		call[1].kind = SEND; call[1].tries = MORE;
		select (any : 0 .. 1);
		call[1].payload = any;
		call[2].kind = SEND; call[2].id = 1; call[2].tries = THIRD;
		db.gen = 1; db.first = 1; db.next = 2; db.takento = 1;
		run Turner(3);
#ifdef TWO_TURNERS
		run Turner(4);
#endif
		run Lane(1); run Lane(2); run Server(); run End()
	}
}
