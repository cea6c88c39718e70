package app_test

import (
	"fmt"
	"net/url"
	"strings"
)

// use is one hook whose token is used in every way.
type use struct {
	n                int
	kind, run, hook  string
	token            string
	minted           bool
	good, bad, key   string // marks: of an answer that is taken, of everything that is refused, of keys in it
	digits, badDigit string // marks in numbers
}

func (u use) path() string   { return "/callbacks/flow/hooks/" + u.token }
func (u use) runURL() string { return "/v1/runs/" + u.run }

// answer is the payload that is taken.
func (u use) answer() string {
	return fmt.Sprintf(`{"mark":%q,"n":%s,"deep":[{"a":[%q]}]}`, u.good, u.digits, "in "+u.good)
}

// other is a payload for which it is too late, or never the time.
func (u use) other() string {
	return fmt.Sprintf(`{"mark":%q,"n":%s,"token":[%q]}`, u.bad, u.badDigit, u.token)
}

// way is one way to use a token, or a payload.
type way struct {
	want    int // status for a hook to answer; 0: it depends
	request func(u use) string
	// minted: for a token that can be recognised as one, because it is put where IDs, names and fields are.
	minted bool
	every  int  // of the hooks, 0 for each
	points bool // its refusal names keys of the payload
	reads  bool // its answer shows payloads to whom may read the run
}

func raw(method, target, body string, headers ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: gate\r\n", method, target)
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	if body != "" || method == "POST" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	return b.String() + "\r\n" + body
}

// ask, tell and sendTo make ways of what depends on the hook only.
func ask(want int, target func(use) string) way {
	return way{want: want, request: func(u use) string { return raw("GET", target(u), "") }}
}

func tell(want int, target, body func(use) string, headers ...string) way {
	return way{want: want, request: func(u use) string { return raw("POST", target(u), body(u), filled(headers, u)...) }}
}

func callback(want int, body func(use) string, headers ...string) way {
	return tell(want, use.path, body, headers...)
}

func asToken(want int, spell func(string) string) way {
	return tell(want, func(u use) string { return "/callbacks/flow/hooks/" + spell(u.token) }, use.other)
}

// to fills a pattern: T is the token, B the mark of what is refused, K that of its keys, R the run, H the hook.
func to(pattern string) func(use) string {
	return func(u use) string { return fill(pattern, u) }
}

func fill(pattern string, u use) string {
	return strings.NewReplacer("<T>", u.token, "<B>", u.bad, "<K>", u.key, "<R>", u.run, "<H>", u.hook, "<9>", u.badDigit).Replace(pattern)
}

func filled(patterns []string, u use) []string {
	out := make([]string, len(patterns))
	for i, p := range patterns {
		out[i] = fill(p, u)
	}
	return out
}

func (w way) onlyMinted() way { w.minted = true; return w }
func (w way) now(n int) way   { w.every = n; return w }
func (w way) naming() way     { w.points = true; return w }
func (w way) reading() way    { w.reads = true; return w }

func nested(u use) string {
	return strings.Repeat("[", 70) + fmt.Sprintf("%q", u.bad+u.token) + strings.Repeat("]", 70)
}

// huge is one byte more than a body may have.
func huge(u use) string { return fmt.Sprintf("%-*q", 256<<10+1, u.bad+strings.Repeat(u.token, 4000)) }

func changed(token string) string {
	last := "A"
	if strings.HasSuffix(token, last) {
		last = "B"
	}
	return token[:len(token)-1] + last
}

func escaped(token string) string { return bytewise(token, "%%%02x") }

