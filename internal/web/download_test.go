package web_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
)

// S-3, S-4: files of a run are sent to who may see the run, each time they are asked
// for, and in a way in which no browser runs them.
func TestS4DownloadsAskForTheSession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	factory, other := s.factory("Shop").UID, s.factory("Other").UID
	agents := must(s.control.ListAgents(t.Context(), s.admin, factory, base.MaxPage, "")).Items
	runID, job := s.working(lineshaft.NewRun{
		AgentUID: agents[0].UID, Attachments: []lineshaft.NewAttachment{{FileName: "in \"é\".svg", MimeType: "image/svg+xml", Data: []byte("<svg onload=x>")}},
	})
	must(s.control.Upload(t.Context(), job.ExecutionRef, lineshaft.Upload{
		Kind: lineshaft.BlobArtifact, FileName: "out.html", FilePath: "out.html", MimeType: "text/html",
	}, strings.NewReader("<script>alert(1)</script>")))
	s.end(job, lineshaft.TurnResult{State: lineshaft.Succeeded})
	another := s.start("without files")
	s.as(lineshaft.RoleViewer, factory)
	page := s.shows("/runs/" + runID)
	at := regexp.MustCompile(`href="(/runs/[^"]*/(artifacts|attachments)/[^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(at) != 2 {
		t.Fatalf("%d links in\n%s", len(at), content(page))
	}
	texts := map[string][2]string{
		"artifacts": {"<script>alert(1)</script>", "attachment; filename=out.html"}, "attachments": {"<svg onload=x>", "attachment; filename*=utf-8''in%20%22%C3%A9%22.svg"},
	}
	for _, found := range at {
		text, h := s.file(found[1])
		if want := texts[found[2]]; text != want[0] || h.Get("Content-Disposition") != want[1] || h.Get("Content-Type") != "application/octet-stream" ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Security-Policy") != "sandbox; default-src 'none'" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %q %v", found[1], text, h)
		}
		for _, path := range []string{strings.Replace(found[1], runID, another, 1), found[1] + "x", "/runs/" + runID + "/" + found[2] + "/" + another} {
			if status, _, text := s.get(path); status != http.StatusNotFound || strings.Contains(text, "alert(1)") {
				t.Errorf("%s: %d", path, status)
			}
		}
	}
	s.as(lineshaft.RoleViewer, other)
	for _, found := range at {
		if status, _, text := s.get(found[1]); status != http.StatusNotFound || strings.Contains(text, "alert(1)") {
			t.Errorf("%s of another factory: %d", found[1], status)
		}
	}
	s.browser.Jar = nil
	for _, found := range at {
		if _, where, text := s.get(found[1]); !strings.HasPrefix(where, "/login") || strings.Contains(text, "alert(1)") {
			t.Errorf("%s without a session leads to %s", found[1], where)
		}
	}
}

// file reads a download with its headers.
func (s *site) file(path string) (string, http.Header) {
	s.Helper()
	req := must(http.NewRequestWithContext(s.Context(), http.MethodGet, s.url+path, nil))
	res := must(s.browser.Do(req))
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		s.Errorf("%s: %d", path, res.StatusCode)
	}
	return string(must(io.ReadAll(res.Body))), res.Header
}
