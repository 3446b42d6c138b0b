package control_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
)

// With the store away every call says so. "Not found" would make a client forget
// its run, "not authenticated" its key, and "conflict" would end an agent.
func TestH5StoreAwayIsUnavailable(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		must[string](b)(b.s.Upload(b.Context(), job.ExecutionRef, lineshaft.Upload{Kind: lineshaft.BlobArtifact, FileName: "f"}, strings.NewReader("x")))
		run := b.run(runID)
		session := must[string](b)(b.s.CreateSession(b.Context(), adminKey))
		if err := b.store.Close(); err != nil {
			b.Fatal(err)
		}
		b.clock.advance(time.Minute) // what is in memory is old
		for name, call := range awayCalls(b, run, job, session) {
			err := call()
			if err == nil || lineshaft.CodeOf(err) != lineshaft.CodeUnavailable {
				b.Errorf("%s: %v", name, err)
			}
		}
	})
}

// No method is forgotten here.
func TestH5EveryMethodIsTriedWithoutStore(t *testing.T) {
	t.Parallel()
	// These do not touch the store, answer with the problem as data, or only wait.
	known := []string{"AddPart", "Ready", "SignDownload", "OpenDownload", "Directives"}
	run := &lineshaft.Run{Artifacts: make([]lineshaft.Artifact, 1)}
	for name := range awayCalls(&bench{T: t, clock: &clock{}}, run, lineshaft.Job{}, "") {
		name, _, _ = strings.Cut(name, " ")
		known = append(known, strings.TrimSuffix(name, ","))
	}
	service := reflect.TypeFor[*control.Service]()
	for i := range service.NumMethod() {
		if name := service.Method(i).Name; !slices.Contains(known, name) {
			t.Errorf("%s is not tried", name)
		}
	}
}

