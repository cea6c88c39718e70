package server

import (
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	p, err := parseStat([]byte("77 (a) name (x) S 12 77 77 0 -1 4194560 1 2 3 4 250 50 7 3 20 0 1 0 100 200 300\n"))
	if err != nil || p != (proc{parent: 12, used: 3 * time.Second, children: 100 * time.Millisecond}) {
		t.Errorf("got %+v: %v", p, err)
	}
	if _, err := parseStat([]byte("77 (x) S 12")); err == nil {
		t.Error("a short line passed")
	}
}

func TestParseWritten(t *testing.T) {
	t.Parallel()
	w, err := parseWritten([]byte(`Type                                           N      (%)          Record size      (%)             FPI size      (%)        Combined size      (%)
----                                           -      ---          -----------      ---             --------      ---        -------------      ---
XLOG/FPI                                       1 (  0.00)                   49 (  0.00)                 8192 ( 10.00)                 8241 (  5.00)
Transaction/COMMIT                           100 ( 10.00)                 3400 (  8.00)                    0 (  0.00)                 3400 (  4.00)
Heap/INSERT                                  500 ( 50.00)                30000 ( 60.00)                 1000 (  1.00)                31000 ( 30.00)
Heap/INSERT+INIT                              20 (  2.00)                 1200 (  2.00)                    0 (  0.00)                 1200 (  1.00)
Heap/UPDATE                                   10 (  1.00)                  700 (  1.00)                    0 (  0.00)                  700 (  1.00)
Heap/HOT_UPDATE                              190 ( 19.00)                13300 ( 26.00)                    0 (  0.00)                13300 ( 13.00)
Heap/LOCK                                     30 (  3.00)                 1620 (  3.00)                    0 (  0.00)                 1620 (  1.00)
Heap/DELETE                                    4 (  0.40)                  216 (  0.40)                    0 (  0.00)                  216 (  0.10)
Btree/INSERT_LEAF                            600 ( 60.00)                38400 ( 70.00)                    0 (  0.00)                38400 ( 37.00)
Btree/SPLIT_R                                  3 (  0.30)                  300 (  0.30)                    0 (  0.00)                  300 (  0.20)
                                        --------                      --------                      --------                      --------
Total                                       1458                        89185 [90.66%]                 9192 [9.34%]                 98377 [100%]
`))
	want := Written{
		Commits: 100, Inserted: 520, Updated: 200, HotUpdated: 190, Deleted: 4, IndexInserts: 603, RowLocks: 30,
		FullPageBytes: 9192,
	}
	if err != nil || w != want {
		t.Errorf("got %+v: %v", w, err)
	}
}
