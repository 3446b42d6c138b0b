package e2e

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// TestC1CallbacksSurviveKills kills the server before a change was read, and between
// the claim of a delivery and the note of how it went: every event arrives, and the event
// that was under way arrives again under the same id.
func TestC1CallbacksSurviveKills(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		hold, arrived := make(chan struct{}), make(chan string, 100)
		receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			arrived <- r.Header.Get("Webhook-Id")
			<-hold
		}))
		release := sync.OnceFunc(func() { close(hold) })
		t.Cleanup(receiver.Close)
		t.Cleanup(release) // before the receiver waits for it
		n := newNode(t, database, "--no-worker", "--callback-allow-private")
		n.start(t.Context())
		c := n.client()
		endpoint, err := c.Notifications.Create(t.Context(), client.NotificationRequest{URL: receiver.URL})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for range 3 { // each is killed right after the run was answered
			want = append(want, queuedEvent(t, c))
			n.kill()
			n.start(t.Context())
		}
		under := <-arrived
		n.kill() // the receiver has it, nobody has noted so
		release()
		storetest.Exec(t, database, "UPDATE notification_deliveries SET next_at = 1 WHERE status = 'pending'") // the lease is over
		n.start(t.Context())
		got := map[string]int{under: 1}
		for deadline := time.After(patience); ; {
			page, err := c.Notifications.Deliveries(t.Context(), endpoint.ID, client.NotificationDeliveryQuery{Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Deliveries) == len(want) && !slices.ContainsFunc(page.Deliveries, func(d client.NotificationDelivery) bool { return d.Status != "delivered" }) {
				break
			}
			select {
			case id := <-arrived:
				got[id]++
			case <-time.After(20 * time.Millisecond):
			case <-deadline:
				t.Fatalf("arrived %v, log %+v", got, page.Deliveries)
			}
		}
		for len(arrived) > 0 {
			got[<-arrived]++
		}
		for _, id := range want {
			if got[id] == 0 {
				t.Errorf("event %s did not arrive", id)
			}
		}
		if len(got) != len(want) || got[under] < 2 {
			t.Errorf("arrived %v; %s was under way", got, under)
		}
	})
}

// queuedEvent starts a run and returns the id of its first state change.
func queuedEvent(t *testing.T, c *client.Client) string {
	t.Helper()
	started, err := c.Runs.Create(t.Context(), client.RunRequest{Prompt: "wait"})
	if err != nil {
		t.Fatal(err)
	}
	page, err := c.Runs.Events(t.Context(), started.RunID, client.EventQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	return page.Events[0].ID
}
