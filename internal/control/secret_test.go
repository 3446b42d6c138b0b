package control_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/store"
)

const (
	hidden   = "correct-horse-battery-staple"
	changed  = "another-horse-battery-staple"
	factoryF = "01980f6e-5b7c-7c1a-9d53-0c8a7f3e2b11"
)

func (b *bench) managed(name string, access lineshaft.SecretAccess) lineshaft.Secret {
	b.Helper()
	return must[lineshaft.Secret](b)(b.s.CreateSecret(b.Context(), b.admin, lineshaft.Secret{Name: name, Access: access}, hidden))
}

// webhook stores a webhook behind the service's back.
func (b *bench) secretHook(uid, secret string, owns bool) {
	b.Helper()
	at := b.store.Now()
	b.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.PutWebhook(ctx, store.Webhook{Webhook: lineshaft.Webhook{
			UID: uid, FactoryUID: factoryF, Name: "hook " + uid, AuthMode: lineshaft.AuthToken, SecretName: secret, OwnsSecret: owns,
			Enabled: true, MaxBodyBytes: 1, CreatedAt: at, UpdatedAt: at,
		}})
	})
}

func naming(names ...string) lineshaft.NewRun {
	return lineshaft.NewRun{Config: lineshaft.AgentConfig{Secrets: names}}
}

func TestS1SecretLife(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		ctx := b.Context()
		made := b.managed("TOKEN", "")
		if made.Access != lineshaft.AccessGranted || made.Kind != lineshaft.SecretManaged || made.CreatedAt.IsZero() {
			b.Fatalf("made %+v", made)
		}
		_, err := b.s.CreateSecret(ctx, b.admin, lineshaft.Secret{Name: "TOKEN"}, hidden)
		wantCode(b, err, lineshaft.CodeConflict)
		value, text, runs := changed, "for tickets", lineshaft.AccessRuns
		now := must[lineshaft.Secret](b)(b.s.UpdateSecret(ctx, b.admin, "TOKEN", secrets.SecretChange{Value: &value, Description: &text, Access: &runs}))
		if now.Description != text || now.Access != runs || !now.UpdatedAt.After(made.CreatedAt) {
			b.Errorf("updated to %+v", now)
		}
		if got := must[lineshaft.Secret](b)(b.s.GetSecret(ctx, b.admin, "TOKEN")); got.Access != now.Access || got.Description != now.Description || !got.UpdatedAt.Equal(now.UpdatedAt.Truncate(time.Microsecond)) {
			b.Errorf("read %+v, want %+v", got, now)
		}
		b.start(naming("TOKEN"))
		if job := b.claim(1)[0]; job.Secrets["TOKEN"] != changed {
			b.Error("the run does not get the new value")
		}
		wantCode(b, b.s.DeleteSecret(ctx, b.admin, "TOKEN"), "")
		wantCode(b, b.s.DeleteSecret(ctx, b.admin, "TOKEN"), lineshaft.CodeNotFound)
		_, err = b.s.UpdateSecret(ctx, b.admin, "TOKEN", secrets.SecretChange{Value: &value})
		wantCode(b, err, lineshaft.CodeNotFound)
		var actions []string
		for _, e := range b.audits("TOKEN") {
			actions = append(actions, e.Action)
		}
		if want := []string{"secret.create", "secret.update", "secret.delete"}; !slices.Equal(actions, want) {
			b.Errorf("audited %v, want %v", actions, want)
		}
	})
}

func TestS1ListSecretsInPages(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for _, name := range []string{"C", "A", "B"} {
			b.managed(name, "")
		}
		var seen []string
		for cursor := ""; ; {
			page := must[secrets.SecretPage](b)(b.s.ListSecrets(b.Context(), b.admin, "", 2, cursor))
			for _, s := range page.Items {
				seen = append(seen, s.Name)
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if !slices.Equal(seen, []string{"A", "B", "C"}) {
			b.Errorf("listed %v", seen)
		}
		_, err := b.s.ListSecrets(b.Context(), b.admin, "", 2, "not a name")
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		_, err = b.s.ListSecrets(b.Context(), b.caller(lineshaft.RoleAdmin, factoryF), "", 2, "")
		wantCode(b, err, lineshaft.CodeNotAuthorized)
	})
}

