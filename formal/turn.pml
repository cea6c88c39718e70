/* A turn: turn.go, decide.go, ending.go, finish.go, due.go and fold*.go of internal/history. All of it is one d_step. */

#ifndef AT_ONCE
#define AT_ONCE true
#endif

#define UNREAD(m) (m.seq && !m.eaten)
#ifdef BREAK_CONTINUE_DROPS_UNREAD
#define BUFFERED(m) (UNREAD(m) && m.seq >= mem.first)
#else
#define BUFFERED(m) UNREAD(m)
#endif

/* The head of the line: the earliest accepted signal that is unread. */
inline find_head()
{
	head = NSIG;
	for (i : 0 .. NSIG - 1) {
		if
#ifdef BREAK_NEWEST_FIRST
		:: BUFFERED(mem.sig[i]) && (head == NSIG || mem.sig[i].seq > mem.sig[head].seq) -> head = i
#else
		:: BUFFERED(mem.sig[i]) && (head == NSIG || mem.sig[i].seq < mem.sig[head].seq) -> head = i
#endif
		:: else
		fi
	}
}

/* wait.admits: accepted before the deadline, or in the buffer already when the wait was first opened. */
#ifdef BREAK_EXPIRED_WAIT_CONSUMES
#define ADMITS(t, m) (t.status == OPEN || t.status == LATE)
#else
#define ADMITS(t, m) (t.status == OPEN && (m.at < t.deadline || (!t.again && m.seq < t.openedseq)))
#endif

/* State.pairable: the head, and the oldest open wait that takes it. */
inline find_pair()
{
	find_head();
	w = NWAIT;
	if
	:: head < NSIG && mem.sig[head].seq <= mem.takento ->
		for (i : 0 .. NWAIT - 1) {
			if
			:: ADMITS(mem.wait[i], mem.sig[head]) && (w == NWAIT || mem.wait[i].openedseq < mem.wait[w].openedseq) -> w = i
			:: else
			fi
		}
	:: else
	fi
}

/* Turn.pair, with wait.completed */
inline pair(now)
{
	for (i : 0 .. NSIG - 1) {
		CHECK(law5_one_order, !UNREAD(mem.sig[i]) || mem.sig[i].seq >= mem.sig[head].seq)
	}
	CHECK(law6_late_never_consumes, mem.sig[head].at < mem.wait[w].deadline ||
		(!mem.wait[w].again && mem.sig[head].seq < mem.wait[w].openedseq && mem.sig[head].at <= mem.wait[w].openedat));
	CHECK(law6_late_never_consumes, AT_ONCE);
	CHECK(law6_ends_once, mem.wait[w].status == OPEN);
	mem.sig[head].eaten = 1; mem.backlog--;
	mem.wait[w].status = DONE;
	mem.opened = 1;
	append(now);
	SAY("    wait %d takes signal %d\n", w, head)
}

#define LATER(a, b) ((a) < (b) -> (b) : (a))

#ifdef BREAK_TIMER_OF_A_DONE_WAIT
#define TICKS(t) (t.status == OPEN || t.status == DONE)
#else
#define TICKS(t) (t.status == OPEN)
#endif
#ifdef BREAK_OPENED_WHEN_THE_TURN_RUNS
#define OPENED(deadline, now) now
#else
#define OPENED(deadline, now) ((deadline) <= now -> mem.stand : now) /* opened_at: of what is opened past its deadline */
#endif

/* State.earliestDue: due is a wait, NWAIT for the hook, NEVER for none. */
inline find_due(now)
{
	due = NEVER;
	for (i : 0 .. NWAIT - 1) {
		if
		:: TICKS(mem.wait[i]) && mem.wait[i].deadline <= now &&
			(due == NEVER || LATER(mem.wait[i].deadline, mem.wait[i].openedat) < dueat) ->
			due = i; dueat = LATER(mem.wait[i].deadline, mem.wait[i].openedat); dueseq = mem.wait[i].openedseq
		:: else
		fi
	}
	if
	:: mem.hook.state == ACTIVE && PAST(mem.hook, now) &&
		(due == NEVER || LATER(mem.hook.expires, mem.hook.openedat) < dueat ||
		LATER(mem.hook.expires, mem.hook.openedat) == dueat && mem.hook.openedseq < dueseq) ->
		due = NWAIT; dueat = LATER(mem.hook.expires, mem.hook.openedat)
	:: else
	fi
}

