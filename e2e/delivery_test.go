package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// answerOf calls the management API and decodes what it answers.
func (n *node) answerOf(method, path, body string, into any) {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.t.Context(), method, n.url+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminKey)
	res, err := browser().Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 {
		n.t.Fatalf("%s %s: %d %s %v", method, path, res.StatusCode, text, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		n.t.Fatalf("%s: %v", text, err)
	}
}

// hook is a webhook with the address below a node, its secret and its automations.
type hook struct {
	factory, uid, secret string
	// all takes every delivery, odd those with an odd number.
	all, odd string
}

// newHook makes a factory with a webhook that has no rate limit. No worker executes its runs.
func newHook(n *node) hook {
	n.t.Helper()
	var f, w, all, odd struct{ UID, Secret string }
	n.answerOf("POST", "/factory", `{"name": "works"}`, &f)
	h := hook{factory: f.UID}
	n.answerOf("POST", "/factory/"+f.UID+"/webhooks", `{"name": "ci", "rate_limit": 0}`, &w)
	h.uid, h.secret = w.UID, w.Secret
	automation := `{"name": %q, "prompt": "look", "config": {"worker_host": "nobody"}, "triggers": [{"provider": "webhook", "event": "received", "filter": {"webhook_ids": [%q], "payload": %s}}]}`
	n.answerOf("POST", "/factory/"+f.UID+"/automations", fmt.Sprintf(automation, "all", w.UID, "null"), &all)
	n.answerOf("POST", "/factory/"+f.UID+"/automations", fmt.Sprintf(automation, "odd", w.UID, `{"odd": [true]}`), &odd)
	h.all, h.odd = all.UID, odd.UID
	return h
}

// parcel is one delivery that a sender insists on.
type parcel struct {
	number     int
	body       string
	deliveryID string // what the 202 said
}

func newParcel(number int, r *rand.Rand) *parcel {
	padding := strings.Repeat("x", r.IntN(2000))
	return &parcel{number: number, body: fmt.Sprintf("{ \"number\": %d,\"odd\" :%t, \"text\": %q}\n", number, number%2 == 1, padding)}
}

