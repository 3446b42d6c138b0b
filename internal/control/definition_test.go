package control_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/definition"
	"github.com/lineshaft/lineshaft/internal/store"
)

// shop is a folder with a part of every kind and a comment in every file.
func shop() definition.Files {
	return definition.Files{
		"factory.yaml":             "# The shop\nschemaVersion: v1alpha1\nname: Web shop\nsecrets: [TEAM_TOKEN]\nagentDefaults:\n  model: sonnet\n",
		"agents/foreman/agent.md":  "---\n# takes the rest\nagentType: FOREMAN\n---\nYou look after the shop.\n",
		"agents/reviewer/agent.md": "---\nagentType: REVIEW # reviews\nsecrets: [TEAM_TOKEN]\n---\nYou review.\n",
		"automations/triage/automation.md": "---\n# new ones\nagent: reviewer\ntriggers:\n  - provider: webhook\n    event: received\n    filter:\n" +
			"      webhooks: [issues]\n      payload:\n        action: [opened]\n---\nLabel the issue.\n",
		"webhooks/issues.yaml":  "# of the forge\nsecretName: ISSUES\nrateLimit: 0\n",
		"runners/big.yaml":      "# much memory\nplatform: linux/amd64\n",
		"skills/label/SKILL.md": "---\nname: label\ndescription: Labels issues. # well\n---\nLabel.\n",
		"benchmarks/one.yaml":   "anything: goes\n",
	}
}

// with is a copy of a folder in which some texts are others; "" takes a file away.
func with(files definition.Files, changes ...string) definition.Files {
	out := maps.Clone(files)
	for i := 0; i+1 < len(changes); i += 2 {
		if out[changes[i]] = changes[i+1]; changes[i+1] == "" {
			delete(out, changes[i])
		}
	}
	return out
}

// replaced is a copy of a folder in which a text in a file is another.
func replaced(files definition.Files, path, old, text string) definition.Files {
	if !strings.Contains(files[path], old) {
		panic("no " + old + " in " + path)
	}
	return with(files, path, strings.ReplaceAll(files[path], old, text))
}

func (b *bench) teamSecret(name, value string) {
	b.Helper()
	must[lineshaft.Secret](b)(b.s.CreateSecret(b.Context(), b.admin, lineshaft.Secret{Name: name}, value))
}

const issuesSecret = "the-secret-of-the-issues-webhook-1"

// shopSecrets makes what the folder of shop names.
func (b *bench) shopSecrets() {
	b.Helper()
	b.teamSecret("ISSUES", issuesSecret)
	b.teamSecret("TEAM_TOKEN", "a token of the team")
}

// plain is a new factory, with nothing but its foreman.
func (b *bench) plain(name string) string {
	b.Helper()
	return must[*lineshaft.Factory](b)(b.s.CreateFactory(b.Context(), b.admin, factories.NewFactory{Name: name})).UID
}

// shopFactory is a factory with the folder of shop applied.
func (b *bench) shopFactory() string {
	b.Helper()
	b.shopSecrets()
	uid := b.plain("plain")
	b.apply(uid, shop())
	return uid
}

func (b *bench) apply(uid string, files definition.Files) factories.Applied {
	b.Helper()
	done, err := b.s.ApplyDefinition(b.Context(), b.admin, uid, factories.Application{Files: files})
	if err != nil {
		b.Fatal(tell(err))
	}
	return done
}

// tell is an error with all its problems.
func tell(err error) string {
	text := fmt.Sprint(err)
	if pub := asPublic(err); pub != nil {
		for _, p := range pub.Problems {
			text += fmt.Sprintf("\n  %+v", p)
		}
	}
	return text
}

func (b *bench) export(uid string) factories.Definition {
	b.Helper()
	return must[factories.Definition](b)(b.s.ExportDefinition(b.Context(), b.admin, uid))
}

func (b *bench) drift(uid string, files definition.Files) []definition.Change {
	b.Helper()
	plan, err := b.s.DriftDefinition(b.Context(), b.admin, uid, files)
	if err != nil {
		b.Fatal(tell(err))
	}
	return plan.Changes
}

