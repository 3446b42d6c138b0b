package web

import (
	"context"
	"slices"

	"github.com/lineshaft/lineshaft"
	controlfactories "github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
)

// maxOptions bounds what a form lets one choose from; more can be written into the address.
const maxOptions = 200

// option is something to choose in a form.
type option struct{ Value, Name string }

// runOptions is what the runs of this server can be filtered by.
type runOptions struct {
	Factories, Environments, Schedules, Hosts []option

	names filterNames
}

// States are the states that runs can be in.
func (runOptions) States() []lineshaft.RunState { return lineshaft.RunStates() }

// Sources are where this server's runs come from.
func (runOptions) Sources() []lineshaft.Source { return lineshaft.Sources()[:10] }

func (s *server) runOptions(ctx context.Context, c lineshaft.Caller) (runOptions, error) {
	var o runOptions
	factories, err := s.Control.ListFactories(ctx, c, controlfactories.FactoryQuery{Limit: maxOptions})
	if err != nil {
		return o, err
	}
	for _, f := range factories.Factories {
		o.Factories = append(o.Factories, option{f.UID, f.Name})
	}
	environments, err := s.Control.ListEnvironments(ctx, c, secrets.EnvironmentsByName)
	if err != nil {
		return o, err
	}
	for _, e := range environments {
		o.Environments = append(o.Environments, option{e.UID, e.Config.Name})
	}
	schedules, err := s.Control.ListSchedules(ctx, c, "", maxOptions, "")
	if err != nil {
		return o, err
	}
	for _, one := range schedules.Items {
		o.Schedules = append(o.Schedules, option{one.ID, one.Name})
	}
	workers, err := s.Control.Workers(ctx, c)
	if err != nil {
		return o, err
	}
	o.Hosts = []option{{lineshaft.HostedWorker, lineshaft.HostedWorker}}
	for _, w := range workers {
		if w.WorkerHost != lineshaft.HostedWorker {
			o.Hosts = append(o.Hosts, option{w.WorkerHost, w.WorkerHost})
		}
	}
	o.names = filterNames{"factory": byValue(o.Factories), "environment": byValue(o.Environments), "schedule": byValue(o.Schedules)}
	return o, nil
}

// With are the options and the chosen one, if it is none of them any more.
func (runOptions) With(list []option, chosen string) []option {
	if chosen == "" || slices.ContainsFunc(list, func(o option) bool { return o.Value == chosen }) {
		return list
	}
	return append(slices.Clone(list), option{chosen, chosen})
}

func byValue(list []option) map[string]string {
	names := make(map[string]string, len(list))
	for _, o := range list {
		names[o.Value] = o.Name
	}
	return names
}

func (s *server) factoryNames(ctx context.Context, c lineshaft.Caller) (map[string]string, error) {
	found, err := s.Control.ListFactories(ctx, c, controlfactories.FactoryQuery{Limit: maxOptions})
	names := map[string]string{}
	for _, f := range found.Factories {
		names[f.UID] = f.Name
	}
	return names, err
}

// creatorNames are the people whose runs are shown, and the reader.
func creatorNames(c lineshaft.Caller, runs []lineshaft.Run) map[string]string {
	names := map[string]string{c.Principal.UID: c.Principal.DisplayName}
	for _, run := range runs {
		names[run.Creator.UID] = run.Creator.DisplayName
	}
	return names
}
