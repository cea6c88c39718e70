/*
 * Who waits for whom: the transactions of docs/locking.md over two runs that exist, two that are being inserted, and two
 * tokens of hooks. Nobody gives up waiting here, so a deadlock is an invalid end state. Which runs and tokens a transaction
 * wants is left open, within what the law allows; each process does one transaction, which commits or rolls back.
 */
#define KEYS   4 /* in key order: 0 and 1 exist, 2 and 3 do not */
#define TOKENS 2 /* in order of their digests */

#define ABSENT    0
#define INSERTING 1
#define EXISTS    2

byte run_is[KEYS];
byte row[KEYS];     /* who holds the row; 0: nobody */
byte token[TOKENS]; /* who inserted it; 0: nobody; TAKEN: a committed transaction */
#define TAKEN 99

hidden byte i;

/* INSERT … ON CONFLICT DO NOTHING waits for whoever is inserting the same key. */
inline insert(k)
{
	if
	:: atomic { run_is[k] == ABSENT -> run_is[k] = INSERTING; row[k] = _pid; printf("%d inserts run %d\n", _pid, k) }
	:: run_is[k] == EXISTS || (run_is[k] == INSERTING && row[k] == _pid)
	fi
}

/* FOR UPDATE; a row that is not committed, or not there, is not found. */
inline lock_waiting(k)
{
	if
	:: atomic { run_is[k] == EXISTS && row[k] == 0 -> row[k] = _pid; printf("%d locks run %d\n", _pid, k) }
	:: row[k] == _pid || run_is[k] != EXISTS
	fi
}

inline lock_skipping(k)
{
	if
	:: atomic { run_is[k] == EXISTS && row[k] == 0 -> row[k] = _pid; printf("%d locks run %d\n", _pid, k) }
	:: atomic { run_is[k] != EXISTS || row[k] != 0 -> skip }
	fi
}

inline want_token(t)
{
	if
	:: atomic { token[t] == 0 -> token[t] = _pid; printf("%d inserts token %d\n", _pid, t) }
	:: token[t] == TAKEN || token[t] == _pid
	fi
}

/* The rollback to the savepoint before the tokens. */
inline give_tokens_back()
{
	d_step {
		for (i : 0 .. TOKENS - 1) { token[i] = (token[i] == _pid -> 0 : token[i]) }
		i = 0
	}
}

inline end_transaction()
{
	if
	:: d_step {
			for (i : 0 .. KEYS - 1) {
				run_is[i] = (row[i] == _pid && run_is[i] == INSERTING -> EXISTS : run_is[i]);
				row[i] = (row[i] == _pid -> 0 : row[i])
			}
			for (i : 0 .. TOKENS - 1) { token[i] = (token[i] == _pid -> TAKEN : token[i]) }
			i = 0
		}
	:: d_step {
			for (i : 0 .. KEYS - 1) {
				run_is[i] = (row[i] == _pid && run_is[i] == INSERTING -> ABSENT : run_is[i]);
				row[i] = (row[i] == _pid -> 0 : row[i])
			}
			for (i : 0 .. TOKENS - 1) { token[i] = (token[i] == _pid -> 0 : token[i]) }
			i = 0
		}
	fi
}

/* A part of a list, in its order: of two processes of a kind one wants everything, the other one any part. */
#define SOME(what) if :: true -> what :: other fi

/* AcceptTx: new run rows first, then all existing rows of its messages, waiting, each in key order. */
proctype Host(bit other)
{
#ifdef BREAK_ROWS_BEFORE_INSERTS
	if
	:: other -> SOME(lock_waiting(0)); SOME(lock_waiting(1))
	:: else
	fi;
#endif
	if
#ifdef BREAK_INSERTS_AS_GIVEN
	:: other -> SOME(insert(3)); SOME(insert(2))
#endif
	:: else -> SOME(insert(2)); SOME(insert(3))
	fi;
	if
#ifdef BREAK_ROWS_AS_GIVEN
	:: other -> SOME(lock_waiting(2)); SOME(lock_waiting(1)); SOME(lock_waiting(0))
#endif
	:: else -> SOME(lock_waiting(0)); SOME(lock_waiting(1)); SOME(lock_waiting(2))
	fi;
	end_transaction()
}

/* The accept lane: new rows first; existing ones it does not wait for. */
proctype Lane(bit other)
{
	SOME(insert(2)); SOME(insert(3));
	lock_skipping(0); lock_skipping(1); lock_skipping(2);
	end_transaction()
}

/* The side lane, and what blocks a run: one run, waiting. */
proctype Side()
{
	if
	:: lock_waiting(1)
	:: insert(2); lock_waiting(2)
	fi;
	end_transaction()
}

/* A turn: what it claimed, and then tokens; or (AdvanceOne) one run that it waits for. */
proctype Turn(bit other)
{
	if
	:: SOME(lock_skipping(1));
#ifdef BREAK_TURN_WAITS_FOR_A_SECOND_RUN
		SOME(lock_waiting(0))
#else
		SOME(lock_skipping(0))
#endif
	:: lock_waiting(1)
	fi;
	if
#ifdef BREAK_TOKENS_AS_WRITTEN
	:: other -> SOME(want_token(1)); SOME(want_token(0))
#endif
	:: else -> SOME(want_token(0)); SOME(want_token(1))
	fi;
	if /* its code is told that a token is taken, and may want others */
	:: true ->
#ifndef BREAK_DECIDED_AGAIN_WITH_TOKENS
		give_tokens_back();
#endif
		SOME(want_token(0)); SOME(want_token(1))
	:: true
	fi;
	end_transaction()
}

init
{
	atomic {
		run_is[0] = EXISTS; run_is[1] = EXISTS;
		if /* any four of them */
		:: run Host(0); run Host(1); run Lane(1); run Side()
		:: run Host(0); run Host(1); run Lane(1); run Turn(0)
		:: run Host(0); run Host(1); run Side(); run Turn(0)
		:: run Host(0); run Host(1); run Turn(0); run Turn(1)
		:: run Host(0); run Lane(1); run Side(); run Turn(0)
		:: run Host(0); run Lane(1); run Turn(0); run Turn(1)
		:: run Host(0); run Side(); run Turn(0); run Turn(1)
		:: run Lane(1); run Side(); run Turn(0); run Turn(1)
		fi
	}
}