/* The next accepted message that was not shown: fact is a signal, NSIG for the hook, NEVER for none. */
inline find_fact(r)
{
	fact = NEVER; factseq = NEVER;
	for (i : 0 .. NSIG - 1) {
		if
		:: r.sig[i].seq > r.takento && r.sig[i].seq < factseq -> fact = i; factseq = r.sig[i].seq; factat = r.sig[i].at
		:: else
		fi
	}
	if
	:: r.hook.fact && r.hook.seq > r.takento && r.hook.seq < factseq -> fact = NSIG; factseq = r.hook.seq; factat = r.hook.at
	:: else
	fi
}

/* State.wasBuffered: a wait that found a message when it was first opened, accepted at that very instant. */
#define LAY_THERE(t) (!t.again && factseq < t.openedseq && factat <= t.openedat)
#define FOUND_SIGNAL (due < NWAIT && fact < NSIG && LAY_THERE(mem.wait[due]))

inline time_out(now)
{
	if
	:: due < NWAIT ->
		CHECK(law6_ends_once, mem.wait[due].status == OPEN);
		for (i : 0 .. NSIG - 1) {
			CHECK(law6_in_time_is_taken, !UNREAD(mem.sig[i]) || mem.sig[i].at >= mem.wait[due].deadline)
		}
		mem.wait[due].status = LATE;
		append(now)
	:: else -> resolve(EXPIRED, now); mem.hook.shown = EXPIRED
	fi;
	mem.stand = LATER(mem.stand, dueat);
	mem.opened = 1
}

#ifdef BREAK_LATE_TURN_DECIDES
#define FACT_FIRST (fact != NEVER && due == NEVER)
#else
#define FACT_FIRST (fact != NEVER && (due == NEVER || factat < dueat || FOUND_SIGNAL)) /* at equal times the deadline */
#endif

/* Turn.more: what there is to do now. */
inline look(now)
{
	find_pair(); find_due(now); find_fact(mem);
	t_more = (t_call || w < NWAIT || due != NEVER || fact != NEVER)
}

/* The fact of Turn.settleNext. A signal is then paired, if a wait takes it, before the author is called. */
inline take()
{
	mem.takento = factseq; mem.stand = LATER(mem.stand, factat);
	t_taken = 1; t_shown = 1;
	if
	:: fact == NSIG -> mem.hook.shown = mem.hook.state
	:: else
	fi
}

/* Turn.Decide, without its ending: withdrawals, then openings. */
inline decide(now)
{
	for (i : 0 .. NWAIT - 1) {
		if
		:: mem.wait[i].status == OPEN && (!d_wait[i] || d_end) ->
			mem.wait[i].status = WITHDREW; mem.opened = 1; append(now)
		:: else
		fi
	}
	for (i : 0 .. NWAIT - 1) {
		if
		:: d_wait[i] && !d_end && (mem.wait[i].status == 0 || mem.wait[i].status == WITHDREW) ->
			mem.wait[i].again = (mem.wait[i].status == WITHDREW);
			mem.wait[i].deadline = (mem.wait[i].again -> mem.wait[i].deadline : d_until[i]);
			mem.wait[i].openedat = OPENED(mem.wait[i].deadline, now);
			mem.wait[i].openedseq = mem.next; mem.wait[i].status = OPEN;
			mem.opened = 1;
			append(now)
		:: else
		fi
	}
	if
	:: d_create && mem.hook.state == ABSENT ->
		mem.hook.state = ACTIVE; mem.hook.shown = ACTIVE; mem.hook.expires = d_expires; mem.hook.dirty = 1;
		mem.hook.openedseq = mem.next; mem.hook.openedat = OPENED(d_expires, now);
		mem.opened = 1;
		append(now)
	:: else
	fi;
	if
	:: d_dispose && mem.hook.state == ACTIVE -> /* withdrawHook: past its deadline it expired, as callers were told */
		if
#ifndef BREAK_DISPOSE_IGNORES_DEADLINE
		:: PAST(mem.hook, now) -> resolve(EXPIRED, now)
#endif
		:: else -> resolve(DISPOSED, now)
		fi;
		mem.hook.shown = DISPOSED; mem.opened = 1
	:: else
	fi
}