func TestS1SecretInUseCannotBeDeleted(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		at, named := b.store.Now(), lineshaft.AgentConfig{Secrets: []string{"USED"}}
		b.managed("USED", "")
		b.secretHook("w1", "USED", false)
		b.write(func(ctx context.Context, tx *store.Tx) error {
			if err := tx.InsertFactory(ctx, lineshaft.Factory{UID: factoryF, Name: "mill", Mode: lineshaft.ModeManaged, Defaults: named, CreatedAt: at, UpdatedAt: at}); err != nil {
				return err
			}
			if err := tx.PutAgent(ctx, lineshaft.Agent{UID: "a", FactoryUID: factoryF, Name: "miller", Type: lineshaft.AgentForeman, Config: named, CreatedAt: at, UpdatedAt: at}); err != nil {
				return err
			}
			return tx.PutAutomation(ctx, lineshaft.Automation{UID: "au", FactoryUID: factoryF, Name: "grind", Prompt: "p", Config: named, CreatedAt: at, UpdatedAt: at})
		})
		err := b.s.DeleteSecret(b.Context(), b.admin, "USED")
		wantCode(b, err, lineshaft.CodeConflict)
		for _, want := range []string{"webhook hook w1", "factory mill", "agent miller", "automation grind", "change these first"} {
			if !strings.Contains(err.Error(), want) {
				b.Errorf("%q does not name %q", err, want)
			}
		}
		for _, more := range []string{"w2", "w3", "w4", "w5", "w6"} {
			b.secretHook(more, "USED", false)
		}
		if err := b.s.DeleteSecret(b.Context(), b.admin, "USED"); err == nil || !strings.Contains(err.Error(), "and more") || strings.Contains(err.Error(), "w6") {
			b.Errorf("many users: %v", err)
		}
	})
}

func TestS1WebhookCredentialsReachNoRun(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.write(func(ctx context.Context, tx *store.Tx) error {
			for _, name := range []string{"LINESHAFT_WEBHOOK_SECRET", "LEFT"} { // such names are free: they become no variables
				err := control.InsertSecret(ctx, b.s, tx, b.admin, lineshaft.Secret{Name: name, Kind: lineshaft.SecretWebhook, Access: lineshaft.AccessRuns}, hidden)
				if err != nil {
					return err
				}
			}
			return nil
		})
		b.secretHook("w1", "LINESHAFT_WEBHOOK_SECRET", true)
		value := changed
		wantCode(b, b.s.DeleteSecret(b.Context(), b.admin, "LINESHAFT_WEBHOOK_SECRET"), lineshaft.CodeConflict)
		_, err := b.s.UpdateSecret(b.Context(), b.admin, "LEFT", secrets.SecretChange{Value: &value})
		wantCode(b, err, "")
		_, err = b.as(b.admin, naming("LEFT")) // whatever its access
		wantCode(b, err, lineshaft.CodeNotAuthorized)
		b.write(func(ctx context.Context, tx *store.Tx) error {
			got, secret, err := control.SecretValue(ctx, b.s, tx, "LEFT")
			if err != nil || got != changed || secret.Kind != lineshaft.SecretWebhook {
				b.Errorf("the webhook reads %v, %v", secret, err)
			}
			return control.ReplaceSecretValue(ctx, b.s, tx, b.admin, "LEFT", hidden)
		})
		b.write(func(ctx context.Context, tx *store.Tx) error {
			if got, _, err := control.SecretValue(ctx, b.s, tx, "LEFT"); err != nil || got != hidden {
				b.Errorf("the value was not replaced: %v", err)
			}
			return nil
		})
	})
}

func TestS1WhatARunMayName(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.managed("OPEN", lineshaft.AccessRuns)
		b.managed("SHUT", lineshaft.AccessGranted)
		member := b.caller(lineshaft.RoleMember)
		for _, tc := range []struct {
			names []string
			want  lineshaft.Code
		}{
			{[]string{"OPEN"}, ""},
			{[]string{"SHUT"}, lineshaft.CodeNotAuthorized},
			{[]string{"OPEN", "SHUT"}, lineshaft.CodeNotAuthorized},
			{[]string{"MISSING"}, lineshaft.CodeInvalidRequest},
			{[]string{"OPEN", "OPEN"}, lineshaft.CodeInvalidRequest},
			{[]string{"open"}, lineshaft.CodeInvalidRequest},
		} {
			_, err := b.as(member, naming(tc.names...))
			wantCode(b, err, tc.want)
			_, err = b.as(b.admin, naming(tc.names...)) // power over secrets is not a grant
			wantCode(b, err, tc.want)
		}
	})
}

// An agent that a payload has talked into something cannot get at secrets through a
// child run.
func TestX11AnAgentPassesOnOnlyWhatItHas(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.managed("MINE", lineshaft.AccessRuns)
		b.managed("OTHER", lineshaft.AccessRuns)
		_, job := b.working(naming("MINE"))
		agent := must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), job.RunToken))
		_, err := b.as(agent, naming("MINE"))
		wantCode(b, err, "")
		_, err = b.as(agent, naming("OTHER"))
		wantCode(b, err, lineshaft.CodeNotAuthorized)
		_, err = b.as(agent, lineshaft.NewRun{})
		wantCode(b, err, "")
	})
}

