package control_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/store"
)

func (b *bench) newEnvironment(config lineshaft.EnvironmentConfig) *lineshaft.EnvironmentDetail {
	b.Helper()
	if config.Name == "" {
		config.Name = "web"
	}
	return must[*lineshaft.EnvironmentDetail](b)(b.s.CreateEnvironment(b.Context(), b.admin, config))
}

// within is a request for a run in an environment.
func within(e *lineshaft.EnvironmentDetail) lineshaft.NewRun {
	return lineshaft.NewRun{Config: lineshaft.AgentConfig{EnvironmentID: e.UID}}
}

func TestX9EnvironmentLife(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		ctx := b.Context()
		config := lineshaft.EnvironmentConfig{Name: "web", Description: "d", SetupCommands: []string{"make"}, Repositories: []lineshaft.Repository{{Owner: "acme", Name: "shop"}}}
		made := b.newEnvironment(config)
		if len(made.UID) != lineshaft.EnvironmentIDLength || made.CreatedBy.UID != b.admin.Principal.UID || made.EditedBy != made.CreatedBy ||
			made.CreatedBy.DisplayName == "" || made.LastRun != nil || made.SetupFailed() || !slices.Equal(made.Config.SetupCommands, config.SetupCommands) {
			b.Fatalf("made %+v", made)
		}
		manager := b.caller(lineshaft.RoleManager)
		b.clock.advance(1)
		now := must[*lineshaft.EnvironmentDetail](b)(b.s.UpdateEnvironment(ctx, manager, made.UID, lineshaft.EnvironmentConfig{Name: "shop"}))
		if now.Config.Name != "shop" || now.Config.Description != "" || len(now.Config.Repositories)+len(now.Config.SetupCommands) > 0 {
			b.Errorf("a change replaces the configuration as a whole: %+v", now.Config)
		}
		if now.CreatedBy != made.CreatedBy || now.EditedBy.UID != manager.Principal.UID || !now.UpdatedAt.After(made.UpdatedAt) || !now.CreatedAt.Equal(made.CreatedAt) {
			b.Errorf("updated to %+v", now)
		}
		if got := must[*lineshaft.EnvironmentDetail](b)(b.s.GetEnvironment(ctx, manager, made.UID)); got.Config.Name != "shop" {
			b.Errorf("read %+v", got)
		}
		_, err := b.s.CreateEnvironment(ctx, b.admin, lineshaft.EnvironmentConfig{})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		wantCode(b, b.s.DeleteEnvironment(ctx, manager, made.UID), "")
		for _, uid := range []string{made.UID, "", "nope", strings.Repeat("\x00", 22), strings.Repeat("é", 11)} {
			_, err := b.s.GetEnvironment(ctx, b.admin, uid)
			wantCode(b, err, lineshaft.CodeNotFound)
			_, err = b.s.UpdateEnvironment(ctx, b.admin, uid, config)
			wantCode(b, err, lineshaft.CodeNotFound)
			wantCode(b, b.s.DeleteEnvironment(ctx, b.admin, uid), lineshaft.CodeNotFound)
		}
		var actions []string
		for _, e := range b.audits(made.UID) {
			actions = append(actions, e.Action+" "+e.Detail["name"])
		}
		if want := []string{"environment.create web", "environment.update shop", "environment.delete shop"}; !slices.Equal(actions, want) {
			b.Errorf("audited %q, want %q", actions, want)
		}
	})
}

func TestX9ListEnvironments(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		var uids []string
		for _, name := range []string{"beta", "Alpha", "alpha"} {
			uids = append(uids, b.newEnvironment(lineshaft.EnvironmentConfig{Name: name}).UID)
			b.clock.advance(1000)
		}
		must[*lineshaft.EnvironmentDetail](b)(b.s.UpdateEnvironment(b.Context(), b.admin, uids[0], lineshaft.EnvironmentConfig{Name: "Beta"}))
		for by, want := range map[secrets.EnvironmentSort]string{"": "Beta alpha Alpha", secrets.EnvironmentsByUpdate: "Beta alpha Alpha", secrets.EnvironmentsByName: "Alpha alpha Beta"} {
			var names []string
			for _, e := range must[[]lineshaft.EnvironmentDetail](b)(b.s.ListEnvironments(b.Context(), b.caller(lineshaft.RoleViewer), by)) {
				names = append(names, e.Config.Name)
			}
			if got := strings.Join(names, " "); got != want {
				b.Errorf("%q: %s, want %s", by, got, want)
			}
		}
	})
}