/* run.continued: waits end with the generation; unread signals, the open hook and what was not shown yet go over. */
inline continue_as_new(now)
{
	mem.gen++; mem.first = mem.next; mem.opened = 0; /* mem.stand stays: the generation opens at the effective time */
	for (i : 0 .. NWAIT - 1) {
		mem.wait[i].status = 0; mem.wait[i].deadline = 0; mem.wait[i].openedseq = 0; mem.wait[i].openedat = 0;
		mem.wait[i].again = 0
	}
#ifdef BREAK_CONTINUE_SKIPS_FACTS
	mem.takento = mem.next;
#endif
	if
	:: mem.hook.state == ACTIVE ->
		mem.hook.openedat = mem.stand; mem.hook.openedseq = mem.first; mem.hook.dirty = 1;
#ifdef BREAK_CONTINUE_DROPS_HOOK
		resolve(RUNENDED, now); mem.hook.shown = ABSENT
#endif
	:: else
	fi;
	append(now)
}

inline end_generation(now)
{
	t_ended = 1;
	if
	:: d_end == CONTINUE -> continue_as_new(now)
	:: else ->
		close_hook(RUNENDED, now);
		mem.status = COMPLETED;
#ifdef BREAK_ENDING_FORGETS_UNREAD
		mem.backlog = 0;
#endif
		append(now)
	fi
}

/* State.nextDue */
inline next_due()
{
	mem.wake = (mem.hook.state == ACTIVE -> mem.hook.expires : NEVER);
	for (i : 0 .. NWAIT - 1) {
		if
		:: mem.wait[i].status == OPEN && mem.wait[i].deadline < mem.wake -> mem.wake = mem.wait[i].deadline
		:: else
		fi
	}
}

/* Turn.Finish, after the last look */
inline finish(now)
{
	CHECK(model_author_waits, t_ended || (t_cut && t_more) || t_calls == 0 ||
		mem.wait[0].status == OPEN || mem.wait[1].status == OPEN || (d_hook && mem.hook.state == ACTIVE));
	if
	:: t_taken && !t_ended -> mem.opened = 1; append(now) /* facts.taken */
	:: else
	fi;
	if
	:: ENDED(mem.status) -> mem.wake = NEVER
	:: !ENDED(mem.status) && ((t_cut && t_more) || t_ended) -> mem.wake = now
	:: else -> next_due()
	fi
}

/* for t.Next() { t.Decide(author(t.State())) }; a turn whose budget is used up is cut after its first call. */
inline take_turn(now, cut)
{
	t_call = !mem.opened; t_calls = 0; t_cut = 0; t_ended = 0; t_taken = 0; t_shown = 0;
	look(now);
	if
	:: mem.status == BLOCKED -> mem.status = RUNNING; append(now); t_call = (t_call || !t_more)
	:: else
	fi;
	do
	:: t_ended -> break
	:: else ->
		if
		:: t_call -> t_call = 0; t_go = 1
		:: !t_call && t_shown && w == NWAIT -> t_shown = 0; t_go = 1
		:: !t_call && w < NWAIT && (t_shown || !t_cut) -> pair(now); t_shown = 0; t_go = 1
		:: !t_call && w == NWAIT && !t_shown && !t_cut && FACT_FIRST -> take(); t_go = 0
		:: !t_call && w == NWAIT && !t_shown && !t_cut && !FACT_FIRST && due != NEVER -> time_out(now); t_go = 1
		:: else -> break
		fi;
		if
		:: t_go ->
			t_calls++;
			for (i : 0 .. NWAIT - 1) { d_wait[i] = 0; d_until[i] = NEVER }
			d_end = 0; d_create = 0; d_dispose = 0; d_hook = 0; d_expires = NEVER;
			author();
			decide(now);
			if
			:: d_end -> end_generation(now)
			:: else
			fi;
			t_cut = cut
		:: else
		fi;
		look(now)
	od;
	finish(now)
}
