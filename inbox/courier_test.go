package inbox

import (
	"testing"
	"time"
)

// However many messages were delivered long ago, they go as fast as they came.
func TestOldMessagesGo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if _, err := r.pool.Exec(t.Context(), `insert into inbox (namespace, source, message_id, kind, run_id, name, digest, payload, state, received_at,
			deadline, try_at, resolved_at)
		select 'default', 'shop', 'shop:' || i, 'signal', 'r', 'paid', sha256(''), '1', 'delivered', now(), now(), now(), now() - interval '8 days'
		from generate_series(1, 2 * $1 + 500) i`, sweptAtATime); err != nil {
		t.Fatal(err)
	}
	r.background(r.another(func(c *Config) { c.Poll = 500 * time.Millisecond }).Run)
	r.until("they are gone", func() bool {
		var left int
		err := r.pool.QueryRow(t.Context(), "select count(*) from inbox").Scan(&left)
		return err == nil && left == 0
	})
}