// before are the ways that leave the hook as it is.
var before = []way{
	// another method, another type, another form
	ask(405, use.path),
	{want: 405, request: func(u use) string { return raw("HEAD", u.path(), "") }},
	{want: 405, request: func(u use) string { return raw("PUT", u.path(), u.other()) }},
	{want: 405, request: func(u use) string { return raw("OPTIONS", u.path(), "", "Origin: http://"+u.bad) }},
	callback(415, use.other, "Content-Type: text/<T>"),
	callback(415, use.other, "Content-Encoding: gzip"),
	callback(400, to("")),
	callback(400, to(`{"mark":"<B>","token":["<T>"]} <B>`)),
	callback(400, to(`{"mark":"<B>`)),
	callback(400, to("<T>")),
	callback(400, to(`{"mark":"<B>","x":["<T>","\u0000"]}`)),
	callback(400, to(`{"mark":"<B>","x":["<T>\ud800"]}`)),
	callback(400, to(`{"<K>":1,"<K>":2}`)).naming(),
	callback(400, to(`{"a":{"<T>":{"<T>":"\u0000"}}}`)).onlyMinted(),
	callback(400, to("\xef\xbb\xbf\"<B>\"")),
	callback(400, to("[\"<B>\xff<T>\"]")),
	callback(400, to(`{"mark":"<B>","n":1e99<9>}`)),
	callback(400, to(`{"mark":"<B>","n":<9><9><9><9><9><9>}`)),
	callback(400, nested),
	callback(422, to(`{"n":"<B><T>"}`)).now(4),
	callback(422, to(`{"mark":"<B>","<K>":"<T>"}`)).naming().now(4),
	callback(422, to(`{"mark":"<B>","<T>":<9>}`)).onlyMinted().now(4),
	callback(413, huge).now(100),
	// what is nearly the token
	asToken(404, func(t string) string { return t + "0" }),
	asToken(404, func(t string) string { return t[:len(t)-1] }),
	asToken(404, func(t string) string { return t[:30] }),
	asToken(404, changed),
	asToken(404, strings.ToUpper).now(4),
	asToken(404, strings.ToLower),
	asToken(404, escaped),
	asToken(404, func(t string) string { return url.PathEscape(escaped(t)) }),
	asToken(404, func(t string) string { return t + "." }),
	asToken(404, func(t string) string { return t + "/" }),
	asToken(404, func(t string) string { return t + "/" + t }),
	// where it does not belong
	tell(401, to("/callbacks/flow/hooks?token=<T>"), use.other),
	tell(401, to("/callbacks/flow/hooks"), use.other, "Authorization: Basic <T>"),
	tell(404, to("/callbacks/flow/hooks"), use.other, "Authorization: Bearer x<T>").now(4),
	tell(404, to("/callbacks/flow/hooks/x"), use.other, "Cookie: t=<T>", "Referer: http://x/<T>", "User-Agent: <T>",
		"X-Request-Id: <T>", "X-Forwarded-For: <T>", "Traceparent: <T>", "Idempotency-Key: <T>", "X-<K>: <B>"),
	ask(404, to("/<T>/<T>?<T>=<T>")),
	ask(404, to("/v1/<T>")),
	ask(404, to("/approvals/<T>")),
	ask(404, to("//<T>/../<T>")),
	ask(400, to("/v1/runs/<T>")).onlyMinted(),
	ask(400, to("/v1/runs/<T>/history")).onlyMinted(),
	ask(400, to("/v1/runs/<R>/hooks/<T>")).onlyMinted(),
	ask(400, to("/v1/runs/<R>/signals/<T>")).onlyMinted(),
	ask(400, to("/v1/workflows/<T>/interface")).onlyMinted(),
	ask(400, to("/v1/runs/<R>/queries/<T>")).onlyMinted(),
	tell(404, to("/v1/runs/<R>/queries/none"), to(`{"mode":"<B><T>","n":<9>}`)),
	ask(400, to("/v1/runs?cursor=<T>")),
	ask(400, to("/v1/runs?status=<T>")),
	ask(400, to("/v1/runs?limit=<T>")),
	ask(400, to("/v1/runs?<T>=1")).onlyMinted(),
	ask(400, to("/v1/runs?workflow=<T>")).onlyMinted(),
	ask(400, to("/v1/runs?label=team=<T>")).onlyMinted(),
	ask(400, to("/v1/runs?label=<T>")),
	ask(400, to("/v1/hooks?state=<T>")),
	ask(400, to("/v1/hooks?older_than=<T>")),
	ask(400, to("/v1/runs/<R>?wait=<T>")),
	ask(400, to("/v1/runs/<R>/history?cursor=<T>")),
	ask(400, to("/v1/runs/%zz<T>")),
	tell(400, to("/v1/runs/<R>/cancel"), to(`{"reason":"<B> <T>"}`)).onlyMinted(),
	tell(400, to("/v1/runs/<R>/cancel"), to(`{"reason":"<B>\n"}`)),
	tell(400, to("/v1/runs/<T>/retry"), to("{}")).onlyMinted(),
	tell(404, to("/v1/hooks/dispose"), to(`{"token":"x<T>"}`)).now(4),
	tell(400, to("/v1/hooks/dispose"), to(`{"token":["<T>"]}`)),
	tell(400, to("/v1/hooks/dispose"), to(`{"token":"<T>","<K>":"<B>"}`)).naming(),
	tell(400, to("/v1/hooks/dispose"), to(`{"token":"<T>`)),
	tell(400, to("/v1/hooks/dispose"), to(`{"<T>":1}`)).onlyMinted(),
	// starts and signals that are refused
	tell(400, to("/v1/runs"), to(`{"workflow":"<T>","input":"<B>"}`)).onlyMinted(),
	tell(400, to("/v1/runs"), to(`{"workflow":"leak.author","run_id":"<T>","input":{"mode":"<B>"}}`)).onlyMinted(),
	tell(400, to("/v1/runs"), to(`{"workflow":"leak.author","version":"<T>","input":{"mode":"<B>"}}`)).onlyMinted(),
	tell(400, to("/v1/runs"), to(`{"workflow":"leak.author","labels":{"a":"see <T>"},"input":{"mode":"<B>"}}`)).onlyMinted(),
	tell(400, to("/v1/runs"), to(`{"workflow":"leak.author","labels":{"<T>":"a"},"input":{"mode":"<B>"}}`)),
	tell(400, to("/v1/runs"), to(`{"workflow":"leak.author","input":{"mode":"<B>","mode":"<T>"}}`)),
	tell(400, to("/v1/runs"), to(`{"workflow":"leak.author","input":{"mode":"<B>\u0000<T>"}}`)),
	tell(404, to("/v1/runs"), to(`{"workflow":"leak.none","input":{"mode":"<B><T>","n":<9>}}`)).now(4),
	tell(422, to("/v1/runs"), to(`{"workflow":"leak.doors","input":{"count":"<B>","kind":"<T>","<K>":<9>}}`)).now(4),
	tell(409, to("/v1/runs"), to(`{"workflow":"leak.doors","run_id":"<R>","input":{"count":<9>,"kind":"<B>"}}`)).now(5),
	tell(404, to("/v1/runs/nobody/signals/note"), use.other).now(4),
	tell(400, to("/v1/runs/nobody/signals/note?idempotency_key=<T>"), use.other).onlyMinted(),
	tell(400, to("/v1/runs/<R>/signals/note"), use.other, "Idempotency-Key: <T>").onlyMinted(),
	tell(400, to("/v1/runs/nobody/signals/<T>"), use.other).onlyMinted(),
	tell(0, to("/v1/runs/<R>/signals/none"), use.other).now(4),
	tell(0, to("/v1/runs/<R>/signals/strict?idempotency_key=s<H>"), to(`{"mark":<9>,"x":"<B><T>"}`)).now(4),
	tell(0, to("/v1/runs/<R>/signals/note?idempotency_key=s<H>"), use.answer).now(10),
	tell(0, to("/v1/runs/<R>/signals/note?idempotency_key=s<H>"), use.other).now(10),
	tell(400, to("/v1/runs/<R>/hooks/<H>/resume"), to(`["<B><T>"`)),
	tell(0, to("/v1/runs/<R>/hooks/<H>/resume"), to(`["<B><T>"]`)).now(4),
	ask(200, use.runURL).reading().now(10),
	ask(200, to("/v1/runs/<R>/history?limit=200")).reading().now(10),
	ask(200, to("/v1/runs/<R>/hooks/<H>")).now(4),
	ask(200, to("/v1/hooks?limit=200")).now(50),
}

