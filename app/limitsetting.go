package app

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/gateway"
	"github.com/flowgate-go/flowgate/quota/redis"
)

// Names of settings of limits, for refusals.
const (
	settingLimitConnections = "FLOWGATE_LIMIT_CONNECTIONS"
	settingLimitInFlight    = "FLOWGATE_LIMIT_IN_FLIGHT"
	settingLimitRequests    = "FLOWGATE_LIMIT_REQUESTS"
	settingLimitFailures    = "FLOWGATE_LIMIT_FAILURES"
	settingLimitLookups     = "FLOWGATE_LIMIT_LOOKUPS"
	settingLimitSuspects    = "FLOWGATE_LIMIT_SUSPECT_LOOKUPS"
	settingLimitHook        = "FLOWGATE_LIMIT_HOOK"
	settingLimitNamespace   = "FLOWGATE_LIMIT_NAMESPACE"
	settingLimitShare       = "FLOWGATE_LIMIT_NAMESPACE_SHARE"
	settingLimitPrincipal   = "FLOWGATE_LIMIT_PRINCIPAL"
	settingLimitSource      = "FLOWGATE_LIMIT_SOURCE"
	settingLimitWait        = "FLOWGATE_LIMIT_ACCEPT_WAIT"
	settingQuotaURL         = "FLOWGATE_QUOTA_REDIS_URL"
	settingQuotaNamespace   = "FLOWGATE_QUOTA_NAMESPACE"
)

// limitSettings say how much of what the gateway serves.
type limitSettings struct {
	LimitConnections    string `setting:"FLOWGATE_LIMIT_CONNECTIONS" default:"1024" help:"Most open connections of one address, 1 to 4096. Trusted proxies have no bound."`
	LimitInFlight       string `setting:"FLOWGATE_LIMIT_IN_FLIGHT" default:"1024" help:"Most requests in work at once, 16 to 65536; one more is answered 503."`
	LimitRequests       string `setting:"FLOWGATE_LIMIT_REQUESTS" default:"20000/s:20000" help:"Requests that are given to the engine: in the long run, and at once after a rest. A rate is NUMBER/s:BURST, or /m or /h; off is none."`
	LimitFailures       string `setting:"FLOWGATE_LIMIT_FAILURES" default:"1/s:30" help:"Answers 400, 401 and 404 to one address without a known credential; more are 429."`
	LimitLookups        string `setting:"FLOWGATE_LIMIT_LOOKUPS" default:"1000/s:1000" help:"Look-ups of tokens that turn out to be unknown."`
	LimitSuspectLookups string `setting:"FLOWGATE_LIMIT_SUSPECT_LOOKUPS" default:"50/s:100" help:"The same for all addresses together that have spent what FLOWGATE_LIMIT_FAILURES lets them; one has a fifth."`
	LimitHook           string `setting:"FLOWGATE_LIMIT_HOOK" default:"20/s:256" help:"Uses of one hook's token."`
	LimitNamespace      string `setting:"FLOWGATE_LIMIT_NAMESPACE" default:"off" help:"Requests of one namespace."`
	LimitNamespaceShare string `setting:"FLOWGATE_LIMIT_NAMESPACE_SHARE" default:"25" help:"How much of FLOWGATE_LIMIT_IN_FLIGHT one namespace may use, in percent, 1 to 100; at least 8 requests."`
	LimitPrincipal      string `setting:"FLOWGATE_LIMIT_PRINCIPAL" default:"5000/s:10000" help:"Requests of one caller of the API."`
	LimitSource         string `setting:"FLOWGATE_LIMIT_SOURCE" default:"1000/s:5000" help:"Verified requests of one source of signed webhooks."`
	LimitAcceptWait     string `setting:"FLOWGATE_LIMIT_ACCEPT_WAIT" default:"1s" help:"How long messages may wait before the API is answered 503; callbacks are at twice as long. 10ms to 1m."`
	QuotaRedisURL       string `setting:"FLOWGATE_QUOTA_REDIS_URL" placeholder:"URL" help:"Redis that counts FLOWGATE_QUOTA_NAMESPACE for all gateways, redis://user:password@host:6379/0 or rediss://."`
	QuotaNamespace      string `setting:"FLOWGATE_QUOTA_NAMESPACE" placeholder:"RATE" help:"Requests of one namespace over all gateways that share a Redis, such as 100/s:200."`
}

const (
	maxConnectionsOfAddress = 4096
	maxInFlight             = 1 << 16
	maxBurst                = 1_000_000
)

// limitParts are the settings of limits, checked.
type limitParts struct {
	limits   gateway.Limits
	inFlight int
	quota    *redis.Quota // nil: none
}

