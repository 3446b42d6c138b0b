package control_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

const runnerUID = "01980f6e-5b7c-7c1a-9d53-0c8a7f3e2b77"

// mill stores a factory with repositories and a runner behind the service's back.
func (b *bench) mill() {
	b.Helper()
	at := b.store.Now()
	b.write(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.InsertFactory(ctx, lineshaft.Factory{
			UID: factoryF, Name: "mill", Mode: lineshaft.ModeManaged, Foreman: "foreman", CreatedAt: at, UpdatedAt: at,
			Repositories: []lineshaft.Repository{{Owner: "acme", Name: "mill"}},
		}); err != nil {
			return err
		}
		return tx.PutRunner(ctx, lineshaft.Runner{UID: runnerUID, FactoryUID: factoryF, Name: "big", CreatedAt: at, UpdatedAt: at, Config: lineshaft.RunnerConfig{
			Platform: "linux/amd64", Image: "runner-image", SetupCommands: []string{"third"}, Shape: lineshaft.InstanceShape{VCPUs: 2},
		}})
	})
}

// prepared claims the run that was started last and gives what is to be prepared.
func (b *bench) prepared(runID string) lineshaft.Job {
	b.Helper()
	return b.claimOne(lineshaft.HostedWorker, runID)
}

func TestX4WhatAWorkerPrepares(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.managed("FORGE", "")
		b.mill()
		shop, tools := lineshaft.Repository{Owner: "acme", Name: "shop"}, lineshaft.Repository{Owner: "acme", Name: "mill"}
		full := b.newEnvironment(lineshaft.EnvironmentConfig{
			Repositories: []lineshaft.Repository{shop}, SetupCommands: []string{"first", "second"}, RefreshCommands: []string{"again"},
			DockerImage: "image", GitCredentials: "FORGE",
		})
		bare := b.newEnvironment(lineshaft.EnvironmentConfig{GitCredentials: "FORGE", SetupCommands: []string{"first"}})
		for name, test := range map[string]struct {
			factory string
			config  lineshaft.AgentConfig
			want    lineshaft.Preparation
		}{
			"nothing": {"", lineshaft.AgentConfig{}, lineshaft.Preparation{}},
			"environment": {"", lineshaft.AgentConfig{EnvironmentID: full.UID}, lineshaft.Preparation{
				Repositories: []lineshaft.Repository{shop}, SetupCommands: []string{"first", "second"}, Image: "image", GitCredentials: hidden,
				RefreshCommands: []string{"again"},
			}},
			"factory": {factoryF, lineshaft.AgentConfig{}, lineshaft.Preparation{Repositories: []lineshaft.Repository{tools}}},
			"both": {factoryF, lineshaft.AgentConfig{EnvironmentID: full.UID}, lineshaft.Preparation{
				Repositories: []lineshaft.Repository{shop}, SetupCommands: []string{"first", "second"}, Image: "image", GitCredentials: hidden,
				RefreshCommands: []string{"again"},
			}},
			"credentials for the factory's": {factoryF, lineshaft.AgentConfig{EnvironmentID: bare.UID}, lineshaft.Preparation{
				Repositories: []lineshaft.Repository{tools}, SetupCommands: []string{"first"}, GitCredentials: hidden,
			}},
			"no credentials without repositories": {"", lineshaft.AgentConfig{EnvironmentID: bare.UID}, lineshaft.Preparation{SetupCommands: []string{"first"}}},
			"runner by name": {factoryF, lineshaft.AgentConfig{EnvironmentID: full.UID, RunnerID: "big"}, lineshaft.Preparation{
				Repositories: []lineshaft.Repository{shop}, SetupCommands: []string{"first", "second", "third"}, Image: "image", GitCredentials: hidden,
				RefreshCommands: []string{"again", "third"},
				Runner:          lineshaft.RunnerConfig{Platform: "linux/amd64", Image: "runner-image", SetupCommands: []string{"third"}, Shape: lineshaft.InstanceShape{VCPUs: 2}},
			}},
			"runner by uid": {factoryF, lineshaft.AgentConfig{RunnerID: runnerUID}, lineshaft.Preparation{
				Repositories: []lineshaft.Repository{tools}, SetupCommands: []string{"third"}, Image: "runner-image",
				Runner: lineshaft.RunnerConfig{Platform: "linux/amd64", Image: "runner-image", SetupCommands: []string{"third"}, Shape: lineshaft.InstanceShape{VCPUs: 2}},
			}},
			"factory that is gone": {"01980f6e-5b7c-7c1a-9d53-0c8a7f3e2b99", lineshaft.AgentConfig{}, lineshaft.Preparation{}},
		} {
			job := b.prepared(b.inFactory(test.factory, lineshaft.NewRun{Config: test.config}))
			if revision := job.Prepare.Revision; strings.HasPrefix(revision, test.config.EnvironmentID+" ") != (test.config.EnvironmentID != "") {
				b.Errorf("%s: revision %q", name, revision)
			}
			job.Prepare.Revision = "" // contains the time
			if job.Fault != "" || !samePreparation(job.Prepare, test.want) {
				b.Errorf("%s: %+v %q, want %+v", name, job.Prepare, job.Fault, test.want)
			}
			if len(job.Secrets) > 0 {
				b.Errorf("%s: the agent gets %v", name, job.Secrets)
			}
			used := slices.IndexFunc(b.audits(job.RunID), func(e lineshaft.AuditEntry) bool {
				return e.Action == "secret.use" && e.Detail["secrets"] == "FORGE" && e.Detail["for"] == "git"
			}) >= 0
			if used != (test.want.GitCredentials != "") {
				b.Errorf("%s: use of the secret recorded: %v", name, used)
			}
		}
	})
}