// post sends a parcel once; it says whether it was accepted.
func (h hook) post(ctx context.Context, c *http.Client, url string, p *parcel) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/webhooks/w/"+h.uid, strings.NewReader(p.body))
	if err != nil {
		return false, err
	}
	req.Header.Set("Authorization", "Bearer "+h.secret)
	req.Header.Set("X-Service-Delivery-Id", fmt.Sprint("parcel-", p.number))
	res, err := c.Do(req)
	if err != nil {
		return false, nil // the server was killed: try again
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	switch {
	case err != nil || res.StatusCode == http.StatusServiceUnavailable:
		return false, nil
	case res.StatusCode != http.StatusAccepted:
		return false, fmt.Errorf("parcel %d: %d %s", p.number, res.StatusCode, text)
	}
	var answer struct {
		DeliveryID string `json:"delivery_id"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.DeliveryID == "" {
		return false, fmt.Errorf("parcel %d: %s: %w", p.number, text, err)
	}
	p.deliveryID = answer.DeliveryID
	return true, nil
}

// round is a number of parcels pushed by many senders while servers are killed.
type round struct {
	hook    hook
	parcels []*parcel
	nodes   []*node
	// accepted wakes the killer, which strikes at certain counts.
	accepted atomic.Int64
	progress chan struct{}
}

func newRound(n int, nodes ...*node) *round {
	r := &round{hook: newHook(nodes[0]), nodes: nodes, progress: make(chan struct{}, 1)}
	random := rand.New(rand.NewPCG(20261115, 3))
	for i := range n {
		r.parcels = append(r.parcels, newParcel(i, random))
	}
	return r
}

// push is one sender: it takes every so many parcel and sends it, to the nodes in
// turn, until it gets its 202.
func (r *round) push(ctx context.Context, first, step int) error {
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
	defer c.CloseIdleConnections()
	turn := first
	for i := first; i < len(r.parcels); i += step {
		for done := false; !done; turn++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			var err error
			if done, err = r.hook.post(ctx, c, r.nodes[turn%len(r.nodes)].url, r.parcels[i]); err != nil {
				return err
			}
		}
		r.accepted.Add(1)
		select {
		case r.progress <- struct{}{}:
		default:
		}
	}
	return nil
}

// run pushes everything while the nodes are killed in turn, each time after another
// random number of parcels.
func (r *round) run(t *testing.T, cycles int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	const senders = 32
	for i := range senders {
		wg.Go(func() {
			if err := r.push(ctx, i, senders); err != nil {
				t.Error(err)
				cancel()
			}
		})
	}
	random := rand.New(rand.NewPCG(20261115, 4))
	each := len(r.parcels) / (cycles + 1)
	for cycle := range cycles {
		mark := int64(cycle*each + 1 + random.IntN(max(each-senders, 1)))
		for r.accepted.Load() < mark && ctx.Err() == nil {
			select {
			case <-r.progress:
			case <-ctx.Done():
			}
		}
		n := r.nodes[cycle%len(r.nodes)]
		n.kill()
		n.start(t.Context())
	}
	wg.Wait()
}

// check compares the answers to senders with what is in the database.
func (r *round) check(t *testing.T, database string) {
	t.Helper()
	for _, n := range r.nodes {
		n.kill()
	}
	s, err := store.Open(t.Context(), store.Options{Database: database})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	accepted, duplicates := r.hook.logged(t, s)
	for _, p := range r.parcels {
		r.checkParcel(t, s, p, accepted[fmt.Sprint("parcel-", p.number)])
	}
	if len(accepted) != len(r.parcels) {
		t.Errorf("%d accepted, %d sent", len(accepted), len(r.parcels))
	}
	t.Logf("%d parcels, %d sent again after an answer was lost", len(r.parcels), duplicates)
}

// logged reads the log of the webhook: what was accepted, by identity, and how often it came again.
func (h hook) logged(t *testing.T, s *store.Store) (accepted map[string]lineshaft.Delivery, duplicates int) {
	t.Helper()
	accepted = map[string]lineshaft.Delivery{}
	for before, more := "", true; more; {
		var page []lineshaft.Delivery
		var err error
		if page, more, err = s.ListDeliveries(t.Context(), h.uid, before, "", 500); err != nil {
			t.Fatal(err)
		}
		for _, d := range page {
			before = d.ID
			if d.Status != lineshaft.DeliveryAccepted {
				duplicates++
				continue
			}
			if _, twice := accepted[d.Identity]; twice {
				t.Errorf("%s was accepted twice", d.Identity)
			}
			accepted[d.Identity] = d
		}
	}
	return accepted, duplicates
}

// checkParcel checks one delivery: it is the acknowledged one, each
// automation has its one run, and the run's file is what was sent.
func (r *round) checkParcel(t *testing.T, s *store.Store, p *parcel, d lineshaft.Delivery) {
	t.Helper()
	if d.ID != p.deliveryID {
		t.Errorf("parcel %d was acknowledged as %q and logged as %q", p.number, p.deliveryID, d.ID)
		return
	}
	want := map[string]int{r.hook.all: 1}
	if p.number%2 == 1 {
		want[r.hook.odd] = 1
	}
	runs, _, _, err := s.ScanRuns(t.Context(), store.RunScan{
		Filter: lineshaft.RunFilter{Metadata: map[string]string{lineshaft.MetadataDelivery: d.ID}}, Sort: lineshaft.SortCreated, Limit: 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		want[run.Metadata[lineshaft.MetadataAutomation]]--
		r.checkFile(t, s, run.ID, p)
	}
	for automation, missing := range want {
		if missing != 0 {
			t.Errorf("parcel %d: automation %s has %d runs too few", p.number, automation, missing)
		}
	}
}

func (r *round) checkFile(t *testing.T, s *store.Store, runID string, p *parcel) {
	t.Helper()
	files, err := s.ListRunAttachments(t.Context(), runID)
	if err != nil || len(files) != 1 || files[0].FileName != lineshaft.PayloadFile {
		t.Fatalf("%+v, %v", files, err)
	}
	blob, err := s.OpenBlob(t.Context(), files[0].BlobID)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = blob.Close() }()
	if got, err := io.ReadAll(blob); err != nil || string(got) != p.body {
		t.Errorf("parcel %d: the file has %d bytes, %d were sent: %v", p.number, len(got), len(p.body), err)
	}
}

// exactlyOne is the size of a round: a tenth of the whole unless soaking.
func exactlyOne() (cycles, parcels int) {
	if soak() {
		return 200, 20_000
	}
	return 20, 2_000
}

// TestW14ExactlyOneRunWhateverIsKilled pushes distinct deliveries, each until it is
// acknowledged, while the server is killed again and again.
func TestW14ExactlyOneRunWhateverIsKilled(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		cycles, parcels := exactlyOne()
		n := newNode(t, database, "--no-worker", "--log-level", "warn")
		n.start(t.Context())
		r := newRound(parcels, n)
		r.run(t, cycles)
		r.check(t, database)
	})
}

// TestW14ExactlyOneRunOnTwoNodes does the same with two nodes that senders use in turn.
func TestW14ExactlyOneRunOnTwoNodes(t *testing.T) {
	t.Parallel()
	database := storetest.Postgres(t)
	cycles, parcels := exactlyOne()
	a, b := newNode(t, database, "--no-worker", "--log-level", "warn"), newNode(t, database, "--no-worker", "--log-level", "warn")
	a.start(t.Context())
	b.start(t.Context())
	r := newRound(parcels, a, b)
	r.run(t, cycles)
	r.check(t, database)
}
