package runs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/store"
)

// preparations fill in what workers make ready for the runs of one claim. What
// several runs share is read once; runs that name nothing cost nothing.
type preparations struct {
	s  *Runs
	tx *store.Tx

	// nil for what does not exist
	environments map[string]*lineshaft.Environment
	factories    map[string]*lineshaft.Factory
	runners      map[string][]lineshaft.Runner // by factory
}

// fill sets the Prepare of a job. Anything missing becomes the job's fault: the run
// fails with a message, and others of the same claim are not held up. Its skills are
// not looked up here.
func (p *preparations) fill(ctx context.Context, job *lineshaft.Job, factoryUID string) error {
	if job.Fault != "" || job.Config.EnvironmentID == "" && job.Config.RunnerID == "" && factoryUID == "" {
		return nil
	}
	for _, step := range []func(context.Context, *lineshaft.Job, string) error{p.environment, p.repositories, p.credentials, p.runner} {
		if err := step(ctx, job, factoryUID); err != nil {
			return err
		}
		if job.Fault != "" {
			job.Withhold()
			return nil
		}
	}
	return nil
}

// environment takes over what the run's environment says.
func (p *preparations) environment(ctx context.Context, job *lineshaft.Job, _ string) error {
	e, err := p.environmentOf(ctx, job)
	if err != nil || job.Config.EnvironmentID == "" {
		return err
	}
	if e == nil {
		job.Fault = "environment " + job.Config.EnvironmentID + " does not exist any more; start the run with another one (`lineshaft environment list`), or without"
		return nil
	}
	job.Prepare.Repositories, job.Prepare.Image = e.Config.Repositories, e.Config.DockerImage
	job.Prepare.SetupCommands, job.Prepare.RefreshCommands = e.Config.SetupCommands, e.Config.RefreshCommands
	job.Prepare.Revision = e.UID + " " + e.UpdatedAt.UTC().Format(time.RFC3339Nano)
	return nil
}

// environmentOf reads the run's environment; nil when it has none, or it is gone.
func (p *preparations) environmentOf(ctx context.Context, job *lineshaft.Job) (*lineshaft.Environment, error) {
	uid := job.Config.EnvironmentID
	if uid == "" {
		return nil, nil // most runs have none
	}
	return base.Once(&p.environments, uid, func() (*lineshaft.Environment, error) { return base.OrNil(p.tx.GetEnvironment(ctx, uid)) })
}

// credentials opens the secret that repositories are cloned with. Only the worker gets
// it: it is not among the secrets of the run.
func (p *preparations) credentials(ctx context.Context, job *lineshaft.Job, _ string) error {
	e, err := p.environmentOf(ctx, job)
	if err != nil || e == nil || e.Config.GitCredentials == "" || len(job.Prepare.Repositories) == 0 {
		return err
	}
	name := e.Config.GitCredentials
	secret, err := base.OrNil(p.tx.GetSecret(ctx, name))
	if err != nil {
		return err
	}
	if secret == nil {
		job.Fault = fmt.Sprintf("secret %s, with which environment %q clones its repositories, does not exist any more; create it again, or change the environment", name, e.Config.Name)
		return nil
	}
	if job.Fault = secrets.RefuseToRun(secret.Secret, false); job.Fault != "" {
		return nil
	}
	value, err := p.s.secrets.OpenSealed(secrets.SecretSeal(name), secret.Sealed)
	if err != nil {
		p.s.Log.ErrorContext(ctx, "secret cannot be opened", "secret", name, "run_id", job.RunID, "err", err)
		job.Fault = secrets.Unopened(name)
		return nil
	}
	job.Prepare.GitCredentials = lineshaft.SecretText(value)
	return p.s.Audit(ctx, p.tx, base.RunCaller(job), "secret.use", "run", job.RunID, map[string]string{"secrets": name, "for": "git"})
}

// repositories takes the factory's repositories when no environment names any.
func (p *preparations) repositories(ctx context.Context, job *lineshaft.Job, factoryUID string) error {
	if factoryUID == "" || len(job.Prepare.Repositories) > 0 {
		return nil
	}
	f, err := base.Once(&p.factories, factoryUID, func() (*lineshaft.Factory, error) { return base.OrNil(p.tx.GetFactory(ctx, factoryUID)) })
	if err == nil && f != nil { // a run outlives its factory
		job.Prepare.Repositories = f.Repositories
	}
	return err
}

// runner takes over what the run's runner says: one of its factory, by name or uid.
func (p *preparations) runner(ctx context.Context, job *lineshaft.Job, factoryUID string) error {
	wanted := job.Config.RunnerID
	if wanted == "" {
		return nil
	}
	if factoryUID == "" {
		job.Fault = fmt.Sprintf("the run names runner %q but belongs to no factory; start it in a factory that has this runner, or without one", wanted)
		return nil
	}
	list, err := base.Once(&p.runners, factoryUID, func() ([]lineshaft.Runner, error) { return p.tx.ListRunners(ctx, factoryUID) })
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(r lineshaft.Runner) bool { return r.Name == wanted })
	if at < 0 {
		at = slices.IndexFunc(list, func(r lineshaft.Runner) bool { return r.UID == wanted })
	}
	if at < 0 {
		job.Fault = fmt.Sprintf("the run's factory has no runner %q; %s", wanted, runnersOf(list))
		return nil
	}
	job.Prepare.Runner = list[at].Config
	job.Prepare.Image = cmp.Or(job.Prepare.Image, list[at].Config.ContainerImage())
	job.Prepare.SetupCommands = slices.Concat(job.Prepare.SetupCommands, list[at].Config.SetupCommands)
	if len(job.Prepare.RefreshCommands) > 0 {
		job.Prepare.RefreshCommands = slices.Concat(job.Prepare.RefreshCommands, list[at].Config.SetupCommands)
	}
	return nil
}

func runnersOf(list []lineshaft.Runner) string {
	if len(list) == 0 {
		return "add one to the runners folder of its definition, or leave runner_id out"
	}
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = r.Name
	}
	return "choose one of " + secrets.NameUses(names)
}