// uids are those of all parts of a factory, by kind and name.
func (b *bench) uids(uid string) map[string]string {
	b.Helper()
	found := map[string]string{}
	for _, a := range must[[]lineshaft.Agent](b)(b.store.ListAgents(b.Context(), uid)) {
		found["agent "+a.Name] = a.UID
	}
	for _, a := range must[[]lineshaft.Automation](b)(b.store.ListAutomations(b.Context(), uid)) {
		found["automation "+a.Name] = a.UID
	}
	for _, w := range must[[]store.Webhook](b)(b.store.ListWebhooks(b.Context(), uid)) {
		found["webhook "+w.Name] = w.UID
	}
	for _, r := range must[[]lineshaft.Runner](b)(b.store.ListRunners(b.Context(), uid)) {
		found["runner "+r.Name] = r.UID
	}
	return found
}

func changesOf(changes []definition.Change) []string {
	var told []string
	for _, c := range changes {
		told = append(told, fmt.Sprintf("%s %s %s", c.Action, c.Kind, c.Name))
	}
	slices.Sort(told)
	return told
}

func TestF4ApplyAddsChangesRemoves(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.shopSecrets()
		uid := b.plain("plain")
		foreman := b.uids(uid)["agent foreman"]
		first := b.apply(uid, shop())
		want := []string{"add agent reviewer", "add automation triage", "add runner big", "add skill label", "add webhook issues", "change agent foreman", "change factory Web shop"}
		if got := changesOf(first.Changes); !reflect.DeepEqual(got, want) || !first.Changed || first.Revision != 2 || !slices.Contains(first.Unused, "benchmarks/one.yaml") {
			b.Fatalf("%v: %+v", got, first)
		}
		before := b.uids(uid)
		if len(before) != 5 || before["agent foreman"] != foreman {
			b.Fatalf("%v", before)
		}
		f := must[*lineshaft.Factory](b)(b.s.GetFactory(b.Context(), b.admin, uid))
		if f.Name != "Web shop" || f.Defaults.ModelID != "sonnet" || f.Foreman != "foreman" || f.Revision != 2 || !reflect.DeepEqual(f.Secrets, []string{"TEAM_TOKEN"}) {
			b.Errorf("%+v", f)
		}
		next := with(shop(), "agents/reviewer/agent.md", "", "agents/checker/agent.md", "---\nagentType: VERIFY\n---\nCheck.\n",
			"runners/big.yaml", "", "skills/label/SKILL.md", "---\nname: label\ndescription: Others.\n---\nLabel.\n",
			"automations/triage/automation.md", strings.ReplaceAll(shop()["automations/triage/automation.md"], "agent: reviewer", "agent: checker"))
		second := b.apply(uid, next)
		want = []string{"add agent checker", "change automation triage", "change skill label", "remove agent reviewer", "remove runner big"}
		if got := changesOf(second.Changes); !reflect.DeepEqual(got, want) || second.Revision != 3 {
			b.Fatalf("%v: %+v", got, second)
		}
		after := b.uids(uid)
		for _, part := range []string{"agent foreman", "automation triage", "webhook issues"} {
			if after[part] != before[part] || after[part] == "" {
				b.Errorf("%s had the uid %q and has %q", part, before[part], after[part])
			}
		}
		if len(after) != 4 || after["agent checker"] == "" {
			b.Errorf("%v", after)
		}
		if skills := must[[]lineshaft.Skill](b)(b.store.ListSkills(b.Context(), uid)); len(skills) != 1 || skills[0].Description != "Others." {
			b.Errorf("%+v", skills)
		}
		entries := b.audits(uid)
		last := entries[len(entries)-1]
		if last.Action != "definition.apply" || last.Detail["revision"] != "3" || last.Detail["added"] != "1" || last.Detail["changed"] != "2" || last.Detail["removed"] != "2" {
			b.Errorf("%+v", last)
		}
	})
}

