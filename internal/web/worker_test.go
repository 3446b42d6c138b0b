package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func (s *site) claim(host string, labels ...string) {
	s.Helper()
	must(s.control.Claim(s.Context(), lineshaft.ClaimRequest{WorkerHost: host, WorkerID: "w-" + host, Limit: 1, Capacity: 4, Labels: labels}))
}

func TestX1WorkersAndWhatWaitsForThem(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	s.shows("/workers", "No worker is connected", "lineshaft worker --id mac-mini --server", "lineshaft apikey create")
	s.start("hello") // a claim waits for a run
	s.claim(lineshaft.HostedWorker)
	s.shows("/workers", "the server's own</span>", " of 4", "Run on your own machines", "!is not connected.")
	for range 2 {
		must(s.control.StartRun(t.Context(), s.admin, lineshaft.NewRun{Prompt: "x", Source: lineshaft.SourceAPI, Config: lineshaft.AgentConfig{WorkerHost: "mac"}}, nil))
	}
	s.shows("/workers", "2 runs wait", "<code>mac</code>, which is not connected", "lineshaft worker --id mac --server", "/keys/new?role=worker&amp;worker=mac", "!Run on machines")
	s.claim("mac", "os=macos")
	page := s.shows("/workers/now", "os=macos", "!which is not connected", "!<html", `<rect class="full"`)
	if strings.Contains(page, "style=") {
		t.Error("a style attribute, which the policy forbids")
	}
	s.as(lineshaft.RoleViewer)
	s.shows("/workers/now", "os=macos", "!/keys/new")
}

func TestX1PageOfAWorker(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	s.shows("/workers/hosted/runs", "It is not connected", "--no-worker")
	for _, path := range []string{"/workers/mac/runs", "/workers/%00/runs"} {
		if status, _, _ := s.get(path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
	runID := s.start("Say hello")
	waits := s.start("Waits")
	must(s.control.Claim(t.Context(), lineshaft.ClaimRequest{
		WorkerHost: lineshaft.HostedWorker, WorkerID: "w-1", Limit: 1, Capacity: 4, Version: "1.2.3", Labels: []string{"os=linux"},
	}))
	s.shows("/workers", `href="/workers/hosted/runs"`)
	s.shows("/workers/hosted/runs", "1.2.3", " of 4 in use", "os=linux", `href="/runs/`+runID+`"`, "!"+waits, `href="/runs?host=hosted"`)
	if _, at, _ := s.get("/search?q=hosted"); at != "/workers/hosted/runs" {
		t.Errorf("the name of a worker leads to %s", at)
	}
	// A key that is limited to factories sees the worker, and not what others have it do.
	s.as(lineshaft.RoleViewer, s.factory("f").UID)
	s.shows("/workers/hosted/runs", "1.2.3", "!Say hello")
}

// The queues are everyone's: a key that is limited to factories sees none.
func TestS3WaitingIsNotToldToLimitedKeys(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(s.control.StartRun(t.Context(), s.admin, lineshaft.NewRun{Prompt: "x", Source: lineshaft.SourceAPI, Config: lineshaft.AgentConfig{WorkerHost: "mac"}}, nil))
	s.as(lineshaft.RoleViewer, s.factory("f").UID)
	s.shows("/workers", "!which is not connected")
}