func awayCalls(b *bench, run *lineshaft.Run, job lineshaft.Job, session string) map[string]func() error {
	ctx, s, c := b.Context(), b.s, b.admin
	limited := lineshaft.Caller{Role: lineshaft.RoleRun, RunID: run.ID, KeyID: job.ExecutionID}
	calls := map[string]func() error{
		"Recheck":               func() error { return s.Recheck(ctx, c) },
		"Recheck, run":          func() error { return s.Recheck(ctx, limited) },
		"Interrupt":             func() error { return s.Interrupt(ctx, c, run.ID) },
		"DeleteRun":             func() error { return s.DeleteRun(ctx, c, run.ID) },
		"RevokeAPIKey":          func() error { return s.RevokeAPIKey(ctx, c, c.KeyID) },
		"EndSession":            func() error { return s.EndSession(ctx, session) },
		"ForgetWorker":          func() error { return s.ForgetWorker(ctx, "w-hosted") },
		"Purge":                 func() error { return s.Purge(ctx) },
		"RemoveDeleted":         func() error { return s.RemoveDeleted(ctx) },
		"NoteKeyUse":            func() error { return s.NoteKeyUse(ctx) },
		"CreateAPIKey":          func() error { _, _, err := s.CreateAPIKey(ctx, c, keyRequest()); return err },
		"RunBySession":          func() error { _, _, err := s.RunBySession(ctx, run.SessionID); return err },
		"SessionByConversation": func() error { _, _, err := s.SessionByConversation(ctx, run.ConversationID); return err },
		"StartRun":              func() error { _, err := s.StartRun(ctx, c, doIt(), nil); return err },
		"StartRun again":        func() error { _, err := s.StartRun(ctx, c, doIt(), idem("k", "1")); return err },
		"child":                 func() error { _, err := s.StartRun(ctx, limited, doIt(), nil); return err },
	}
	one := func(name string, call func() (any, error)) {
		calls[name] = func() error { _, err := call(); return err }
	}
	list := lineshaft.RunQuery{Sort: lineshaft.SortUpdated, Limit: 5}
	one("GetRun", func() (any, error) { return s.GetRun(ctx, c, run.ID) })
	one("ExplainRun", func() (any, error) { return s.ExplainRun(ctx, c, run.ID) })
	one("ListRuns", func() (any, error) { return s.ListRuns(ctx, c, list) })
	one("RunByConversation", func() (any, error) { return s.RunByConversation(ctx, c, run.ConversationID) })
	one("RunByReference", func() (any, error) { return s.RunByReference(ctx, c, "https://example.com") })
	one("Rerun", func() (any, error) { return s.Rerun(ctx, c, run.ID) })
	one("Events", func() (any, error) { return s.Events(ctx, c, run.ID, 0, 5) })
	one("Follow", func() (any, error) { return s.Follow(ctx, c, run.ID, 0) })
	one("FollowStates", func() (any, error) { return s.FollowStates(ctx, c, lineshaft.RunFilter{}, "") })
	one("Transcript", func() (any, error) { return s.Transcript(ctx, run.ID, 0, 5) })
	one("Artifact", func() (any, error) { return s.Artifact(ctx, c, run.Artifacts[0].UID) })
	one("ArtifactByLink", func() (any, error) { return s.ArtifactByLink(ctx, run.Artifacts[0].UID) })
	one("OpenBlob", func() (any, error) { return s.OpenBlob(ctx, run.Artifacts[0].BlobID) })
	one("Attachments", func() (any, error) { return s.Attachments(ctx, c, run.ID) })
	one("Followup", func() (any, error) {
		return s.Followup(ctx, c, lineshaft.NewFollowup{RunID: run.ID, Message: "x"}, nil)
	})
	one("Cancel", func() (any, error) { return s.Cancel(ctx, c, run.ID, true, nil) })
	one("CancelMatching", func() (any, error) { return s.CancelMatching(ctx, c, lineshaft.RunFilter{}) })
	one("Claim", func() (any, error) {
		return s.Claim(ctx, lineshaft.ClaimRequest{WorkerHost: "hosted", WorkerID: "w", Limit: 1})
	})
	one("Heartbeat", func() (any, error) { return s.Heartbeat(ctx, "w-hosted", []lineshaft.ExecutionRef{job.ExecutionRef}) })
	one("Heartbeat, idle", func() (any, error) { return s.Heartbeat(ctx, "w-hosted", nil) })
	one("Report", func() (any, error) {
		return s.Report(ctx, []lineshaft.Report{{ExecutionRef: job.ExecutionRef, First: 1}})
	})
	one("EndTurn", func() (any, error) {
		return s.EndTurn(ctx, job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded})
	})
	one("Upload", func() (any, error) {
		return s.Upload(ctx, job.ExecutionRef, lineshaft.Upload{Kind: lineshaft.BlobSnapshot}, strings.NewReader("x"))
	})
	one("Download", func() (any, error) { return s.Download(ctx, job.ExecutionRef, run.Artifacts[0].BlobID) })
	one("Workers", func() (any, error) { return s.Workers(ctx, c) })
	one("Authenticate", func() (any, error) { return s.Authenticate(ctx, adminKey) })
	one("Authenticate run", func() (any, error) { return s.Authenticate(ctx, job.RunToken) })
	one("CreateSession", func() (any, error) { return s.CreateSession(ctx, adminKey) })
	one("SessionCaller", func() (any, error) { return s.SessionCaller(ctx, session) })
	one("EnsureAdmin", func() (any, error) { return s.EnsureAdmin(ctx, "") })
	one("EnsureAdmin chosen", func() (any, error) { return s.EnsureAdmin(ctx, adminKey) })
	one("ListAPIKeys", func() (any, error) { return s.ListAPIKeys(ctx, c) })
	one("ListAudit", func() (any, error) { return s.ListAudit(ctx, c, 5, "") })
	one("ReapLeases", func() (any, error) { return s.ReapLeases(ctx) })
	one("EndOverdue", func() (any, error) { return s.EndOverdue(ctx) })
	one("IndexSearch", func() (any, error) { return s.IndexSearch(ctx) })
	return calls
}

func keyRequest() control.NewAPIKey { return control.NewAPIKey{Name: "n", Role: lineshaft.RoleViewer} }
