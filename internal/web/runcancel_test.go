package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestR9CancelPickedRuns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	a, b, ended := s.start("a"), s.start("b"), s.start("ended")
	if _, err := s.control.Cancel(t.Context(), s.admin, ended, false, nil); err != nil {
		t.Fatal(err)
	}
	picked := url.Values{"id": {a, b, ended, a}, "back": {"state=QUEUED&next=//evil.example"}}
	status, _, text := s.get("/runs/cancel?" + picked.Encode())
	if status != http.StatusOK || !strings.Contains(text, "Cancel 2 runs") || !strings.Contains(text, "1 of those that you selected has ended already") {
		t.Errorf("the question: %d\n%s", status, text)
	}
	if s.state(a) != lineshaft.Queued {
		t.Error("the question has cancelled a run")
	}
	status, at, text := s.post("/runs/cancel", picked)
	if status != http.StatusOK || at != "/runs?state=QUEUED" || !strings.Contains(text, "2 runs were cancelled. 1 run had ended already.") {
		t.Errorf("the answer: %d at %s\n%s", status, at, text)
	}
	if s.state(a) != lineshaft.Cancelled || s.state(b) != lineshaft.Cancelled {
		t.Error("a run goes on")
	}
	if _, _, text := s.get("/runs/cancel?id=" + a); !strings.Contains(text, "Nothing to cancel") || strings.Contains(text, `class="danger"`) {
		t.Errorf("only ended ones:\n%s", text)
	}
	if _, _, text := s.post("/runs/cancel", url.Values{"id": {a}}); !strings.Contains(text, "No run was cancelled. 1 run had ended already.") {
		t.Errorf("only ended ones:\n%s", text)
	}
	for name, form := range map[string]url.Values{"nothing": {}, "too many": {"id": make([]string, 101)}} {
		if status, _, _ := s.post("/runs/cancel", form); status != http.StatusBadRequest {
			t.Errorf("%s: %d", name, status)
		}
	}
	if status, _, _ := s.post("/runs/cancel", url.Values{"id": {"none"}}); status != http.StatusNotFound {
		t.Errorf("an unknown run: %d", status)
	}
}

func TestR9CancelMatchingRuns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	var mac []string
	for range 12 {
		mac = append(mac, s.startFor(s.admin, lineshaft.NewRun{Config: lineshaft.AgentConfig{WorkerHost: "mac"}}))
	}
	other := s.start("other")
	status, _, text := s.get("/runs/cancel?match=1&host=mac&state=QUEUED&state=FAILED")
	if status != http.StatusOK || !strings.Contains(text, "runs that are queued or failed, on the worker mac") || !strings.Contains(text, "12 runs now") || !strings.Contains(text, "the first 10 of them") {
		t.Errorf("the question: %d\n%s", status, text)
	}
	for _, query := range []string{"state=SUCCEEDED", "host=none"} {
		if _, _, text := s.get("/runs/cancel?match=1&" + query); strings.Contains(text, `class="danger"`) {
			t.Errorf("%s: there is something to cancel", query)
		}
	}
	if _, _, text := s.get("/runs/cancel?match=1"); !strings.Contains(text, "all runs") {
		t.Errorf("without a filter:\n%s", text)
	}
	// A filter of ended runs only is not one without states.
	if _, _, text := s.post("/runs/cancel", url.Values{"match": {"1"}, "state": {"SUCCEEDED"}}); !strings.Contains(text, "No run was cancelled.") {
		t.Errorf("ended ones:\n%s", text)
	}
	status, at, text := s.post("/runs/cancel", url.Values{"match": {"1"}, "host": {"mac"}})
	if status != http.StatusOK || at != "/runs?host=mac" || !strings.Contains(text, "12 runs were cancelled.") {
		t.Errorf("the answer: %d at %s\n%s", status, at, text)
	}
	for _, runID := range mac {
		if s.state(runID) != lineshaft.Cancelled {
			t.Error("a run goes on")
		}
	}
	if s.state(other) != lineshaft.Queued {
		t.Error("another run was cancelled")
	}
	if status, _, _ := s.post("/runs/cancel", url.Values{"match": {"1"}, "state": {"LOST"}}); status != http.StatusBadRequest {
		t.Errorf("a wrong filter: %d", status)
	}
}

// S-3: nobody cancels more than they may, and a forged form cancels nothing of it.
func TestS3WhoCancelsRuns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	foreign := s.start("foreign")
	me := s.as(lineshaft.RoleMember)
	own := s.startFor(me, lineshaft.NewRun{})
	for _, form := range []url.Values{{"id": {own, foreign}}, {"match": {"1"}}} {
		if status, _, _ := s.get("/runs/cancel?" + form.Encode()); status != http.StatusForbidden {
			t.Errorf("a member asks for %v: %d", form, status)
		}
		if status, _, _ := s.post("/runs/cancel", form); status != http.StatusForbidden {
			t.Errorf("a member cancels %v: %d", form, status)
		}
	}
	if s.state(own) != lineshaft.Queued || s.state(foreign) != lineshaft.Queued {
		t.Error("a refused form has cancelled something")
	}
	if status, _, _ := s.post("/runs/cancel", url.Values{"id": {own}}); status != http.StatusOK || s.state(own) != lineshaft.Cancelled {
		t.Errorf("a member's own run: %d", status)
	}
	s.as(lineshaft.RoleManager, s.factory("another").UID)
	if status, _, _ := s.post("/runs/cancel", url.Values{"id": {foreign}}); status != http.StatusNotFound {
		t.Errorf("a key of another factory: %d", status)
	}
	s.as(lineshaft.RoleViewer)
	for _, form := range []url.Values{{"id": {foreign}}, {"match": {"1"}}} {
		if status, _, _ := s.post("/runs/cancel", form); status != http.StatusForbidden {
			t.Errorf("a viewer cancels %v: %d", form, status)
		}
		if status, _, _ := s.get("/runs/cancel?" + form.Encode()); status != http.StatusForbidden {
			t.Errorf("a viewer asks for %v: %d", form, status)
		}
	}
	if s.state(foreign) != lineshaft.Queued {
		t.Error("a refused form has cancelled something")
	}
}