// An environment is the whole team's: a key for some factories reads it only.
func TestS3LimitedKeysOnlyReadEnvironments(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		e, limited := b.newEnvironment(lineshaft.EnvironmentConfig{}), b.caller(lineshaft.RoleAdmin, factoryF)
		_, err := b.s.CreateEnvironment(b.Context(), limited, lineshaft.EnvironmentConfig{Name: "x"})
		wantCode(b, err, lineshaft.CodeNotAuthorized)
		_, err = b.s.UpdateEnvironment(b.Context(), limited, e.UID, lineshaft.EnvironmentConfig{Name: "x"})
		wantCode(b, err, lineshaft.CodeNotAuthorized)
		wantCode(b, b.s.DeleteEnvironment(b.Context(), limited, e.UID), lineshaft.CodeNotAuthorized)
		if got := must[*lineshaft.EnvironmentDetail](b)(b.s.GetEnvironment(b.Context(), limited, e.UID)); got.Config.Name != "web" {
			b.Errorf("%+v", got)
		}
		if got := must[[]lineshaft.EnvironmentDetail](b)(b.s.ListEnvironments(b.Context(), limited, "")); len(got) != 1 {
			b.Errorf("%+v", got)
		}
	})
}

// Naming a secret in an environment grants it, so the secret must be there, be for
// runs, and cannot be deleted while it is named.
func TestS1EnvironmentsGrantSecrets(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.managed("TOKEN", "")
		b.managed("FORGE", "")
		b.write(func(ctx context.Context, tx *store.Tx) error {
			at := b.store.Now()
			return tx.InsertSecret(ctx, store.Secret{Secret: lineshaft.Secret{Name: "HOOK", Kind: lineshaft.SecretWebhook, Access: lineshaft.AccessGranted, CreatedAt: at, UpdatedAt: at}, Sealed: "x"})
		})
		for name, test := range map[string]struct {
			config lineshaft.EnvironmentConfig
			field  string
		}{
			"unknown secret":      {lineshaft.EnvironmentConfig{Secrets: []string{"TOKEN", "NOPE"}}, "config.secrets"},
			"webhook's secret":    {lineshaft.EnvironmentConfig{Secrets: []string{"HOOK"}}, "config.secrets"},
			"unknown credential":  {lineshaft.EnvironmentConfig{GitCredentials: "NOPE"}, "config.git_credentials"},
			"webhook's as well":   {lineshaft.EnvironmentConfig{GitCredentials: "HOOK"}, "config.git_credentials"},
			"no name of a secret": {lineshaft.EnvironmentConfig{GitCredentials: "nope"}, "config.git_credentials"},
		} {
			test.config.Name = "web"
			_, err := b.s.CreateEnvironment(b.Context(), b.admin, test.config)
			wantCode(b, err, lineshaft.CodeInvalidRequest)
			if !strings.Contains(err.Error(), test.field) {
				b.Errorf("%s: %v", name, err)
			}
		}
		e := b.newEnvironment(lineshaft.EnvironmentConfig{Secrets: []string{"TOKEN"}, GitCredentials: "FORGE"})
		if entry := b.audits(e.UID)[0]; entry.Detail["secrets"] != "TOKEN" || entry.Detail["git_credentials"] != "FORGE" {
			b.Errorf("audited %+v", entry)
		}
		for _, name := range []string{"TOKEN", "FORGE"} {
			err := b.s.DeleteSecret(b.Context(), b.admin, name)
			wantCode(b, err, lineshaft.CodeConflict)
			if !strings.Contains(err.Error(), "environment web") {
				b.Errorf("%v", err)
			}
		}
		must[*lineshaft.EnvironmentDetail](b)(b.s.UpdateEnvironment(b.Context(), b.admin, e.UID, lineshaft.EnvironmentConfig{Name: "web"}))
		for _, name := range []string{"TOKEN", "FORGE"} {
			wantCode(b, b.s.DeleteSecret(b.Context(), b.admin, name), "")
		}
	})
}