// An applied folder comes back byte for byte, and applying that changes nothing: no
// revision, no new number of the factory, no entry in the log.
func TestF5ApplyExportApply(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid := b.shopFactory()
		out := b.export(uid)
		if !maps.Equal(out.Files, shop()) || out.Revision != 2 {
			b.Errorf("revision %d:\n%v", out.Revision, out.Files)
		}
		entries := len(b.audits(uid))
		again := b.apply(uid, out.Files)
		if again.Changed || len(again.Changes) > 0 || again.Revision != 2 {
			b.Errorf("%+v", again)
		}
		if f := must[*lineshaft.Factory](b)(b.s.GetFactory(b.Context(), b.admin, uid)); f.Revision != 2 || len(b.audits(uid)) != entries {
			b.Errorf("revision %d, %d entries", f.Revision, len(b.audits(uid))-entries)
		}
		// A comment is a change of the text alone.
		commented := with(shop(), "webhooks/issues.yaml", "# of the other forge\nsecretName: ISSUES\nrateLimit: 0\n")
		if done := b.apply(uid, commented); !done.Changed || len(done.Changes) > 0 || done.Revision != 3 || !maps.Equal(b.export(uid).Files, commented) {
			b.Errorf("%+v", done)
		}
	})
}

// The definition of the example works unchanged, once its secrets exist.
func TestF4TheExampleApplies(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		files := definition.Example("Bakery")
		d, problems := definition.Parse(files)
		if len(problems) > 0 {
			b.Fatal(problems)
		}
		for _, w := range d.Webhooks {
			b.teamSecret(w.SecretName, issuesSecret)
		}
		uid := b.plain("plain")
		b.apply(uid, files)
		if again := b.apply(uid, b.export(uid).Files); again.Changed {
			b.Errorf("%+v", again)
		}
	})
}

// All mistakes against the server come at once, with their places, and nothing is done.
func TestF4MistakesAgainstTheServer(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid := b.shopFactory()
		must[*lineshaft.Factory](b)(b.s.CreateFactory(b.Context(), b.admin, factories.NewFactory{Name: "other", Alias: "Taken"}))
		b.teamSecret("SHORT", "short")
		b.teamSecret("ODD", "a value with spaces and enough length")
		made := must[factories.IssuedWebhook](b)(b.s.CreateWebhook(b.Context(), b.admin, b.plain("third"), factories.NewWebhook{Name: "own"}))
		bad := with(shop(),
			"factory.yaml", "schemaVersion: v1alpha1\nname: Web shop\nalias: taken\nsecrets:\n  - TEAM_TOKEN\n  - NOWHERE\nagentDefaults:\n  environmentId: AAAAAAAAAAAAAAAAAAAAAA\n  secrets: [GONE]\n",
			"agents/reviewer/agent.md", "---\nagentType: REVIEW\nsecrets: ["+made.SecretName+"]\n---\nYou review.\n",
			"automations/triage/automation.md", strings.ReplaceAll(shop()["automations/triage/automation.md"], "webhooks: [issues]", "webhook_ids: ["+made.UID+"]"),
			"webhooks/a.yaml", "secretName: MISSING\n", "webhooks/b.yaml", "secretName: SHORT\n", "webhooks/c.yaml", "authMode: url_token\nsecretName: ODD\n",
			"webhooks/d.yaml", "secretName: "+made.SecretName+"\n", "webhooks/e.yaml", "authMode: signature\nsignatureScheme: standard_webhooks\nsecretName: ODD\n")
		revision := b.export(uid).Revision
		_, err := b.s.ApplyDefinition(b.Context(), b.admin, uid, factories.Application{Files: bad})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		var got []string
		for _, p := range asPublic(err).Problems {
			got = append(got, fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column))
			if p.Message == "" || strings.Contains(p.Message+p.Hint, "a value with spaces") {
				b.Errorf("%+v", p)
			}
		}
		want := []string{
			"agents/reviewer/agent.md:3:11", "automations/triage/automation.md:8:21",
			"factory.yaml:3:8", "factory.yaml:6:5", "factory.yaml:8:18", "factory.yaml:9:13",
			"webhooks/a.yaml:1:13", "webhooks/b.yaml:1:13", "webhooks/c.yaml:2:13", "webhooks/d.yaml:1:13", "webhooks/e.yaml:3:13",
		}
		if !reflect.DeepEqual(got, want) {
			b.Errorf("%v\nwant %v\n%s", got, want, tell(err))
		}
		if text := asPublic(err).Message; !strings.Contains(text, "11 mistakes") || !strings.Contains(text, "agents/reviewer/agent.md:3:11") {
			b.Error(text)
		}
		if out := b.export(uid); !maps.Equal(out.Files, shop()) || out.Revision != revision {
			b.Errorf("something was done: %+v", out)
		}
		validation := must[factories.Validation](b)(b.s.ValidateDefinition(b.Context(), b.admin, uid, bad))
		if !reflect.DeepEqual(validation.Problems, asPublic(err).Problems) {
			b.Errorf("%+v", validation)
		}
		_, planErr := b.s.PlanDefinition(b.Context(), b.admin, uid, bad)
		if planErr == nil || len(asPublic(planErr).Problems) != len(want) {
			b.Errorf("%v", planErr)
		}
		if good := must[factories.Validation](b)(b.s.ValidateDefinition(b.Context(), b.admin, uid, shop())); len(good.Problems) > 0 || len(good.Unused) != 1 {
			b.Errorf("%+v", good)
		}
	})
}

