#!/usr/bin/env bash
# Checks the model of the core with spin: each scenario must keep every law, and each variant with a planted mistake must
# break the law that it is planted against. README.md says what is modelled.
#
#   formal/check.sh             everything: about two minutes of processor time on two cores, less than 1 GB of memory
#   formal/check.sh FAILED_ATT  only the checks whose line holds the text; counter-examples are told as stories
#
# Needs spin and gcc; as root it installs them. Exit codes: 0 all as expected, 1 not, 2 something is missing.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")"

readonly jobs=2 depth=20000 memory=1500 limit=300 # at a time; steps; MB and seconds for one check
readonly only=${1:-}

# What to expect | scenario | flags. "holds": every law, over the whole state space. Else the law that must be broken, or
# what spin calls a deadlock and a thing that never happens. "limit" marks what the core does not promise.
checks() {
	cat <<-'END'
		holds|wake|
		holds|wake|-DTRAFFIC
		holds|life|-DFAULTS=2
		holds|life|-DFINE -DTHIRD=0
		holds|wait|-DFAULTS=1
		holds|wait|-DFAULTS=1 -DCLOCK_STEPS_BACK
		holds|wait|-DFAULTS=0 -DFINE
		holds|hook|-DFAULTS=1
		holds|life|-DKNOWN -DFAULTS=1
		holds|wait|-DKNOWN -DFAULTS=1
		holds|hook|-DKNOWN -DLAST=3 -DFAULTS=0
		holds|locks|
		holds|step|-DFAULTS=2
		holds|step|-DFAULTS=2 -DTIMED
		holds|step|-DFAULTS=1 -DEARLY -DSLOTS=2
		holds|step|-DFAULTS=1 -DFINE -DSLOTS=2
		holds|step|-DFAULTS=1 -DHOLD
		holds|child|-DUNKNOWN
		holds|child|-DPAUSED -DCRASHES=0
		holds|child|-DPAUSED -DUNKNOWN -DFENCED
		holds|call|
		law1_receipt_after_commit|life|-DBREAK_ANSWER_BEFORE_COMMIT
		law1_receipt_after_commit|life|-DBREAK_ANSWER_OF_FAILED_ATTEMPT
		law3_one_effect|life|-DBREAK_IDENTITY_PER_GENERATION
		law3_one_effect|life|-DBREAK_BATCH_IGNORES_ITSELF
		law3_one_effect|life|-DBREAK_ACCEPT_READS_IN_LOCK
		law3_first_receipt|life|-DBREAK_DUPLICATE_GETS_A_NEW_RECEIPT
		law3_conflict_never_success|life|-DBREAK_CONFLICT_IS_SUCCESS
		law4_known_before_ended|life|-DBREAK_ENDED_BEFORE_KNOWN
		skipped_is_not_unknown|life|-DBREAK_SKIPPED_IS_UNKNOWN
		law5_one_order|life|-DBREAK_NEWEST_FIRST
		law7_unread_counted|life|-DBREAK_TURN_WITHOUT_LOCK
		law7_unread_counted|life|-DBREAK_COMMITS_IN_TWO
		law7_unread_counted|life|-DBREAK_ENDING_FORGETS_UNREAD
		law7_nothing_lost|life|-DBREAK_CONTINUE_DROPS_UNREAD
		law7_wake_up|life|-DBREAK_ACCEPT_DOES_NOT_WAKE
		law7_wake_up|life|-DBREAK_TURN_READS_IN_LOCK
		ended_stays_ended|life|-DBREAK_BLOCK_BLINDLY -DTWO_TURNERS
		law5_one_order|wait|-DBREAK_TIME_IGNORES_LAST_EVENT -DCLOCK_STEPS_BACK
		law6_ends_once|wait|-DBREAK_TIMER_OF_A_DONE_WAIT
		law6_late_never_consumes|wait|-DBREAK_EXPIRED_WAIT_CONSUMES
		law6_late_never_consumes|wait|-DBREAK_OPENED_WHEN_THE_TURN_RUNS
		law6_in_time_is_taken|wait|-DBREAK_LATE_TURN_DECIDES
		law7_wake_up|wait|-DBREAK_WAKE_KEEPS_A_LATER_TIME
		law3_first_receipt|hook|-DBREAK_CANCEL_AGAIN_IS_ANOTHER_RECEIPT
		law7_nothing_lost|hook|-DBREAK_CONTINUE_SKIPS_FACTS
		law8_one_cause|hook|-DBREAK_CONTINUE_DROPS_HOOK
		law8_one_cause|hook|-DBREAK_CANCEL_LEAVES_HOOK
		law8_one_cause|hook|-DBREAK_ENDING_IGNORES_DEADLINE
		law8_one_cause|hook|-DBREAK_DISPOSE_IGNORES_DEADLINE
		law8_one_cause|hook|-DBREAK_TOKEN_FORGETS_CAUSE
		law8_one_cause|hook|-DBREAK_TIME_BEFORE_LOCK
		law8_decided_on_committed|hook|-DBREAK_ACCEPT_READS_IN_LOCK
		law5_one_order|life|-DKNOWN -DBREAK_KNOWN_WITHOUT_SEQ
		law3_one_effect|life|-DKNOWN -DBREAK_KNOWN_IDENTITY_UNCHECKED
		law7_unread_counted|life|-DKNOWN -DBREAK_HANDED_WITHOUT_SEQ
		law7_due_is_wake|life|-DBREAK_TURN_KEEPS_ITS_ENTRY
		law7_nothing_lost|life|-DKNOWN -DBREAK_HANDED_OVER_ONLY
		law7_due_is_wake|wait|-DKNOWN -DBREAK_KNOWN_WITHOUT_WAKE
		law8_one_cause|hook|-DKNOWN -DLAST=3 -DBREAK_KNOWN_HOOK_EXPIRED
		law8_one_cause|hook|-DKNOWN -DLAST=3 -DBREAK_FORESIGHT_UNCHECKED
		law8_one_cause|hook|-DKNOWN -DLAST=3 -DBREAK_STORED_TOO_LATE
		law9_one_outcome|step|-DFAULTS=1 -DFINE -DBREAK_SETTLED_WITHOUT_LOCK
		law9_one_outcome|step|-DFAULTS=1 -DBREAK_CLOSED_STEP_KEEPS_ITS_ROW
		law9_newest_attempt|step|-DFAULTS=1 -DBREAK_ATTEMPT_NOT_COMPARED
		law9_in_time|step|-DFAULTS=1 -DTIMED -DBREAK_OUTCOME_PAST_ITS_TIME
		law9_never_lost|step|-DFAULTS=1 -DBREAK_LOST_IS_NOT_DUE
		law9_one_begin|step|-DFAULTS=1 -DBREAK_UNSURE_IS_NOT_ASKED
		law9_one_begin|step|-DFAULTS=1 -DSLOTS=2 -DBREAK_UNSURE_IS_ANY_BEGIN
		law9_one_at_a_time|step|-DSLOTS=2 -DBREAK_RETURN_NAMES_NO_ATTEMPT
		law9_one_at_a_time|step|-DFAULTS=1 -DEARLY -DSLOTS=2 -DBREAK_UNTOLD_IS_ANY_BEGIN
		law9_places|step|-DFAULTS=1 -DEARLY -DBREAK_CLAIM_HOLDS_NO_ROOM
		law9_places|step|-DFAULTS=1 -DBREAK_DROPPED_TURN_KEEPS_ITS_PLACE
		law9_places|step|-DFAULTS=1 -DBREAK_UNSURE_GIVES_ITS_PLACE_BACK
		law9_replayed_once|step|-DHOLD -DBREAK_REPLAY_KEEPS_THE_ATTEMPT
		law10_started_once|child|-DBREAK_STARTED_WITHOUT_IDENTITY
		law10_told|child|-DSTAYS -DBREAK_REPORT_GOES_FIRST
		law10_told|child|-DSTAYS -DBREAK_REPORT_NEEDS_A_PARKED_TASK
		law10_told_once|child|-DBREAK_TOLD_WITHOUT_A_ROW
		law10_no_orphan|child|-DBREAK_END_TELLS_NOBODY
		law10_no_orphan|child|-DPAUSED -DCRASHES=0 -DBREAK_ORPHAN_IS_LEFT
		law10_no_foreign|child|-DBREAK_STOPS_ANY_RUN
		law10_nothing_left|child|-DBREAK_STOPPED_IS_NOT_DONE
		law11_in_order|call|-DLIVES -DBREAK_CLAIM_IGNORES_THE_ORDER
		law11_one_effect|call|-DLIVES -DBREAK_DELIVERED_WITHOUT_IDENTITY
		law11_one_outcome|call|-DBREAK_SETTLED_WITHOUT_A_ROW
		law11_tried_before_failed|call|-DBREAK_CRASHES_USE_IT_UP
		law11_delivered|call|-DBREAK_SETTLED_BEFORE_SENT
		limit law9_newest_attempt|step|-DFAULTS=1 -DFINE -DLIMIT_BEGUN_WHILE_SETTLED
		limit law10_no_orphan|child|-DPAUSED
		limit law10_no_orphan|child|-DPAUSED -DCRASHES=0 -DUNKNOWN
		limit law11_delivered|call|-DLIMIT_PAUSED_COURIER
		limit law11_delivered|call|-DLIMIT_CALL_THAT_CANCELS
		limit law8_one_cause|hook|-DLIMIT_PLAIN_READ
		limit law8_one_cause|hook|-DCLOCK_STEPS_BACK
		acceptance cycle|wake|-DBREAK_ACCEPT_DOES_NOT_WAKE
		acceptance cycle|wake|-DBREAK_TURN_OVERWRITES_WAKE
		acceptance cycle|wake|-DBREAK_FLOOR_NEVER_LOOKS_BACK
		acceptance cycle|wake|-DBREAK_NOBODY_POLLS
		acceptance cycle|wake|-DTRAFFIC -DBREAK_HOT_RUN_DOES_NOT_REST
		invalid end state|locks|-DBREAK_ROWS_AS_GIVEN
		invalid end state|locks|-DBREAK_INSERTS_AS_GIVEN
		invalid end state|locks|-DBREAK_ROWS_BEFORE_INSERTS
		invalid end state|locks|-DBREAK_TURN_WAITS_FOR_A_SECOND_RUN
		invalid end state|locks|-DBREAK_TOKENS_AS_WRITTEN
		invalid end state|locks|-DBREAK_DECIDED_AGAIN_WITH_TOKENS
	END
}