// close gives back what the settings led to.
func (p limitParts) close() {
	if p.quota != nil {
		_ = p.quota.Close() // nothing is under way in it
	}
}

// gatewayQuota is the quota as the gateway takes it: none is nil there, too.
func (p limitParts) gatewayQuota() gateway.Quota {
	if p.quota == nil {
		return nil
	}
	return p.quota
}

// limits checks the settings.
func (s limitSettings) limits() (p limitParts, err error) {
	l := &p.limits
	for _, whole := range []struct {
		name, text  string
		least, most int
		to          *int
	}{
		{settingLimitConnections, s.LimitConnections, 1, maxConnectionsOfAddress, &l.Connections},
		{settingLimitInFlight, s.LimitInFlight, 16, maxInFlight, &p.inFlight},
		{settingLimitShare, s.LimitNamespaceShare, 1, 100, &l.NamespaceShare},
	} {
		if *whole.to, err = parseWhole(whole.name, whole.text, whole.least, whole.most); err != nil {
			return p, err
		}
	}
	for _, rate := range []struct {
		name, text string
		to         *gateway.Rate
	}{
		{settingLimitRequests, s.LimitRequests, &l.Requests},
		{settingLimitFailures, s.LimitFailures, &l.Failures},
		{settingLimitLookups, s.LimitLookups, &l.Lookups},
		{settingLimitSuspects, s.LimitSuspectLookups, &l.SuspectLookups},
		{settingLimitHook, s.LimitHook, &l.Hook},
		{settingLimitNamespace, s.LimitNamespace, &l.Namespace},
		{settingLimitPrincipal, s.LimitPrincipal, &l.Principal},
		{settingLimitSource, s.LimitSource, &l.Source},
	} {
		if *rate.to, err = parseRate(rate.name, rate.text); err != nil {
			return p, err
		}
	}
	if l.AcceptWait, err = parseSpan(settingLimitWait, s.LimitAcceptWait, 10*time.Millisecond, time.Minute); err != nil {
		return p, err
	}
	p.quota, err = s.quota()
	return p, err
}

// quota makes the exact quota, if there is to be one.
func (s limitSettings) quota() (*redis.Quota, error) {
	switch {
	case s.QuotaRedisURL == "" && s.QuotaNamespace == "":
		return nil, nil
	case s.QuotaRedisURL == "":
		return nil, setting(settingQuotaURL, "is not set: "+settingQuotaNamespace+" is counted in a Redis, such as redis://redis.internal:6379/0")
	case s.QuotaNamespace == "":
		return nil, setting(settingQuotaNamespace, "is not set: say what a namespace may over all gateways, such as 100/s:200")
	}
	rate, err := parseRate(settingQuotaNamespace, s.QuotaNamespace)
	if err != nil {
		return nil, err
	}
	if rate.IsUnlimited() {
		return nil, setting(settingQuotaNamespace, "must be a rate, such as 100/s:200: for no quota unset "+settingQuotaURL)
	}
	q, err := redis.New(redis.Config{URL: s.QuotaRedisURL, PerSecond: rate.PerSecond, Burst: rate.Burst})
	if errors.Is(err, redis.ErrURL) {
		return nil, setting(settingQuotaURL, "is not the URL of a Redis: want redis://user:password@host:6379/0, or rediss:// for TLS")
	}
	if err != nil {
		return nil, setting(settingQuotaNamespace, err.Error())
	}
	return q, nil
}

// units are what a rate counts by.
var units = map[string]float64{"s": 1, "m": 60, "h": 3600}

// parseRate reads a rate: "1/s:30" is one a second, and 30 at once after a rest.
func parseRate(name, text string) (gateway.Rate, error) {
	if text == "off" {
		return gateway.Unlimited(), nil
	}
	often, burst, hasBurst := strings.Cut(text, ":")
	number, unit, hasUnit := strings.Cut(often, "/")
	n, err := strconv.ParseFloat(number, 64)
	at, burstErr := strconv.Atoi(burst)
	if err != nil || burstErr != nil || !hasBurst || !hasUnit || units[unit] == 0 || math.IsNaN(n) ||
		n < 0.001 || n > maxBurst || at < 1 || at > maxBurst {
		return gateway.Rate{}, setting(name, fmt.Sprintf(
			"must be NUMBER/s:BURST, such as 10/s:100 for ten a second and a hundred at once, with /m or /h for minutes or hours, "+
				"numbers from 0.001 to %d and bursts from 1; or off", maxBurst))
	}
	return gateway.Rate{PerSecond: n / units[unit], Burst: at}, nil
}
