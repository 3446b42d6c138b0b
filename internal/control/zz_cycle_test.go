package control_test

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func TestZZCycle(t *testing.T) {
	if os.Getenv("CYCLE") == "" {
		t.Skip("temporary")
	}
	db := filepath.Join(t.TempDir(), "x.db")
	if os.Getenv("CYCLE") == "pg" {
		db = storetest.Postgres(t)
	}
	b := open(t, db)
	const n = 5000
	t0 := time.Now()
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range n / 32 {
				b.start(lineshaft.NewRun{Prompt: "x"})
			}
		})
	}
	wg.Wait()
	t.Logf("create %.0f/s", n/time.Since(t0).Seconds())
	t0 = time.Now()
	var done atomic.Int64
	sem := make(chan struct{}, 32)
	total := int64(n / 32 * 32)
	for done.Load() < total {
		jobs := b.claim(32)
		for _, j := range jobs {
			sem <- struct{}{}
			go func() {
				defer func() { <-sem }()
				b.begin(j)
				b.end(j, lineshaft.Succeeded)
				done.Add(1)
			}()
		}
		if done.Load()+32 >= total && len(jobs) == 0 {
			break
		}
		if len(jobs) > 0 && done.Load() >= total-40 {
			for done.Load() < total {
				time.Sleep(time.Millisecond)
			}
		}
	}
	t.Logf("process %.0f/s", float64(total)/time.Since(t0).Seconds())
}
