package control_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/definition"
	"github.com/lineshaft/lineshaft/internal/store"
)

// history is what made the revisions of a factory, oldest first.
func (b *bench) history(uid string) []string {
	b.Helper()
	var told []string
	for cursor := ""; ; {
		page := must[factories.RevisionPage](b)(b.s.ListRevisions(b.Context(), b.admin, uid, 2, cursor))
		for _, r := range page.Revisions {
			told = append(told, fmt.Sprintf("%d %s %s", r.Number, r.Source, r.Comment))
		}
		if cursor = page.Next; cursor == "" {
			slices.Reverse(told)
			return told
		}
	}
}

func (b *bench) wantHistory(uid string, want ...string) {
	b.Helper()
	if got := b.history(uid); !slices.Equal(got, want) {
		b.Errorf("history\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Every edit over the API is a revision of the folder, except changes that no folder shows.
func TestF5EditsAreRevisions(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		a := w.automation("triage", `{"action": ["opened"]}`)
		must[*lineshaft.Factory](w.bench)(w.s.UpdateFactory(w.Context(), w.admin, w.factory, factories.FactoryChange{Paused: new(true)}))
		must[factories.IssuedWebhook](w.bench)(w.s.RotateWebhook(w.Context(), w.admin, w.factory, w.hook.UID, factories.WebhookRotation{}))
		must[*lineshaft.Automation](w.bench)(w.s.UpdateAutomation(w.Context(), w.admin, w.factory, a.UID, factories.AutomationChange{Name: new("sort")}))
		w.update(factories.WebhookChange{Enabled: new(false)})
		must[*lineshaft.Factory](w.bench)(w.s.UpdateFactory(w.Context(), w.admin, w.factory, factories.FactoryChange{Description: new("text")}))
		wantCode(w, w.s.DeleteAutomation(w.Context(), w.admin, w.factory, a.UID), "")
		w.wantHistory(w.factory,
			"1 edit added agents/foreman/agent.md, added factory.yaml", "2 edit added webhooks/issues.yaml", "3 edit added automations/triage/automation.md",
			"6 edit added automations/sort/automation.md, removed automations/triage/automation.md", "7 edit changed webhooks/issues.yaml",
			"8 edit changed factory.yaml", "9 edit removed automations/sort/automation.md")
		out := w.export(w.factory)
		if newest := must[factories.RevisionDetail](w.bench)(w.s.GetRevision(w.Context(), w.admin, w.factory, 9)); !maps.Equal(newest.Texts, out.Files) || out.Revision != 9 {
			w.Errorf("exported %v, recorded %v", out.Files, newest.Texts)
		}
		if again := w.apply(w.factory, out.Files); again.Changed {
			w.Errorf("%+v", again)
		}
		third := must[factories.RevisionDetail](w.bench)(w.s.GetRevision(w.Context(), w.admin, w.factory, 3))
		if text := third.Texts["automations/triage/automation.md"]; !strings.Contains(text, "opened") || !strings.Contains(text, "Work on it") {
			w.Errorf("%s", text)
		}
		_, err := w.s.GetRevision(w.Context(), w.admin, w.factory, 4)
		wantCode(w, err, lineshaft.CodeNotFound)
		wantCode(w, w.s.DeleteFactory(w.Context(), w.admin, w.factory), "")
	})
}

// An edit touches the file of the part alone: comments of all others stay.
func TestF5EditsKeepOtherFiles(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid := b.shopFactory()
		a := b.uids(uid)["automation triage"]
		must[*lineshaft.Automation](b)(b.s.UpdateAutomation(b.Context(), b.admin, uid, a, factories.AutomationChange{Enabled: new(false)}))
		out := b.export(uid).Files
		for path, text := range shop() {
			if same := out[path] == text; same == (path == "automations/triage/automation.md") {
				b.Errorf("%s is\n%s", path, out[path])
			}
		}
		if len(out) != len(shop()) || !strings.Contains(out["automations/triage/automation.md"], "enabled: false") {
			b.Errorf("%v", out)
		}
		if changes := b.drift(uid, shop()); len(changes) != 1 || changes[0].Name != "triage" || len(changes[0].Fields) != 1 || changes[0].Fields[0].Field != "enabled" {
			b.Errorf("%+v", changes)
		}
	})
}