// A folder is held against the server before its factory is made: the same mistakes as at
// its first apply, nothing is written, and a key that could not see the factory is refused.
func TestF3PlanOfANewFactory(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		bad := with(shop(), "webhooks/a.yaml", "secretName: MISSING\n", "agents/reviewer/agent.md",
			"---\nenvironmentId: AAAAAAAAAAAAAAAAAAAAAA\nharness: {type: claude, auth: {source: managedSecret, secretName: GONE}}\n---\nYou review.\n")
		_, planned := b.s.PlanNewFactory(b.Context(), b.admin, bad)
		wantCode(b, planned, lineshaft.CodeInvalidRequest)
		uid := b.plain("Web shop")
		_, applied := b.s.ApplyDefinition(b.Context(), b.admin, uid, factories.Application{Files: bad})
		if got, want := asPublic(planned).Problems, asPublic(applied).Problems; len(got) < 4 || !reflect.DeepEqual(got, want) {
			b.Errorf("%+v, the apply says %+v", got, want)
		}
		b.shopSecrets()
		plan := must[factories.Plan](b)(b.s.PlanNewFactory(b.Context(), b.admin, shop()))
		if plan.Revision != 0 || len(plan.Changes) < 5 || plan.Changes[0].Kind != definition.KindFactory || len(plan.Changes[0].Fields) > 0 {
			b.Errorf("%+v", plan)
		}
		for _, change := range plan.Changes {
			if change.Action != definition.ActionAdd {
				b.Errorf("%+v", change)
			}
		}
		page := must[factories.FactoryPage](b)(b.s.ListFactories(b.Context(), b.admin, factories.FactoryQuery{Limit: 10}))
		if len(page.Factories) != 1 {
			b.Errorf("a plan made a factory: %+v", page)
		}
		limited := b.admin
		limited.FactoryUIDs = []string{uid}
		_, err := b.s.PlanNewFactory(b.Context(), limited, shop())
		wantCode(b, err, lineshaft.CodeNotAuthorized)
	})
}

