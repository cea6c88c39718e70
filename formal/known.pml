/*
 * What a process does with a run whose record it knows from its own commits (-DKNOWN): it decides first, and one statement
 * locks the row, finds out whether it is as known, and writes. The process with accept lane 1 and dispatcher 3 knows; the
 * others, and its own other paths, change the run meanwhile. What it knows is the run as one of its commits left it, so
 * it may be old in every way.
 */
#ifndef KNOWN
#define RESTS   0
#define SEEN    255
#define PUT(e)  e
#define CLAIMED skip
#define NOTE_REST skip
#define PUBLISH
#else
#define PROCESS   1
#define TURNS     3
#define FORESIGHT 2 /* ticks */

Run known;          /* as a commit of the process left the run */
bit knows, handed;  /* it is of use; a turn is due, and handed over */
bit by_known;       /* the transaction under way decided before it locked */
bit rests;          /* the run was let rest */
byte seen_by_known; /* the entries that its statement sees: those from when it began */
bit begun[2];       /* such a statement, of the lane and of the dispatcher, is under way with what is known now */
byte seen_at[2];     /* the entries when it began */

#define RESTS rests
#define NOTE_REST rests = (mem.next == db.next && !mem.by_turn)
#define SEEN  (by_known -> seen_by_known : 255)
#define CLAIMED handed = (me == TURNS -> 0 : handed)
#ifdef BREAK_HANDED_OVER_ONLY
#define PUT(e) (by_known && !mem.by_turn -> 0 : e)
#else
#define PUT(e) (e)
#endif

inline begin_known(it) { begun[it] = 1; seen_at[it] = entries }
inline lock_known(it) { by_known = 1; seen_by_known = seen_at[it]; begun[it] = 0; seen_at[it] = 0 }

/* A statement that began before compares what was known then, which is not what is stored any more. */
inline refuse_begun() { begun[0] = 0; seen_at[0] = 0; begun[1] = 0; seen_at[1] = 0 }
inline forget_known() { forget(known); knows = 0; handed = 0; refuse_begun() }

/* A commit that the process heard of. */
inline publish()
{
	if
	:: request == COMMIT && (holder == PROCESS || holder == TURNS) && !rests ->
		if
		:: db.status == RUNNING ->
			refuse_begun();
			copy_row(known, db); copy_rest(known, db); knows = 1;
			handed = (handed || (holder == PROCESS && db.wake <= LATER(clock, db.updated)))
		:: else -> forget_known()
		fi
	:: else
	fi;
	by_known = 0; seen_by_known = 0
}
#define PUBLISH publish();

#define SAME_SEQ (known.next == db.next)
#ifdef BREAK_KNOWN_WITHOUT_WAKE
#define SAME_WAKE true
#else
#define SAME_WAKE (known.wake == db.wake)
#endif

#define REPEATED(c)       (db.sig[call[c].id].seq != 0)
#define ALL_SIGNALS(a, b) (call[a].kind == SEND && (b == NCALL || call[(b == NCALL -> a : b)].kind == SEND))
#define ONE_ANSWER(a, b)  (b == NCALL && call[a].kind == RESUME && known.hook.state == ACTIVE)

/* The statement accepts when it finds the row free and as known, and none of the signals, or the hook open. */
#ifdef BREAK_KNOWN_WITHOUT_SEQ
#define ACCEPT_SEQ true
#else
#define ACCEPT_SEQ SAME_SEQ
#endif
#ifdef BREAK_KNOWN_IDENTITY_UNCHECKED
#define NEW_IDS(a, b) true
#else
#define NEW_IDS(a, b) (!REPEATED(a) && !REPEATED((b == NCALL -> a : b)))
#endif
#ifdef BREAK_KNOWN_HOOK_EXPIRED
#define HOOK_OPEN (db.hook.state == ACTIVE)
#else
#define HOOK_OPEN (db.hook.state == ACTIVE && !PAST(db.hook, LATER(clock, db.updated)))
#endif
#define ACCEPT_AS_KNOWN(a, b) \
	(holder == 0 && begun[0] && ACCEPT_SEQ && SAME_WAKE && db.status == RUNNING && \
	(call[a].kind == SEND -> NEW_IDS(a, b) : HOOK_OPEN))

/* It knows the row, and of the signals none. Counters go on from the row under the lock. */
inline accept_known(a, b)
{
	lock_known(0);
	copy_row(mem, known);
	moment = LATER(clock, db.updated);
	if
	:: call[a].kind == RESUME -> /* as of the run's last event; the statement asks for the time */
		copy_hook(mem.hook, known.hook);
		judge(a, known.updated);
		mem.hook.at = moment; mem.updated = moment
	:: else -> EACH(judge(k, moment), k); k = 0
	fi;
	mem.backlog = db.backlog + mem.backlog - known.backlog;
	mem.next = db.next + mem.next - known.next;
	mem.wake = (moment < db.wake -> moment : db.wake)
}

/* State.EndsBy */
#define ENDS(t) (known.wait[t].status == OPEN && known.wait[t].deadline <= known.updated + FORESIGHT)
#ifdef BREAK_FORESIGHT_UNCHECKED
#define ENDS_BY false
#else
#define ENDS_BY (ENDS(0) || ENDS(1) || (known.hook.state == ACTIVE && known.hook.expires <= known.updated + FORESIGHT))
#endif
#ifdef BREAK_STORED_TOO_LATE
#define IN_TIME true
#else
#define IN_TIME (clock < known.updated + FORESIGHT)
#endif
#ifdef BREAK_HANDED_WITHOUT_SEQ
#define ADVANCE_SEQ true
#else
#define ADVANCE_SEQ SAME_SEQ
#endif
#define ADVANCE_AS_KNOWN \
	(holder == 0 && begun[1] && ADVANCE_SEQ && SAME_WAKE && db.status == RUNNING && !ENDS_BY && IN_TIME)

/* The turn is that of the time when the run became due. */
inline advance_known()
{
	lock_known(1); handed = 0;
	copy_row(mem, known); copy_rest(mem, known);
	mem.by_turn = 1;
	moment = known.updated;
	take_turn(moment, 0)
}

/* The run is due, its turn can neither be stored nor blocked: it rests. No event says so. */
inline postpone() { mem.wake = clock + 1 }
#endif