// A factory from before there were revisions gets its first with its next edit.
func TestF5FactoriesFromBefore(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := lineshaft.Factory{UID: "old", Name: "Old", Mode: lineshaft.ModeManaged, Foreman: lineshaft.ForemanName}
		b.write(func(ctx context.Context, tx *store.Tx) error {
			if err := tx.InsertFactory(ctx, f); err != nil {
				return err
			}
			return tx.PutAgent(ctx, lineshaft.Agent{UID: "oldforeman", FactoryUID: "old", Name: lineshaft.ForemanName, Type: lineshaft.AgentForeman})
		})
		b.wantHistory("old")
		out := b.export("old")
		if out.Revision != 1 || len(out.Files) != 2 {
			b.Errorf("%+v", out)
		}
		_, err := b.s.ApplyDefinition(b.Context(), b.admin, "old", factories.Application{Files: out.Files, IfRevision: 2})
		wantCode(b, err, lineshaft.CodeConflict)
		must[factories.Applied](b)(b.s.ApplyDefinition(b.Context(), b.admin, "old", factories.Application{Files: out.Files, IfRevision: 1}))
		b.wantHistory("old", "2 apply ")
		must[*lineshaft.Factory](b)(b.s.UpdateFactory(b.Context(), b.admin, "old", factories.FactoryChange{Name: new("New")}))
		b.wantHistory("old", "2 apply ", "3 edit changed factory.yaml")
	})
}

func TestF4Rollback(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid := b.shopFactory()
		before := b.uids(uid)
		b.teamSecret("SECOND", issuesSecret)
		b.apply(uid, with(shop(), "agents/reviewer/agent.md", "", "automations/triage/automation.md", "", "webhooks/issues.yaml", "secretName: SECOND\n"))
		back := must[factories.Applied](b)(b.s.RollbackDefinition(b.Context(), b.admin, uid, 2))
		if !back.Changed || back.Revision != 4 || !maps.Equal(b.export(uid).Files, shop()) {
			b.Errorf("%+v", back)
		}
		b.wantHistory(uid, "1 edit added agents/foreman/agent.md, added factory.yaml", "2 apply ", "3 apply ", "4 rollback back to revision 2")
		if after := b.uids(uid); after["webhook issues"] != before["webhook issues"] || after["automation triage"] == before["automation triage"] {
			b.Errorf("%v, was %v", after, before)
		}
		if again := must[factories.Applied](b)(b.s.RollbackDefinition(b.Context(), b.admin, uid, 2)); again.Changed || again.Revision != 4 {
			b.Errorf("%+v", again)
		}
		if last := b.audits(uid)[len(b.audits(uid))-1]; last.Action != "definition.rollback" || last.Detail["comment"] != "back to revision 2" {
			b.Errorf("%+v", last)
		}
		// What the revision names may be gone.
		must[factories.Applied](b)(b.s.RollbackDefinition(b.Context(), b.admin, uid, 3))
		wantCode(b, b.s.DeleteSecret(b.Context(), b.admin, "ISSUES"), "")
		_, err := b.s.RollbackDefinition(b.Context(), b.admin, uid, 2)
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		if problems := asPublic(err).Problems; len(problems) != 1 || problems[0].File != "webhooks/issues.yaml" || problems[0].Line != 2 {
			b.Error(tell(err))
		}
		_, err = b.s.RollbackDefinition(b.Context(), b.admin, uid, 99)
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}