// samePreparation compares: no list is as good as an empty one.
func samePreparation(a, b lineshaft.Preparation) bool {
	same := slices.Equal(a.Repositories, b.Repositories) && slices.Equal(a.SetupCommands, b.SetupCommands)
	a.Repositories, a.SetupCommands, b.Repositories, b.SetupCommands = nil, nil, nil, nil
	return same && reflect.DeepEqual(a, b)
}

// A part that is gone when a run begins fails that run alone, and the error says what to do.
func TestX4MissingPartsFailTheirRun(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.managed("FORGE", "")
		b.mill()
		with := lineshaft.EnvironmentConfig{Repositories: []lineshaft.Repository{{Owner: "acme", Name: "shop"}}, GitCredentials: "FORGE"}
		gone, broken := b.newEnvironment(lineshaft.EnvironmentConfig{}), b.newEnvironment(with)
		runs := map[string]string{
			b.inFactory("", within(gone)):   "does not exist any more; start the run with another one",
			b.inFactory("", within(broken)): "secret FORGE, with which environment \"web\" clones",
			b.inFactory(factoryF, lineshaft.NewRun{Config: lineshaft.AgentConfig{RunnerID: "small"}}): `no runner "small"; choose one of big`,
			b.inFactory("", lineshaft.NewRun{Config: lineshaft.AgentConfig{RunnerID: "big"}}):         "belongs to no factory",
			b.inFactory("", lineshaft.NewRun{}):                                                       "",
		}
		b.write(func(ctx context.Context, tx *store.Tx) error {
			if err := tx.DeleteEnvironment(ctx, gone.UID); err != nil {
				return err
			}
			return tx.DeleteSecret(ctx, "FORGE")
		})
		jobs := b.claimFor(lineshaft.HostedWorker, 10)
		if len(jobs) != len(runs) {
			b.Fatalf("%d of %d runs were claimed", len(jobs), len(runs))
		}
		for _, job := range jobs {
			if want := runs[job.RunID]; !strings.Contains(job.Fault, want) || want == "" && job.Fault != "" {
				b.Errorf("fault %q, want %q", job.Fault, want)
			}
			if job.Fault != "" && !reflect.DeepEqual(job.Prepare, lineshaft.Preparation{}) {
				b.Errorf("a job with a fault has %+v", job.Prepare)
			}
		}
	})
}

// A value that this server cannot open, and one that has become a webhook's.
func TestX4CredentialsThatCannotBeGiven(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.managed("FORGE", "")
		e := b.newEnvironment(lineshaft.EnvironmentConfig{Repositories: []lineshaft.Repository{{Owner: "acme", Name: "shop"}}, GitCredentials: "FORGE"})
		change := func(do func(*store.Secret)) {
			b.Helper()
			b.write(func(ctx context.Context, tx *store.Tx) error {
				secret, err := tx.LockSecret(ctx, "FORGE")
				if err != nil {
					return err
				}
				do(secret)
				if err := tx.DeleteSecret(ctx, "FORGE"); err != nil {
					return err
				}
				return tx.InsertSecret(ctx, *secret)
			})
		}
		change(func(s *store.Secret) { s.Sealed = "rubbish" })
		if job := b.prepared(b.inFactory("", within(e))); !strings.Contains(job.Fault, "cannot be opened") {
			b.Errorf("fault %q", job.Fault)
		}
		change(func(s *store.Secret) { s.Kind = lineshaft.SecretWebhook })
		if job := b.prepared(b.inFactory("", within(e))); !strings.Contains(job.Fault, "credential of a webhook") {
			b.Errorf("fault %q", job.Fault)
		}
	})
}
