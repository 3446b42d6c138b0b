package e2e

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// deliver sends a body once and returns the status; 0 when there was no answer.
func (h hook) deliver(t *testing.T, url, id, body string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/webhooks/w/"+h.uid, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.secret)
	req.Header.Set("X-Service-Delivery-Id", id)
	res, err := browser().Do(req)
	if err != nil {
		return 0
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, res.Body)
	if res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") == "" {
		t.Error("503 without Retry-After")
	}
	return res.StatusCode
}

// TestD2DeliveriesWithoutDatabase takes PostgreSQL away: senders get 503, never a
// false 202, and can continue when it is back.
func TestD2DeliveriesWithoutDatabase(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(storetest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := newCutter(t, u.Host)
	u.Host = proxy.listener.Addr().String()
	n := newNode(t, u.String(), "--no-worker")
	n.start(t.Context())
	h := newHook(n)
	if status := h.deliver(t, n.url, "before", "{}"); status != http.StatusAccepted {
		t.Fatalf("before: %d", status)
	}
	proxy.set(true)
	for i := range 5 {
		if status := h.deliver(t, n.url, fmt.Sprint("during-", i), "{}"); status != http.StatusServiceUnavailable {
			t.Errorf("without a database: %d, want 503", status)
		}
	}
	proxy.set(false)
	eventually(t, "deliveries are taken again", func() bool {
		return h.deliver(t, n.url, "after", "{}") == http.StatusAccepted
	})
	for i := range 5 {
		if status := h.deliver(t, n.url, fmt.Sprint("during-", i), "{}"); status != http.StatusAccepted {
			t.Errorf("sent again: %d", status)
		}
	}
}

// TestD2DeliveriesOnAFullDisk fills the disk under SQLite with deliveries: what got
// 202 is stored, what did not is not needed, and with space senders can continue.
func TestD2DeliveriesOnAFullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("a small file system to fill can only be mounted by root")
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=16m", "lineshaft-test", dir).CombinedOutput(); err != nil {
		t.Fatalf("mount: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	database := filepath.Join(dir, "l.db")
	n := newNode(t, database, "--no-worker")
	n.start(t.Context())
	h := newHook(n)
	var dense strings.Builder // that is stored packed
	for dense.Len() < 210_000 {
		dense.WriteString(rand.Text())
	}
	body := `"` + dense.String() + `"`
	var accepted []string
	refused := 0
	for i := 0; i < 400 && refused < 20; i++ {
		id := fmt.Sprint("delivery-", i)
		switch status := h.deliver(t, n.url, id, body); status {
		case http.StatusAccepted:
			accepted = append(accepted, id)
		case http.StatusServiceUnavailable:
			refused++
		default:
			t.Fatalf("on a full disk: %d, want 503", status)
		}
	}
	if refused == 0 || len(accepted) == 0 {
		t.Fatalf("%d accepted, %d refused: the disk did not fill", len(accepted), refused)
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "-o", "remount,size=64m", dir).CombinedOutput(); err != nil {
		t.Fatalf("remount: %v: %s", err, out)
	}
	eventually(t, "deliveries are taken again", func() bool { return h.deliver(t, n.url, "after", "{}") == http.StatusAccepted })
	n.kill()
	checkAccepted(t, database, h, accepted)
	t.Logf("%d accepted before and between %d refusals", len(accepted), refused)
}

func checkAccepted(t *testing.T, database string, h hook, accepted []string) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Database: database})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	list, _, err := s.ListDeliveries(t.Context(), h.uid, "", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	logged := map[string]int{}
	for _, d := range list {
		if d.Status == lineshaft.DeliveryAccepted {
			logged[d.Identity]++
		}
	}
	for _, id := range accepted {
		if logged[id] != 1 {
			t.Errorf("%s got 202 and is %d times in the log", id, logged[id])
		}
	}
}

// TestW6HostileRequests sends what no sender should, to a running server.
func TestW6HostileRequests(t *testing.T) {
	t.Parallel()
	n := newNode(t, filepath.Join(t.TempDir(), "l.db"), "--no-worker")
	n.start(t.Context())
	h := newHook(n)
	request := func(header http.Header, path string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.url+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header
		res, err := browser().Do(req)
		if err != nil {
			return 0
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	if status := request(http.Header{"X-Large": {strings.Repeat("x", 1<<20)}}, "/webhooks/w/"+h.uid); status != 0 && status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("1 MB of headers: %d", status)
	}
	for _, path := range []string{"/webhooks/", "/webhooks/w", "/webhooks/w/..", "/webhooks/w//" + h.uid, "/webhooks/x/" + h.uid, "/webhooks/w/" + h.uid + "/../" + h.uid} {
		if status := request(http.Header{"Authorization": {"Bearer " + h.secret}}, path); status != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, status)
		}
	}
	if status := h.deliver(t, n.url, "fine", "{}"); status != http.StatusAccepted {
		t.Errorf("afterwards: %d", status)
	}
}
