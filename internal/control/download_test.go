package control_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func TestR10DownloadLinks(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		b := open(t, database)
		id := b.newID()
		token, expires := b.s.SignDownload("artifact", id, time.Hour)
		if wait := expires.Sub(b.clock.now()); wait > time.Hour || wait < 59*time.Minute {
			b.Fatalf("expires in %s", wait)
		}
		if got := must[runs.Download](b)(b.s.OpenDownload(b.Context(), token)); got != (runs.Download{Kind: "artifact", ID: id}) {
			b.Fatalf("%+v", got)
		}
		if err := b.store.Close(); err != nil {
			b.Fatal(err)
		}
		b = open(t, database) // links outlive a restart
		must[runs.Download](b)(b.s.OpenDownload(b.Context(), token))
		b.clock.advance(time.Hour)
		_, err := b.s.OpenDownload(b.Context(), token)
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}

func TestR10TamperedLinksAreRefused(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		token, _ := b.s.SignDownload("artifact", b.newID(), time.Hour)
		for i := range len(token) {
			for _, c := range "Ab9-" {
				if changed := token[:i] + string(c) + token[i+1:]; changed != token {
					if _, err := b.s.OpenDownload(b.Context(), changed); lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
						b.Fatalf("character %d changed: %v", i, err)
					}
				}
			}
		}
		raw := must[[]byte](b)(base64.RawURLEncoding.DecodeString(token))
		parts := strings.Split(string(raw), ".")
		for name, text := range map[string]string{
			"empty": "", "no dots": "x", "no mac": strings.Join(parts[:3], "."), "empty mac": strings.Join(parts[:3], ".") + ".",
			"other kind": "transcript." + strings.Join(parts[1:], "."), "longer life": parts[0] + "." + parts[1] + ".99999999999." + parts[3],
			"more parts": "a." + string(raw),
		} {
			if _, err := b.s.OpenDownload(b.Context(), base64.RawURLEncoding.EncodeToString([]byte(text))); lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
				b.Errorf("%s: %v", name, err)
			}
		}
		other, _ := b.s.SignDownload("artifact", b.newID(), -time.Second)
		_, err := b.s.OpenDownload(b.Context(), other)
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}

// What a link leads to can be read without a caller.
func TestR10LinksAreThePermission(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		must[string](b)(b.s.Upload(b.Context(), job.ExecutionRef, lineshaft.Upload{Kind: lineshaft.BlobArtifact, FileName: "f"}, strings.NewReader("x")))
		uid := b.run(runID).Artifacts[0].UID
		if artifact := must[*lineshaft.Artifact](b)(b.s.ArtifactByLink(b.Context(), uid)); artifact.RunID != runID {
			b.Fatalf("%+v", artifact)
		}
		_, err := b.s.ArtifactByLink(b.Context(), b.newID())
		wantCode(b, err, lineshaft.CodeNotFound)
		_, err = b.s.Artifact(b.Context(), b.caller(lineshaft.RoleViewer, "f1"), uid)
		wantCode(b, err, lineshaft.CodeNotFound)
		var events []lineshaft.Event
		for {
			page := must[runs.EventPage](b)(b.s.Transcript(b.Context(), runID, int64(len(events)), 2))
			events = append(events, page.Events...)
			if !page.More {
				break
			}
		}
		if want := b.events(runID); len(events) != len(want) || events[len(events)-1].ID != want[len(want)-1].ID {
			b.Fatalf("%d of %d events", len(events), len(want))
		}
	})
}