func TestX9EnvironmentInUseCannotBeDeleted(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		e := b.newEnvironment(lineshaft.EnvironmentConfig{})
		refused := func(what string) {
			b.Helper()
			err := b.s.DeleteEnvironment(b.Context(), b.admin, e.UID)
			wantCode(b, err, lineshaft.CodeConflict)
			if !strings.Contains(err.Error(), what) {
				b.Errorf("%v does not name %s", err, what)
			}
		}
		runID := b.start(within(e)).RunID
		refused(runID)
		job := b.claimOne(lineshaft.HostedWorker, runID)
		refused(runID)
		b.begin(job)
		refused(runID)
		b.end(job, lineshaft.Succeeded)
		named := lineshaft.AgentConfig{EnvironmentID: e.UID}
		factory := must[*lineshaft.Factory](b)(b.s.CreateFactory(b.Context(), b.admin, factories.NewFactory{Name: "mill"}))
		agents := must[[]lineshaft.Agent](b)(b.store.ListAgents(b.Context(), factory.UID))
		for _, change := range []struct {
			what string
			do   func(ctx context.Context, tx *store.Tx, config lineshaft.AgentConfig) error
		}{
			{"agent foreman of factory mill", func(ctx context.Context, tx *store.Tx, config lineshaft.AgentConfig) error {
				agents[0].Config = config
				return tx.PutAgent(ctx, agents[0])
			}},
			{"automation nightly of factory mill", func(ctx context.Context, tx *store.Tx, config lineshaft.AgentConfig) error {
				at := b.store.Now()
				return tx.PutAutomation(ctx, lineshaft.Automation{UID: "a", FactoryUID: factory.UID, Name: "nightly", Prompt: "p", Config: config, CreatedAt: at, UpdatedAt: at})
			}},
			{"factory mill", func(ctx context.Context, tx *store.Tx, config lineshaft.AgentConfig) error {
				factory.Defaults = config
				return tx.UpdateFactory(ctx, *factory)
			}},
		} {
			b.write(func(ctx context.Context, tx *store.Tx) error { return change.do(ctx, tx, named) })
			refused(change.what)
			b.write(func(ctx context.Context, tx *store.Tx) error { return change.do(ctx, tx, lineshaft.AgentConfig{}) })
		}
		schedule := must[*lineshaft.Schedule](b)(b.s.CreateSchedule(b.Context(), b.admin, trigger.NewSchedule{
			Name: "weekly", Timing: lineshaft.Timing{Cron: "0 0 * * 0"}, Prompt: "p", Config: named,
		}))
		refused("schedule weekly")
		wantCode(b, b.s.DeleteSchedule(b.Context(), b.admin, schedule.ID), "")
		wantCode(b, b.s.DeleteEnvironment(b.Context(), b.admin, e.UID), "")
	})
}

func TestX9SetupFailedIsOfTheNewestRun(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		e := b.newEnvironment(lineshaft.EnvironmentConfig{})
		look := func(runID string, failed bool) {
			b.Helper()
			got := must[*lineshaft.EnvironmentDetail](b)(b.s.GetEnvironment(b.Context(), b.admin, e.UID))
			if got.LastRun == nil || got.LastRun.ID != runID || got.SetupFailed() != failed {
				b.Errorf("run %+v, failed %v; want %s, %v", got.LastRun, got.SetupFailed(), runID, failed)
			}
		}
		runID := b.start(within(e)).RunID
		look(runID, false)
		job := b.claimOne(lineshaft.HostedWorker, runID)
		must[*lineshaft.Turn](b)(b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Failed, Code: lineshaft.CodeEnvironmentSetupFailed, Message: "set-up", Dead: true}))
		look(runID, true)
		look(b.start(within(e)).RunID, false)
	})
}

