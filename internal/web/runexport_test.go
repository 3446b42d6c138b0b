package web_test

import (
	"encoding/csv"
	"net/http"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// exported reads the file of an address.
func (s *site) exported(address string) [][]string {
	s.Helper()
	text, headers := s.file(address)
	if headers.Get("Content-Type") != "text/csv; charset=utf-8" || !strings.HasPrefix(headers.Get("Content-Disposition"), "attachment") {
		s.Errorf("headers %v", headers)
	}
	in := csv.NewReader(strings.NewReader(text))
	in.FieldsPerRecord = 15
	rows, err := in.ReadAll()
	if err != nil || len(rows) == 0 || rows[0][0] != "id" {
		s.Fatalf("%v: %v", rows, err)
	}
	return rows[1:]
}

func TestI2RunsAreDownloadedAsTheListShowsThem(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	f := s.factory("@Shop")
	agents := must(s.control.ListAgents(t.Context(), s.admin, f.UID, 10, ""))
	s.startFor(s.admin, lineshaft.NewRun{Prompt: "x", Title: `=HYPERLINK("http://x")`, AgentUID: agents.Items[0].UID})
	s.finish(lineshaft.TurnResult{State: lineshaft.Failed})
	for range 520 { // more than a part
		s.start("hello")
	}
	s.shows("/runs?state=FAILED", `href="/runs/export?state=FAILED"`)
	rows := s.exported("/runs/export?state=FAILED")
	if len(rows) != 1 || rows[0][1] != `'=HYPERLINK("http://x")` || rows[0][2] != "FAILED" || rows[0][5] != "'@Shop" || rows[0][11] == "" {
		t.Errorf("%q", rows)
	}
	seen := map[string]bool{}
	for _, row := range s.exported("/runs/export?sort=created-asc") {
		seen[row[0]] = true
	}
	if len(seen) != 521 {
		t.Errorf("%d runs", len(seen))
	}
	for _, wrong := range []string{"?state=COLOUR", "?after=soon", "?cursor=x"} {
		if status, _, _ := s.get("/runs/export" + wrong); status != http.StatusBadRequest {
			t.Errorf("%s: %d", wrong, status)
		}
	}
	s.as(lineshaft.RoleViewer, s.factory("other").UID)
	if rows := s.exported("/runs/export"); len(rows) != 0 {
		t.Errorf("a limited key gets %q", rows)
	}
}
