/*
 * What is stored: how a transaction reads rows and how the server ends it. holder is who has the lock of the run's row,
 * request how its transaction is to end. A transaction whose client is gone keeps its lock until the server has ended it:
 * its holder is NOBODY.
 */

#define NOBODY   9
#define COMMIT   1
#define ROLLBACK 2

byte holder, request;
hidden byte moment, n, k;

/* For each call of a batch, in order of arrival. */
#define EACH(what, k) k = a; do :: what; if :: k == a && b < NCALL -> k = b :: else -> break fi od
#define ENTRY(t) ((t) == NEVER -> 0 : 1 << (t))
#include "known.pml"

inline copy_row(to, from)
{
	to.status = from.status; to.gen = from.gen; to.first = from.first; to.next = from.next; to.wake = from.wake;
	to.updated = from.updated; to.backlog = from.backlog; to.wish = from.wish
}

inline copy_hook(to, from)
{
	to.state = from.state; to.expires = from.expires; to.openedseq = from.openedseq; to.openedat = from.openedat;
	to.seq = from.seq; to.at = from.at; to.payload = from.payload; to.fact = from.fact
}

inline copy_fold(to, from)
{
	to.takento = from.takento; to.stand = from.stand; to.opened = from.opened;
	to.hook.shown = from.hook.shown;
	for (i : 0 .. NWAIT - 1) {
		to.wait[i].status = from.wait[i].status; to.wait[i].deadline = from.wait[i].deadline;
		to.wait[i].openedseq = from.wait[i].openedseq; to.wait[i].openedat = from.wait[i].openedat;
		to.wait[i].again = from.wait[i].again
	}
}

/* What a later statement reads under the lock: signals, hooks, events. */
inline copy_rest(to, from)
{
	for (i : 0 .. NSIG - 1) {
		to.sig[i].seq = from.sig[i].seq; to.sig[i].at = from.sig[i].at; to.sig[i].payload = from.sig[i].payload;
		to.sig[i].eaten = from.sig[i].eaten
	}
	copy_hook(to.hook, from.hook);
	copy_fold(to, from)
}

inline forget(r)
{
	r.status = 0; r.gen = 0; r.first = 0; r.next = 0; r.wake = 0; r.updated = 0; r.backlog = 0; r.wish = 0;
	r.by_turn = 0;
	for (i : 0 .. NSIG - 1) { r.sig[i].seq = 0; r.sig[i].at = 0; r.sig[i].payload = 0; r.sig[i].eaten = 0 }
	r.hook.state = 0; r.hook.expires = 0; r.hook.openedseq = 0; r.hook.openedat = 0; r.hook.seq = 0; r.hook.at = 0;
	r.hook.payload = 0; r.hook.fact = 0; r.hook.dirty = 0; r.hook.shown = 0;
	r.takento = 0; r.stand = 0; r.opened = 0;
	for (i : 0 .. NWAIT - 1) {
		r.wait[i].status = 0; r.wait[i].deadline = 0; r.wait[i].openedseq = 0; r.wait[i].openedat = 0; r.wait[i].again = 0
	}
}

/* What must hold of everything committed, whoever wrote it. */
inline check_committed()
{
	find_fact(db);
#ifndef BREAK_HANDED_OVER_ONLY
	CHECK(law7_due_is_wake, entries == ENTRY(db.wake));
#endif
	CHECK(law7_wake_up, fact == NEVER || ENDED(db.status) ||
		(db.status == RUNNING && !RESTS -> db.wake <= LATER(clock, db.updated) : db.wake != NEVER));
	n = 0;
	for (i : 0 .. NSIG - 1) { n = n + UNREAD(db.sig[i]) }
	CHECK(law7_unread_counted, db.backlog == n);
	CHECK(law8_one_cause, !ENDED(db.status) || (db.hook.state != ACTIVE && db.wake == NEVER));
	CHECK(law8_one_cause, db.hook.state <= ACTIVE || told == 0 || told == db.hook.state);
	CHECK(law8_one_cause, db.hook.state != RUNENDED || db.status == COMPLETED);
	CHECK(law8_one_cause, db.hook.state != REVOKED || db.status == CANCELLED);
	told = (db.hook.state > ACTIVE -> db.hook.state : told);
	CHECK(law7_nothing_lost, ENDED(db.status) || !db.hook.fact || db.hook.shown != ACTIVE || db.hook.seq > db.takento)
}

/* The writes of a transaction and its COMMIT: to others they are one step. */
inline install()
{
	SAY("  commit: next %d, status %d, wake %d, backlog %d\n", mem.next, mem.status, mem.wake, mem.backlog);
	CHECK(ended_stays_ended, !ENDED(db.status) || mem.status == db.status);
	CHECK(law5_one_order, mem.next >= db.next && mem.updated >= db.updated);
	for (i : 0 .. NSIG - 1) {
		CHECK(law5_one_order, mem.sig[i].seq == 0 || mem.sig[i].seq == db.sig[i].seq || mem.sig[i].seq >= db.next)
	}
#ifdef BREAK_TURN_KEEPS_ITS_ENTRY
	entries = ((mem.by_turn -> entries : entries & ~ENTRY(db.wake)) | ENTRY(mem.wake));
#else
	entries = ((entries & ~(ENTRY(db.wake) & SEEN)) | PUT(ENTRY(mem.wake)));
#endif
	NOTE_REST;
	copy_row(db, mem);
	for (i : 0 .. NSIG - 1) {
		if
		:: mem.sig[i].seq && mem.sig[i].seq != db.sig[i].seq ->
			CHECK(law3_one_effect, db.sig[i].seq == 0); /* else the primary key refuses the row */
			db.sig[i].seq = mem.sig[i].seq; db.sig[i].at = mem.sig[i].at; db.sig[i].payload = mem.sig[i].payload
		:: else
		fi;
		db.sig[i].eaten = (db.sig[i].eaten || mem.sig[i].eaten)
	}
	if
	:: mem.hook.dirty ->
		CHECK(law8_one_cause, db.hook.state <= ACTIVE || mem.hook.state == db.hook.state);
		copy_hook(db.hook, mem.hook)
	:: else
	fi;
	if
	:: mem.by_turn -> copy_fold(db, mem)
	:: else
	fi;
	check_committed()
}