// S-3: an environment is the whole team's, its newest run is not.
func TestS3EnvironmentsHideRunsOfOtherFactories(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		e := b.newEnvironment(lineshaft.EnvironmentConfig{Name: "shared"})
		mine := b.factory("mine", "").UID
		limited := b.caller(lineshaft.RoleViewer, mine)
		look := func(c lineshaft.Caller) []*lineshaft.EnvironmentRun {
			list := must[[]lineshaft.EnvironmentDetail](b)(b.s.ListEnvironments(b.Context(), c, secrets.EnvironmentsByName))
			return []*lineshaft.EnvironmentRun{must[*lineshaft.EnvironmentDetail](b)(b.s.GetEnvironment(b.Context(), c, e.UID)).LastRun, list[0].LastRun}
		}
		own := b.start(lineshaft.NewRun{Title: "own", AgentUID: b.foreman(mine).UID, Config: lineshaft.AgentConfig{EnvironmentID: e.UID}}).RunID
		for _, run := range look(limited) {
			if run == nil || run.ID != own {
				b.Errorf("its own run is shown as %+v", run)
			}
		}
		secret := b.start(lineshaft.NewRun{Title: "hidden", Config: lineshaft.AgentConfig{EnvironmentID: e.UID}}).RunID
		for i, run := range look(limited) {
			if run != nil || look(b.admin)[i].ID != secret {
				b.Errorf("a key of a factory sees %+v", run)
			}
		}
	})
}

// what runs say of their environment is added up for those who may see them.
func TestX14StartsOfAnEnvironment(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		e := b.newEnvironment(lineshaft.EnvironmentConfig{})
		began := b.store.Now().UTC().Truncate(time.Microsecond)
		say := func(after time.Duration, steps ...lineshaft.EnvironmentStep) (runID string) {
			runID, job := b.working(within(e))
			report := lineshaft.Report{ExecutionRef: job.ExecutionRef, First: job.LastEvent + 1}
			for _, step := range steps {
				step.Worker = "build"
				data := lineshaft.NoticeData{Level: "info", Text: "x", Environment: &step}
				report.Events = append(report.Events, lineshaft.NewDraft(lineshaft.EventNotice, began.Add(after), data))
			}
			forged := lineshaft.NoticeData{Text: `{"environment":{"step":"warm"}}`}
			report.Events = append(report.Events, lineshaft.NewDraft(lineshaft.EventNotice, began, forged))
			if err := b.report(report); err != nil {
				b.Fatal(err)
			}
			return runID
		}
		cold := say(time.Second, lineshaft.EnvironmentStep{Step: "cold", Reason: "nothing yet"},
			lineshaft.EnvironmentStep{Step: "kept", Layer: "one", Files: 3, Bytes: 4096})
		warm := lineshaft.EnvironmentStep{Step: "warm", Layer: "one", Files: 3, Bytes: 4096, SavedSeconds: 1.5}
		// However many steps a set-up had, the starts of other runs are found.
		say(2*time.Second, append(slices.Repeat([]lineshaft.EnvironmentStep{{Step: "command", Name: "make", TookSeconds: 1}}, 900), warm)...)
		say(3*time.Second, warm)
		say(4*time.Second, lineshaft.EnvironmentStep{Step: "newer", Layer: "one", SavedSeconds: 1},
			lineshaft.EnvironmentStep{Step: "kept", Layer: "two", Files: 5, Bytes: 8192}, lineshaft.EnvironmentStep{Step: "unknown"})
		got := must[*lineshaft.EnvironmentStarts](b)(b.s.EnvironmentStarts(b.Context(), b.admin, e.UID))
		want := &lineshaft.EnvironmentStarts{
			Warm: 2, Newer: 1, Cold: 1, Saved: 4 * time.Second,
			Layers: []lineshaft.PreparedLayer{
				{Worker: "build", Name: "one", Files: 3, Bytes: 4096, Hits: 3, Saved: 4 * time.Second, UsedAt: began.Add(4 * time.Second)},
				{Worker: "build", Name: "two", Files: 5, Bytes: 8192, UsedAt: began.Add(4 * time.Second)},
			},
			ColdStarts: []lineshaft.ColdStart{{RunID: cold, Worker: "build", Reason: "nothing yet", At: began.Add(time.Second)}},
		}
		if !reflect.DeepEqual(got, want) {
			b.Errorf("%+v\nwant\n%+v", got, want)
		}
		other := lineshaft.Caller{Role: lineshaft.RoleViewer, FactoryUIDs: []string{"another"}}
		if got := must[*lineshaft.EnvironmentStarts](b)(b.s.EnvironmentStarts(b.Context(), other, e.UID)); got.Cold+got.Warm > 0 {
			b.Errorf("a caller who sees none of the runs gets %+v", got)
		}
	})
}
