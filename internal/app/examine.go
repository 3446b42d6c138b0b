package app

import (
	"context"

	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/web"
)

// examine is Doctor for a server that runs: it looks at the open database instead of
// opening it, and does not try to listen where the server itself does.
func (a *App) examine(ctx context.Context) []web.Check {
	list := []config.Check{
		checkDataDir(a.cfg),
		a.checkParts(ctx),
		a.checkSealed(ctx),
		checkCallbacks(a.control.CallbackBacklog()),
		checkExposure(a.cfg),
		checkIsolation(ctx, a.cfg, a.opts),
		checkLimits(ctx, a.cfg, a.opts),
		checkModels(a.cfg),
		checkHarness(a.cfg, a.opts, a.isolated),
		checkOIDC(ctx, a.cfg),
	}
	if a.certificates != nil {
		list = append(list, judgeCertificates(a.certificates.Status()))
	}
	var checks []web.Check
	for _, c := range list {
		checks = append(checks, web.Check{Name: c.Name, State: string(c.State), Detail: c.Detail, Fix: c.Fix})
	}
	return checks
}

func (a *App) checkParts(ctx context.Context) config.Check {
	const name = "database"
	for _, part := range a.control.Ready(ctx) {
		if part.Problem != "" && !part.Serves {
			return bad(name, config.CheckProblem, part.Name+": "+part.Problem, "check this server's log, and that the database is running")
		}
	}
	return good(name, "%s answers, schema is current, background jobs run", a.store.Engine())
}

// checkSealed counts what is sealed under the master key that this server opened.
func (a *App) checkSealed(ctx context.Context) config.Check {
	const name = "master key"
	v, err := loadKeys(ctx, a.cfg)
	if err != nil {
		return bad(name, config.CheckProblem, err.Error(), mendMasterKey)
	}
	count, err := secrets.CountSealed(ctx, a.store, v)
	return sealedCheck(v.CurrentID(), count, err)
}

func pageSettings(cfg config.Config) []web.Setting {
	var all []web.Setting
	for _, s := range cfg.Settings() {
		name := s.Name
		if s.EnvOnly {
			name = s.Env
		}
		all = append(all, web.Setting{Name: name, Env: s.Env, Value: s.Value, Help: s.Help, Origin: s.Origin, Secret: s.Secret})
	}
	return all
}
