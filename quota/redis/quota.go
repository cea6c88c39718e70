package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/flowgate-go/flowgate/spec"
)

// ErrURL refuses a Config whose URL is none of a Redis. It does not repeat the URL, which may hold a password.
var ErrURL = errors.New("not the URL of a Redis: want redis://user:password@host:6379/0, or rediss:// for TLS")

// ErrRate refuses a Config whose rate is not above zero.
var ErrRate = errors.New("the rate of a quota and its burst must be above zero")

// Config says where the limit is kept and what it is.
type Config struct {
	URL       string  // redis:// or rediss://
	PerSecond float64 // requests of one namespace in the long run
	Burst     int     // and at once after a rest
}

const (
	// keyPrefix keeps our keys apart from those of others in one Redis. redis_rate puts "rate:" before it.
	keyPrefix = "flowgate:namespace:"
	// patience bounds everything that is done in Redis, whatever the caller allows.
	patience = 500 * time.Millisecond
	// connections bounds those of one process.
	connections = 32
)

// Quota counts requests in Redis. Make it with New, and close it. It is safe for concurrent use.
type Quota struct {
	client *redis.Client
	rates  *redis_rate.Limiter
	limit  redis_rate.Limit
}

// New makes a Quota. It connects to nothing: a Redis that is away is found when it is asked. Errors: ErrURL, ErrRate.
func New(cfg Config) (*Quota, error) {
	options, err := redis.ParseURL(cfg.URL)
	if err != nil {
		return nil, ErrURL
	}
	if !(cfg.PerSecond > 0) || cfg.Burst < 1 {
		return nil, ErrRate
	}
	period := time.Duration(float64(time.Second) / cfg.PerSecond)
	if period <= 0 {
		return nil, ErrRate
	}
	// A request waits for its answer: one try, and nothing that outlives it.
	options.ContextTimeoutEnabled = true
	options.MaxRetries, options.DialerRetries = -1, 1
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout, options.PoolTimeout = patience, patience, patience, patience
	options.PoolSize, options.MaxActiveConns = connections, connections
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	redis.SetLogger(silent{})
	client := redis.NewClient(options)
	return &Quota{
		client: client, rates: redis_rate.NewLimiter(client),
		limit: redis_rate.Limit{Rate: 1, Period: period, Burst: cfg.Burst},
	}, nil
}

// Take counts one request of a namespace. A wait above zero refuses it. An error says that Redis did not tell, within
// 500 ms; what it was asked may have been counted.
func (q *Quota) Take(ctx context.Context, ns spec.Namespace) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	result, err := q.rates.Allow(ctx, keyPrefix+string(ns), q.limit)
	if err != nil {
		return 0, fmt.Errorf("quota: %w", err)
	}
	if result.Allowed > 0 {
		return 0, nil
	}
	return max(result.RetryAfter, time.Nanosecond), nil
}

// Close closes the connections. Nothing is asked afterwards.
func (q *Quota) Close() error { return q.client.Close() }

// silent keeps the client from writing to the standard error: what is wrong is in the errors.
type silent struct{}

// Printf writes nothing.
func (silent) Printf(context.Context, string, ...any) {}