// A factory that follows a repository takes definitions from there only.
func TestF5RepositoryFactoriesTakeTheirOwnDefinitions(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.shopSecrets()
		f := lineshaft.Factory{UID: "followed", Name: "Followed", Mode: lineshaft.ModeRepository}
		b.write(func(ctx context.Context, tx *store.Tx) error { return tx.InsertFactory(ctx, f) })
		_, err := b.s.ApplyDefinition(b.Context(), b.admin, "followed", factories.Application{Files: shop()})
		wantCode(b, err, lineshaft.CodeConflict)
		done := must[factories.Applied](b)(control.ApplyCommit(b.Context(), b.s, b.admin, "followed", shop(), "c0ffee"))
		if !done.Changed || done.Revision != 2 {
			b.Errorf("%+v", done)
		}
		_, err = b.s.RollbackDefinition(b.Context(), b.admin, "followed", 2)
		wantCode(b, err, lineshaft.CodeConflict)
		if changes := b.drift("followed", replaced(shop(), "factory.yaml", "sonnet", "opus")); len(changes) != 1 {
			b.Errorf("%+v", changes)
		}
		if r := must[factories.RevisionDetail](b)(b.s.GetRevision(b.Context(), b.admin, "followed", 2)); r.Source != lineshaft.RevisionRepository || r.Commit != "c0ffee" {
			b.Errorf("%+v", r)
		}
		if f := must[*lineshaft.Factory](b)(b.s.GetFactory(b.Context(), b.admin, "followed")); f.Foreman != "foreman" || f.Mode != lineshaft.ModeRepository {
			b.Errorf("%+v", f)
		}
	})
}

// Whatever the API makes can be written as a folder and read back.
func TestF5ApiEditsRoundTrip(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{AuthMode: lineshaft.AuthSignature, SignatureScheme: "hmac", Secret: new(longToken), HMAC: lineshaft.WebhookHMAC{Header: "X-Sig", Encoding: "base64"}}, func(w *works) {
		w.managed("TOKEN", lineshaft.AccessGranted)
		w.automation("a", ` {"b": {"in": [1.50, 12345678901234567890, "x", null, true]}, "a": {"not_in": ["é<&>"], "exists": true}, "c d": ["- #"]}`, concurrency("k-{{payload.a}}", lineshaft.PolicyFollowup))
		w.automation("b.c-D 1", "", func(n *lineshaft.Automation) {
			n.Prompt, n.Enabled, n.MaxRunsPerHour = "---\nodd: front matter\n---\n  indented\n\n\n", false, 7
			n.Triggers = append(n.Triggers, lineshaft.Trigger{Provider: "webhook", Event: "received", Filter: lineshaft.TriggerFilter{WebhookIDs: []string{w.hook.UID}, Payload: json.RawMessage(`{"x":[]}`)}})
			n.Config = lineshaft.AgentConfig{
				Name: "n: 1", BasePrompt: " b\n", Skills: []string{"o/r:s"}, TimeoutMinutes: new(5), IdleTimeoutMinutes: new(0), Secrets: []string{"TOKEN"},
				Harness: &lineshaft.HarnessConfig{Type: "command", Command: []string{"a b", "--x"}}, Budget: &lineshaft.Budget{MaxTokens: 5, MaxCostMicros: 1_500_000},
				MCPServers:  map[string]lineshaft.MCPServer{"t": {Command: "c", Args: []string{"-v"}, Env: map[string]string{"K": "{{TOKEN}}"}}, "u": {URL: "https://u.example", Headers: map[string]string{"H": "v"}}},
				MaxAttempts: new(2), StallMinutes: new(3), QueueTimeoutMinutes: new(9), ComputerUseEnabled: new(false), WorkerHost: "mac",
			}
		})
		must[*lineshaft.Factory](w.bench)(w.s.UpdateFactory(w.Context(), w.admin, w.factory, factories.FactoryChange{Name: new("yes: #1"), Alias: new("0x1F"), Description: new("a\n b: |\n")}))
		out := w.export(w.factory).Files
		if changes := w.drift(w.factory, out); len(changes) > 0 {
			w.Errorf("%+v\n%v", changes, out)
		}
		if again := w.apply(w.factory, out); again.Changed {
			w.Errorf("%+v", again)
		}
		// Also into a fresh start: what was written says everything.
		canonical := definition.Render(parsed(w, out), nil)
		if again := w.apply(w.factory, canonical); len(again.Changes) > 0 {
			w.Errorf("%+v", again)
		}
	})
}