# unlisted names the variants of the scenarios that no check plants, and the laws that no variant breaks.
unlisted() {
	local name
	grep -ohE '(BREAK|LIMIT)_[A-Z_]+|\b(law[0-9]+_[a-z_]+|ended_stays_ended|skipped_is_not_unknown) =' ./*.pml | sed 's/ =//' |
		sort -u | while read -r name; do
		checks | grep -qE "(-D|^(limit )?)$name( |\\||\$)" || echo "no check for $name"
	done
}

# need installs what is missing, or says so.
need() {
	local missing=()
	command -v spin >/dev/null || missing+=(spin)
	command -v gcc >/dev/null || missing+=(gcc libc6-dev)
	[ "${#missing[@]}" -eq 0 ] && return
	if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
		apt-get install -y "${missing[@]}" >/dev/null 2>&1 ||
			{ apt-get update && apt-get install -y "${missing[@]}"; } >/dev/null 2>&1 || true
	fi
	if ! command -v spin >/dev/null || ! command -v gcc >/dev/null; then
		echo "formal/check.sh needs spin and gcc: apt-get install ${missing[*]}" >&2
		exit 2
	fi
}

# story tells the counter-example that spin found in the current folder, one line for each thing that happened.
story() {
	local scenario=$1
	shift
	[ -f "$scenario.pml.trail" ] || return 0
	spin "$@" -t "$scenario.pml" | sed -n '/^spin: trail ends/q; /^ltl\|^Never claim\|^spin: warning/d; s/^ */    /p'
}