// after are the ways that change the hook, by its kind, and those that come too late.
var after = map[string][]way{
	toAnswer: {
		callback(202, use.answer),
		callback(202, use.answer),
		tell(202, to("/callbacks/flow/hooks"), use.answer, "Authorization: Bearer <T>").now(4),
		callback(409, use.other),
		{request: func(u use) string { return raw("DELETE", u.path(), "") }},
		tell(409, to("/v1/hooks/dispose"), to(`{"token":"<T>"}`)),
		tell(409, to("/v1/runs/<R>/hooks/<H>/resume"), use.other).now(4),
		tell(409, to("/v1/runs/<R>/hooks/<H>/dispose"), to("")).now(4),
		ask(200, to("/v1/runs/<R>/history?limit=200")).reading().now(50),
	},
	toDispose: {
		{want: 200, request: func(u use) string { return raw("DELETE", u.path(), "") }},
		{want: 200, request: func(u use) string { return raw("DELETE", u.path(), "") }},
		tell(200, to("/v1/hooks/dispose"), to(`{"token":"<T>"}`)),
		callback(410, use.other),
		tell(410, to("/callbacks/flow/hooks"), use.other, "Authorization: Bearer <T>"),
	},
	toExpire: {
		callback(410, use.other),
		{want: 410, request: func(u use) string { return raw("DELETE", u.path(), "") }},
	},
	toEnd: {
		callback(410, use.other),
		tell(410, to("/v1/hooks/dispose"), to(`{"token":"<T>"}`)),
		tell(410, to("/v1/runs/<R>/signals/note?idempotency_key=late<H>"), use.other),
	},
	toInternal: {
		callback(404, use.other),
		tell(202, to("/v1/runs/<R>/hooks/<H>/resume"), use.answer),
		callback(404, use.other),
		tell(409, to("/v1/hooks/dispose"), to(`{"token":"<T>"}`)),
	},
}