func TestS5UseOfSecretsIsAudited(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.managed("A", lineshaft.AccessRuns)
		b.managed("B", lineshaft.AccessRuns)
		plain := b.start(lineshaft.NewRun{}).RunID
		run := b.start(naming("B", "A")).RunID
		jobs := b.claim(2)
		if len(jobs) != 2 || len(jobs[0].Secrets) != 0 || len(jobs[1].Secrets) != 2 {
			b.Fatalf("claimed %+v", jobs)
		}
		b.lost(jobs[1])
		used := func(runID string) (found []lineshaft.AuditEntry) {
			return slices.DeleteFunc(b.audits(runID), func(e lineshaft.AuditEntry) bool { return e.Action != "secret.use" })
		}
		if got := used(run); len(got) != 1 || got[0].Detail["secrets"] != "B A" || got[0].KeyID != jobs[1].ExecutionID || got[0].TargetType != "run" {
			b.Errorf("audited %+v", got)
		}
		if got := used(plain); len(got) != 0 {
			b.Errorf("a run without secrets: %+v", got)
		}
	})
}

// A change between creation and claim fails the run, and only that run.
func TestS1SecretThatIsGoneFailsTheRunAlone(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for _, name := range []string{"GONE", "SHUT", "GOOD"} {
			b.managed(name, lineshaft.AccessRuns)
		}
		gone, shut, good := b.start(naming("GONE", "GOOD")).RunID, b.start(naming("SHUT")).RunID, b.start(naming("GOOD")).RunID
		granted := lineshaft.AccessGranted
		must[lineshaft.Secret](b)(b.s.UpdateSecret(b.Context(), b.admin, "SHUT", secrets.SecretChange{Access: &granted}))
		wantCode(b, b.s.DeleteSecret(b.Context(), b.admin, "GONE"), "")
		for _, job := range b.claim(3) {
			want := map[string]string{gone: "GONE does not exist any more", shut: "SHUT can only be granted by definitions", good: ""}[job.RunID]
			if want == "" && (job.Fault != "" || job.Secrets["GOOD"] != hidden) {
				b.Errorf("the good run has the fault %q", job.Fault)
			}
			if want != "" && (!strings.Contains(job.Fault, want) || len(job.Secrets) > 0) {
				b.Errorf("fault %q with %d secrets, want %q", job.Fault, len(job.Secrets), want)
			}
		}
		if uses := slices.DeleteFunc(b.audits(gone), func(e lineshaft.AuditEntry) bool { return e.Action != "secret.use" }); len(uses) > 0 {
			b.Errorf("a use that was none: %+v", uses)
		}
	})
}

func TestS1CreateAndDeleteAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		var made, deleted atomic.Int64
		together(24, func(i int) {
			var err error
			switch i % 3 {
			case 0:
				_, err = b.s.CreateSecret(b.Context(), b.admin, lineshaft.Secret{Name: "RACE"}, hidden)
				if err == nil {
					made.Add(1)
				}
			case 1:
				if err = b.s.DeleteSecret(b.Context(), b.admin, "RACE"); err == nil {
					deleted.Add(1)
				}
			default: // a definition that names it: from then on it stays
				err = b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
					if err := control.CheckGrants(ctx, b.s, tx, []string{"RACE"}); err != nil {
						return err
					}
					return tx.PutAutomation(ctx, lineshaft.Automation{UID: "au", FactoryUID: factoryF, Name: "grind", Prompt: "p", Config: lineshaft.AgentConfig{Secrets: []string{"RACE"}}})
				})
			}
			if code := lineshaft.CodeOf(err); err != nil && code != lineshaft.CodeConflict && code != lineshaft.CodeNotFound && code != lineshaft.CodeInvalidRequest {
				b.Errorf("call %d: %v", i, err)
			}
		})
		_, err := b.s.GetSecret(b.Context(), b.admin, "RACE")
		if left := made.Load() - deleted.Load(); left != 0 && left != 1 || (err == nil) != (left == 1) {
			b.Errorf("made %d, deleted %d, then %v", made.Load(), deleted.Load(), err)
		}
	})
}

// The value is nowhere but in the sealed text: not in the database, not in the log.
func TestS2ValuesAreNowhere(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "l.db")
	var log bytes.Buffer
	b := open(t, database, func(c *base.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	b.managed("TOKEN", lineshaft.AccessRuns)
	b.start(naming("TOKEN"))
	job := b.claim(1)[0]
	b.begin(job)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("a careless line", "job", job, "pointer", &job)
	slog.New(slog.NewTextHandler(&log, nil)).Info("a careless line", "job", job)
	b.end(job, lineshaft.Succeeded)
	if err := b.store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{database, database + "-wal"} {
		data, err := os.ReadFile(file)
		if err == nil && bytes.Contains(data, []byte(hidden)) {
			t.Errorf("the value is in %s", file)
		}
	}
	if strings.Contains(log.String(), hidden) || !strings.Contains(log.String(), "[1 secrets]") {
		t.Errorf("the value is in the log, or the test is blind: %s", log.String())
	}
}
