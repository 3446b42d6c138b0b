package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// uploaded makes a run with one FILE artifact and returns run and artifact.
func (b *bench) uploaded(u lineshaft.Upload, content string) (runID string, artifact ArtifactItem) {
	b.Helper()
	runID = b.start(lineshaft.NewRun{Prompt: "x", Attachments: []lineshaft.NewAttachment{{FileName: "in put.txt", MimeType: "text/plain", Data: []byte("input")}}})
	job := b.claim()
	b.report(job, 1, said("working"))
	if _, err := b.control.Upload(b.Context(), job.ExecutionRef, u, strings.NewReader(content)); err != nil {
		b.Fatal(err)
	}
	b.end(job, lineshaft.Succeeded)
	run := decode[RunItem](b.T, b.check(b.T, scenario{method: get, path: "/agent/runs/" + runID, as: lineshaft.RoleViewer, status: 200}))
	if len(run.Artifacts) != 1 {
		b.Fatalf("%+v", run.Artifacts)
	}
	return runID, run.Artifacts[0]
}

func TestR10TranscriptIsARedirectToJSONL(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	runID, _ := b.uploaded(lineshaft.Upload{Kind: lineshaft.BlobArtifact, FileName: "a", FilePath: "a", MimeType: "text/plain"}, "x")
	run := decode[RunItem](t, b.check(t, scenario{method: get, path: "/agent/runs/" + runID, as: lineshaft.RoleViewer, status: 200}))
	for _, path := range []string{"/agent/runs/" + runID + "/transcript", "/agent/conversations/" + run.ConversationID + "/transcript"} {
		w := b.check(t, scenario{method: get, path: path, as: lineshaft.RoleViewer, header: map[string]string{"Accept": "application/octet-stream"}, status: 302})
		target := w.Header().Get("Location")
		if !strings.HasPrefix(target, Prefix+"/agent/downloads/") || w.Header().Get("Cache-Control") != "no-store" || w.Body.Len() != 0 {
			t.Errorf("%v %s", w.Header(), w.Body)
		}
		file := b.check(t, scenario{method: get, path: target, status: 200}) // no key
		var last int64
		for line := range strings.Lines(file.Body.String()) {
			var event RunEvent
			if err := json.Unmarshal([]byte(line), &event); err != nil || event.Sequence != last+1 {
				t.Errorf("line %q: %v", line, err)
			}
			last++
		}
		if last < 5 || file.Header().Get("Content-Type") != "application/x-ndjson" || !strings.Contains(file.Header().Get("Content-Disposition"), ".jsonl") {
			t.Errorf("%d lines, %v", last, file.Header())
		}
	}
}

func TestR11ArtifactsAreServedAsAttachments(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	const page = "<script>alert(1)</script>"
	_, item := b.uploaded(lineshaft.Upload{Kind: lineshaft.BlobArtifact, FileName: "größe \"x\".html", FilePath: "out/größe.html", MimeType: "text/html"}, page)
	uid := item.Data.ArtifactUID
	w := b.check(t, scenario{method: get, path: "/agent/artifacts/" + uid, as: lineshaft.RoleViewer, status: 200})
	artifact := decode[ArtifactResponse](t, w)
	if artifact.ArtifactType != "FILE" || artifact.Data.ContentType != "text/html" || *artifact.Data.SizeBytes != int64(len(page)) || artifact.Data.ExpiresAt == "" {
		t.Errorf("%s", w.Body)
	}
	if !strings.HasPrefix(artifact.Data.DownloadURL, testBase+Prefix+"/agent/downloads/") {
		t.Errorf("download_url %s", artifact.Data.DownloadURL)
	}
	redirect := b.check(t, scenario{method: get, path: "/agent/artifacts/" + uid + "/download", as: lineshaft.RoleViewer, status: 302})
	shot := b.check(t, scenario{method: get, path: "/agent/conversations/c/screenshots/" + uid + "/download", as: lineshaft.RoleViewer, status: 302})
	for _, target := range []string{redirect.Header().Get("Location"), shot.Header().Get("Location"), strings.TrimPrefix(artifact.Data.DownloadURL, testBase)} {
		file := b.check(t, scenario{method: get, path: target, status: 200})
		h := file.Header()
		if file.Body.String() != page || h.Get("Content-Length") != fmt.Sprint(len(page)) || h.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment; filename") {
			t.Errorf("%q %v", file.Body, h)
		}
	}
	b.check(t, scenario{method: get, path: "/agent/artifacts/nope", as: lineshaft.RoleViewer, status: 404, code: "resource_not_found"})
	b.check(t, scenario{method: get, path: "/agent/artifacts/" + uid, status: 401, code: "authentication_required"})
}