// If the last statement fails, everything before it is rolled back.
func TestF4AllOrNothing(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid := b.shopFactory()
		before := b.uids(uid)
		// Another state under the next number makes the record fail, after all else is written.
		err := b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.InsertRevision(ctx, nil, lineshaft.Revision{FactoryUID: uid, Number: 3, Source: lineshaft.RevisionEdit}, map[string]string{"factory.yaml": "other"})
			return err
		})
		wantCode(b, err, "")
		b.teamSecret("NEW_SECRET", issuesSecret)
		next := with(shop(), "agents/reviewer/agent.md", "", "automations/triage/automation.md", "", "webhooks/issues.yaml", "", "webhooks/new.yaml", "secretName: NEW_SECRET\n", "runners/big.yaml", "")
		_, err = b.s.ApplyDefinition(b.Context(), b.admin, uid, factories.Application{Files: next})
		if err == nil {
			b.Fatal("it was applied")
		}
		if after := b.uids(uid); !maps.Equal(before, after) {
			b.Errorf("%v, was %v", after, before)
		}
		if entries := b.audits(uid); entries[len(entries)-1].Detail["revision"] != "2" {
			b.Errorf("%+v", entries[len(entries)-1])
		}
	})
}

func TestF4IfRevision(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid := b.shopFactory()
		must[*lineshaft.Factory](b)(b.s.UpdateFactory(b.Context(), b.admin, uid, factories.FactoryChange{Paused: new(true)})) // no change of the definition
		next := replaced(shop(), "factory.yaml", "sonnet", "opus")
		for _, tc := range []struct {
			revision int64
			code     lineshaft.Code
		}{{1, lineshaft.CodeConflict}, {3, lineshaft.CodeConflict}, {2, ""}, {2, lineshaft.CodeConflict}} {
			_, err := b.s.ApplyDefinition(b.Context(), b.admin, uid, factories.Application{Files: next, IfRevision: tc.revision, Comment: "why"})
			wantCode(b, err, tc.code)
		}
		page := must[factories.RevisionPage](b)(b.s.ListRevisions(b.Context(), b.admin, uid, 1, ""))
		if r := page.Revisions[0]; r.Number != 4 || r.Comment != "why" || r.Source != lineshaft.RevisionApply || r.Actor.UID != b.admin.Principal.UID {
			b.Errorf("%+v", r)
		}
	})
}

// A key of a factory may change it, but not bring the team's secrets in.
func TestS3LimitedKeysNameNoNewSecrets(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid := b.shopFactory()
		b.teamSecret("OTHER", issuesSecret)
		limited := b.caller(lineshaft.RoleManager, uid)
		apply := func(files definition.Files) error {
			_, err := b.s.ApplyDefinition(b.Context(), limited, uid, factories.Application{Files: files})
			return err
		}
		wantCode(b, apply(replaced(shop(), "factory.yaml", "sonnet", "opus")), "")
		for _, files := range []definition.Files{
			replaced(shop(), "agents/foreman/agent.md", "agentType: FOREMAN", "agentType: FOREMAN\nsecrets: [TEAM_TOKEN]"),
			replaced(shop(), "webhooks/issues.yaml", "ISSUES", "OTHER"),
			with(shop(), "webhooks/more.yaml", "secretName: OTHER\n"),
		} {
			err := apply(files)
			wantCode(b, err, lineshaft.CodeInvalidRequest)
			if !strings.Contains(tell(err), "limited to some factories") || len(asPublic(err).Problems) != 1 {
				b.Error(tell(err))
			}
		}
		other := b.plain("other")
		for _, err := range []error{
			second(b.s.ApplyDefinition(b.Context(), limited, other, factories.Application{Files: definition.Files{}})),
			second(b.s.PlanDefinition(b.Context(), limited, other, shop())),
			second(b.s.DriftDefinition(b.Context(), limited, other, shop())),
			second(b.s.ValidateDefinition(b.Context(), limited, other, shop())),
			second(b.s.ExportDefinition(b.Context(), limited, other)),
			second(b.s.ListRevisions(b.Context(), limited, other, 5, "")),
			second(b.s.GetRevision(b.Context(), limited, other, 1)),
			second(b.s.RollbackDefinition(b.Context(), limited, other, 1)),
		} {
			wantCode(b, err, lineshaft.CodeNotFound)
		}
	})
}
