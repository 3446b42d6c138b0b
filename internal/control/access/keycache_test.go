package access

import (
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// A key that was looked up just before it was revoked is not kept, whether or not
// someone else has seen the change meanwhile.
func TestH2LookUpUnderWayDoesNotReviveAKey(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	for name, seenByOther := range map[string]bool{"seen by put": false, "seen by another get": true} {
		hub := stream.NewHub()
		cache := newKeyCache(hub)
		_, _, changes := cache.get("hash", now)
		hub.Wake([]string{stream.KeysTopic}) // it is revoked now
		if seenByOther {
			cache.get("other", now)
		}
		cache.put("hash", &lineshaft.APIKey{ID: "k"}, now, changes)
		if _, ok, _ := cache.get("hash", now); ok {
			t.Errorf("%s: the revoked key is kept", name)
		}
		_, _, changes = cache.get("hash", now)
		cache.put("hash", &lineshaft.APIKey{ID: "k"}, now, changes)
		if c, ok, _ := cache.get("hash", now); !ok || c.KeyID != "k" {
			t.Errorf("%s: nothing is kept any more", name)
		}
		if _, ok, _ := cache.get("hash", now.Add(keyLife)); ok {
			t.Errorf("%s: it is kept for too long", name)
		}
		if used, _ := cache.takeUsed(); len(used) != 1 || !used["k"].Equal(now) {
			t.Errorf("%s: used are %v", name, used)
		}
	}
}

// Unknown keys cannot fill the memory: only keys that exist are kept, and not
// without limit.
func TestH2CacheIsBounded(t *testing.T) {
	t.Parallel()
	cache := newKeyCache(stream.NewHub())
	now := time.Unix(1_000_000, 0)
	for i := range 25_000 {
		cache.put(string(rune(i)), &lineshaft.APIKey{ID: "k"}, now, 0)
	}
	if n := len(cache.callers); n > 10_001 {
		t.Errorf("%d callers are kept", n)
	}
}