func TestR11LinksHaveNoContent(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.start(lineshaft.NewRun{Prompt: "x"})
	b.report(b.claim(), 1, lineshaft.NewDraft(lineshaft.EventArtifact, b.store.Now(), lineshaft.ArtifactData{Type: "PULL_REQUEST", URL: "https://forge.test/a/b/pull/1"}))
	events := decode[ListRunEventsResponse](t, b.check(t, scenario{method: get, path: "/agent/runs/" + id + "/events", as: lineshaft.RoleViewer, status: 200})).Events
	var data lineshaft.ArtifactData
	for _, e := range events {
		if e.Type == "artifact" {
			if err := json.Unmarshal(e.Data, &data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if data.UID == "" {
		t.Fatalf("%+v", events)
	}
	b.check(t, scenario{method: get, path: "/agent/artifacts/" + data.UID, as: lineshaft.RoleViewer, status: 404, code: "resource_not_found"})
	b.check(t, scenario{method: get, path: "/agent/artifacts/" + data.UID + "/download", as: lineshaft.RoleViewer, status: 404, code: "resource_not_found"})
}

func TestR10HandoffAttachments(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	runID, _ := b.uploaded(lineshaft.Upload{Kind: lineshaft.BlobArtifact, FileName: "a", FilePath: "a", MimeType: "text/plain"}, "x")
	list := decode[HandoffAttachmentsResponse](t, b.check(t, scenario{method: get, path: "/agent/runs/" + runID + "/handoff/attachments", as: lineshaft.RoleViewer, status: 200})).Attachments
	if len(list) != 1 || list[0].FileName != "in put.txt" || list[0].MimeType != "text/plain" || list[0].AttachmentID == "" {
		t.Fatalf("%+v", list)
	}
	file := b.check(t, scenario{method: get, path: strings.TrimPrefix(list[0].DownloadURL, testBase), status: 200})
	if file.Body.String() != "input" || !strings.Contains(file.Header().Get("Content-Disposition"), `filename="in put.txt"`) {
		t.Errorf("%q %v", file.Body, file.Header())
	}
	empty := b.start(lineshaft.NewRun{Prompt: "x"})
	b.check(t, scenario{method: get, path: "/agent/runs/" + empty + "/handoff/attachments", as: lineshaft.RoleViewer, status: 200, has: []string{`{"attachments":[]}`}})
}

func TestR10ForgedTokensAreRefused(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	runID, item := b.uploaded(lineshaft.Upload{Kind: lineshaft.BlobArtifact, FileName: "a", FilePath: "a", MimeType: "text/plain"}, "x")
	good, _ := b.control.SignDownload(kindArtifact, item.Data.ArtifactUID, downloadTTL)
	late, _ := b.control.SignDownload(kindArtifact, item.Data.ArtifactUID, -downloadTTL)
	odd, _ := b.control.SignDownload("snapshot", runID, downloadTTL)
	gone, _ := b.control.SignDownload(kindAttachment, runID+"/nope", downloadTTL)
	missing, _ := b.control.SignDownload(kindArtifact, "nope", downloadTTL)
	b.check(t, scenario{method: get, path: downloadPath(good), status: 200})
	for name, token := range map[string]string{
		"garbage": "x", "cut": good[:len(good)-2], "changed": "A" + good[1:], "expired": late, "of another kind": odd,
		"of no attachment": gone, "of no artifact": missing, "a path": "..%2f..%2fetc",
	} {
		w := b.check(t, scenario{method: get, path: Prefix + "/agent/downloads/" + token, status: 404, code: "resource_not_found"})
		if strings.Contains(w.Body.String(), "hmac") {
			t.Errorf("%s: %s", name, w.Body)
		}
	}
}

func TestDispositionAndContentType(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"": "attachment", "a.txt": "attachment; filename=a.txt", "a b": `attachment; filename="a b"`, "é": "attachment; filename*=utf-8''%C3%A9",
		"a\"b": `attachment; filename="a\"b"`,
	} {
		if got := disposition(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
	for kind, want := range map[string]string{"text/html": "text/html", "": "application/octet-stream", "a/b\r\nX: y": "application/octet-stream"} {
		if got := contentType(kind); got != want {
			t.Errorf("%q: %s", kind, got)
		}
	}
}

func TestRedirectsAreFollowedByPlainClients(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	_, item := b.uploaded(lineshaft.Upload{Kind: lineshaft.BlobArtifact, FileName: "a", FilePath: "a", MimeType: "text/plain"}, "content")
	srv := b.listen()
	r, err := http.NewRequestWithContext(t.Context(), get, srv.URL+Prefix+"/agent/artifacts/"+item.Data.ArtifactUID+"/download", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+b.key(lineshaft.RoleViewer))
	response, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != "content" {
		t.Errorf("%q, %v", text, err)
	}
}

// S-3: the link to a conversation shows what its maker may see of it, and no more.
func TestS3TranscriptLinkKeepsToItsMakersSight(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	first := b.start(lineshaft.NewRun{Prompt: "of no factory"})
	b.end(b.claim(), lineshaft.Succeeded)
	run := decode[RunItem](t, b.check(t, scenario{method: get, path: "/agent/runs/" + first, as: lineshaft.RoleViewer, status: 200}))
	for want, caller := range map[int]lineshaft.Caller{
		1: {Role: lineshaft.RoleViewer},
		0: {Role: lineshaft.RoleViewer, FactoryUIDs: []string{"f1", "f2"}},
	} {
		count := 0
		for _, err := range b.srv.seenRuns(t.Context(), sightOf(caller, run.ConversationID)) {
			if err != nil {
				t.Fatal(err)
			}
			count++
		}
		if count != want {
			t.Errorf("%+v sees %d runs, want %d", caller, count, want)
		}
	}
}