# verdict judges what a search printed: "" or what is wrong with it.
verdict() {
	local expect=${1#limit } out=$2
	if grep -qE 'max search depth too small|MEMLIM|out of memory|aborting' "$out"; then
		echo "the search was cut short"
	elif [ "$expect" = holds ]; then
		grep -q 'errors: 0' "$out" && ! grep -q 'Search not completed' "$out" || grep -m1 '^pan:' "$out" || echo "no result"
	else
		grep -qE "^pan:[0-9]+: (assertion violated )?$expect" "$out" || grep -m1 '^pan:[0-9]' "$out" || echo "no law was broken"
	fi
}

# check runs one line of the table in a folder of its own and prints it. A file "passed" is left if it is as expected.
check() {
	local dir=$1 expect=$2 scenario=$3 search=(-DSAFETY -DNOCLAIM) with=() from=$EPOCHREALTIME wrong states
	shift 3
	mkdir "$dir" && cp ./*.pml "$dir" && cd "$dir"
	[ "$scenario" = wake ] && search=(-DNFAIR=2) with=(-a -f)
	{ spin "$@" -a "$scenario.pml" && gcc -O0 "${search[@]}" -DMEMLIM="$memory" -o pan pan.c &&
		timeout --foreground "$limit" ./pan -m"$depth" -w20 "${with[@]}"; } >out 2>&1 || echo "exit code $?" >>out
	wrong=$(verdict "$expect" out)
	states=$(awk '/states, stored/ {print $1; exit}' out)
	printf '%-6s %-5s %-52s %-34s %8s states %5.1f s\n' "${wrong:+FAILED}" "$scenario" "$*" "$expect" "${states:-0}" \
		"$(awk "BEGIN {print $EPOCHREALTIME - $from}")" | sed 's/^      /ok    /'
	if [ -z "$wrong" ]; then
		touch passed
	else
		echo "  expected: $expect; instead: $wrong"
		[ -n "${states:-}" ] || tail -n 20 out
	fi
	[ -z "$wrong" ] && [ -z "$only" ] || story "$scenario" "$@"
	rm -f pan pan.* ./*.pml
}

need
work=$(mktemp -d "${TMPDIR:-/tmp}/flowgate-model-XXXXXX")
set -m # a group of its own for each check, so that ending this script ends them
finish() {
	local group
	exec 2>/dev/null # the shell would name each job that is ended
	for group in $(jobs -p); do kill -- "-$group" 2>/dev/null || true; done
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# main is read whole before it runs, so that a change of this file meanwhile does no harm.
main() {
	local count=0 running=0 failed expect scenario flags started=$EPOCHREALTIME
	while IFS='|' read -r expect scenario flags; do
		[[ "$expect $scenario $flags" == *"$only"* ]] || continue
		if [ "$running" -ge "$jobs" ]; then
			wait -n || true
			running=$((running - 1))
		fi
		# shellcheck disable=SC2086 # flags are words
		check "$work/$count" "$expect" "$scenario" $flags &
		count=$((count + 1)) running=$((running + 1))
	done < <(checks)
	wait
	[ -n "$only" ] || unlisted | tee "$work/unlisted"

	failed=$((count - $(find "$work" -name passed | wc -l)))
	awk "BEGIN {printf \"%d checks, %d failed, %.0f s\n\", $count, $failed, $EPOCHREALTIME - $started}"
	[ "$failed" -eq 0 ] && [ "$count" -gt 0 ] && [ ! -s "$work/unlisted" ]
}
main; exit