func parsed(w *works, files definition.Files) *definition.Definition {
	w.Helper()
	d, problems := definition.Parse(files)
	if len(problems) > 0 {
		w.Fatalf("%+v", problems)
	}
	return d
}

// An automation that names a deleted webhook stays and is exported; the folder is
// refused until it names another one.
func TestF5DanglingWebhooksAreTold(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		a := w.automation("triage", "")
		wantCode(w, w.s.DeleteWebhook(w.Context(), w.admin, w.factory, w.hook.UID), "")
		must[*lineshaft.Automation](w.bench)(w.s.UpdateAutomation(w.Context(), w.admin, w.factory, a.UID, factories.AutomationChange{Enabled: new(false)}))
		out := w.export(w.factory)
		if text := out.Files["automations/triage/automation.md"]; out.Revision != 5 || !strings.Contains(text, "issues") || !strings.Contains(text, "enabled: false") {
			w.Errorf("%d\n%s", out.Revision, text)
		}
		_, err := w.s.ApplyDefinition(w.Context(), w.admin, w.factory, factories.Application{Files: out.Files})
		wantCode(w, err, lineshaft.CodeInvalidRequest)
		if problems := asPublic(err).Problems; len(problems) != 1 || problems[0].File != "automations/triage/automation.md" || problems[0].Line == 0 {
			w.Error(tell(err))
		}
	})
}

// Two edits that began with the same folder both end up in the history.
func TestF5EditsAtTheSameTimeAreRevisions(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		const edits = 8
		errs := make(chan error, edits)
		for i := range edits {
			go func() {
				_, err := w.s.CreateAutomation(w.Context(), w.admin, w.factory, lineshaft.Automation{Name: fmt.Sprintf("a%d", i), Prompt: "x", Triggers: []lineshaft.Trigger{w.trigger(`{"n": [1]}`)}})
				errs <- err
			}()
		}
		for range edits {
			if err := <-errs; err != nil {
				w.Error(err)
			}
		}
		out := w.export(w.factory)
		newest := must[factories.RevisionDetail](w.bench)(w.s.GetRevision(w.Context(), w.admin, w.factory, out.Revision))
		if !maps.Equal(newest.Texts, out.Files) || len(w.history(w.factory)) != 2+edits {
			w.Errorf("history %v, exported %v, recorded %v", w.history(w.factory), out.Files, newest.Texts)
		}
	})
}

// Edits keep the folder as small as one that is applied must be, and never keep a factory
// from becoming smaller.
func TestH14EditsKeepTheFolderSmall(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid := b.shopFactory()
		add := func(i int) (*lineshaft.Agent, error) {
			return b.s.CreateAgent(b.Context(), b.admin, lineshaft.Agent{FactoryUID: uid, Name: fmt.Sprintf("agent %d", i), Prompt: strings.Repeat("x", lineshaft.MaxPromptBytes)})
		}
		var last *lineshaft.Agent
		var err error
		most := definition.MaxBytes / lineshaft.MaxPromptBytes
		for i := 0; err == nil && i <= most; i++ {
			var made *lineshaft.Agent
			if made, err = add(i); err == nil {
				last = made
			}
		}
		wantCode(b, err, lineshaft.CodeConflict)
		wantCode(b, b.s.DeleteAgent(b.Context(), b.admin, last.UID), "")
		if _, err := add(most + 1); err != nil {
			b.Errorf("there is room again: %v", err)
		}
	})
}