// toAdmin are questions to the listener of probes.
var toAdmin = []way{
	ask(404, to("/<T>")), ask(404, to("//<T>")), ask(404, to("/x/../<T>")), ask(200, to("/livez?<T>=<T>")),
	ask(404, to("/livez/<T>")), ask(200, to("/metrics?token=<T>")), ask(404, to("/metrics/<T>")), ask(404, to("/debug/pprof/<T>")),
	tell(405, to("/livez"), use.other, "Authorization: Bearer <T>"),
	tell(404, to("/callbacks/flow/hooks/<T>"), use.other),
}

// broken are bytes that are no request, or not one that is served.
var broken = []string{
	"POST <P> HTTP/9.9\r\nHost: a\r\n\r\n",
	"POST <P> HTTP/<T>\r\nHost: a\r\n\r\n",
	"POST <P>\x7f HTTP/1.1\r\nHost: a\r\n\r\n",
	"POST <P>\r\nHost: a\r\n\r\n",
	"<T>\r\n\r\n",
	"<T> / HTTP/1.1\r\nHost: a\r\n\r\n",
	"BREW <P> HTTP/1.1\r\nHost: <T>\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: <T>:<T>\r\n\r\n",
	"POST http://<T>:<T>/ HTTP/1.1\r\nHost: a\r\n\r\n",
	"POST <P> HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer <T>\x01\r\n\r\n",
	"POST <P> HTTP/1.1\r\nHost: a\r\n<T>\r\n\r\n",
	"POST <P> HTTP/1.1\r\nHost: a\r\nX <T>: 1\r\n\r\n",
	"POST <P> HTTP/1.1\r\nHost: a\r\nX: 1\r\n <T>\r\n\r\n",
	"POST <P> HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer <T>\r\nAuthorization: Bearer <T>\r\n\r\n",
	"POST <P> HTTP/1.1\r\nHost: a\r\nContent-Length: <T>\r\n\r\n",
	"POST <P> HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: <T>\r\n\r\n",
	"POST <P> HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n<T>\r\n",
	"POST <P> HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;<T>\r\n1\r\n0\r\nContent-Length: <T>\r\n\r\n",
	"POST <P> HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n<T>",
	"POST <P> HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 90\r\n\r\n<B>",
	"POST <P> HTTP/1.1\r\nHost: a\r\nExpect: <T>\r\nContent-Length: 0\r\n\r\n",
	"POST <P> HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n<B><T>",
	"GET /<T> HTTP/1.1\r\nHost: a\r\nX-Long: <LONG>\r\n\r\n",
	"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n<T>",
	"\x16\x03\x01<T><T>",
}
