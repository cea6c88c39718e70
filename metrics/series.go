package metrics

import "github.com/prometheus/client_golang/prometheus"

const prefix = "flowgate_"

// described are all series, and labelled the names of their labels.
var (
	described []*prometheus.Desc
	labelled  = map[string][]string{}
)

func series(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(prefix+name, help, labels, nil)
	described, labelled[prefix+name] = append(described, d), labels
	return d
}

// The series of a process. docs/operations.md says what each is good for.
var (
	buildInfo = series("build_info", "1, with the version of the program.", "version")

	requests     = series("http_requests_total", "Requests answered, by pattern of the route.", "route", "method", "code")
	requestTime  = series("http_request_duration_seconds", "From the head of a request until its answer.", "route")
	inFlight     = series("http_requests_in_flight", "Requests in work.")
	httpVerdicts = series("http_verdicts_total", "Answers over HTTP by verdict, whoever decided.", "verdict")
	authFailures = series("auth_failures_total", "Callers that were refused for their credential.", "reason")
	sigFailures  = series("signature_failures_total", "Requests to a configured source that are not verified.", "source", "reason")
	events       = series("ingress_events_total", "Verified requests to a configured source.", "source", "outcome")
	limited      = series("rate_limited_total", "Requests and connections refused by a limit.", "limit")
	limiterKeys  = series("limiter_keys", "Keys that limits remember.", "map")
	overflows    = series("limiter_overflows_total", "Keys for which limits had no room.", "map")
	pageViews    = series("page_views_total", "Looks at approval pages.")
	prefetches   = series("page_prefetches_total", "Requests for an approval page that a browser made on its own account.")
	pageDecides  = series("page_decisions_total", "Decisions sent from approval pages.", "verdict")

	receipts    = series("receipts_total", "Messages, by what their senders were told.", "kind", "verdict")
	conflicts   = series("conflicts_total", "Messages to runs whose identity stands for something else.", "kind")
	unresolved  = series("unresolved_tokens_total", "Tokens of hooks that stand for nothing where they were shown.", "reason")
	commitTime  = series("receipt_commit_seconds", "From the acceptance of a message until its commit was known.")
	resumeTime  = series("receipt_to_resume_seconds", "From when a run became due until its turn was committed.")
	turns       = series("turns_total", "Turns of runs.", "outcome")
	turnTime    = series("turn_seconds", "Deciding a turn, which is mostly the workflow's code.")
	attempts    = series("step_attempts_total", "Attempts of steps.", "outcome")
	spansLost   = series("turn_spans_lost_total", "Turns without a span because too many were waiting for theirs.")
	auditLost   = series("audit_refusals_lost_total", "Refusals that are missing from the audit trail.")
	dbErrors    = series("db_errors_total", "Errors of transactions and of look-ups by key.", "class")
	abandoned   = series("abandoned_calls", "Calls of workflow code that ran too long and have not returned.", "kind")
	waiters     = series("waiters", "Callers that wait for an end or an answer.")
	acceptQueue = series("accept_queue_seconds", "95th percentile of the wait before messages are stored, while many come.")
)

// The series of a database. They are there only while it answers.
var (
	databaseUp    = series("metrics_database_up", "Whether the database told these figures within 500 ms.")
	clockSkew     = series("database_clock_skew_seconds", "How far the database's clock is ahead of this process's.")
	hooksActive   = series("hooks_active", "Open hooks, at most 100,001.")
	hookOldest    = series("hook_oldest_age_seconds", "Age of the oldest open hook.")
	hooksOverdue  = series("hooks_overdue", "Open hooks whose time is over.")
	signalsUnread = series("signals_unread", "Unread signals of runs under way.")
	runs          = series("runs", "The newest runs, at most 100,001, by status.", "status")
	runsBlocked   = series("runs_blocked", "Blocked runs by cause.", "cause")
	withoutCode   = series("runs_without_code", "Due runs whose version no live process has.")
	dueOldest     = series("runs_due_oldest_age_seconds", "For how long a run is due that a live process could advance.")
	deadLetters   = series("dead_letters", "The newest dead letters of steps, by state.", "state")
	inboxMessages = series("inbox_messages", "Messages of the inbox that are not settled.", "state")
	hooksByKey    = series("hooks_by_key", "Hooks by the key of their token's digest.", "key")
)
