package runs

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	controlfactories "github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// newRunData is the form that starts a run.
type newRunData struct {
	Prompt, Title, Agent                      string
	Model, Environment, Harness, Host, Skills string
	// Once tells this form apart from others: a form that is sent twice starts one run.
	Once string
	// From is the run that the form was filled in from.
	From    *lineshaft.Run
	Agents  []page.Option
	Options runOptions
	// Standard is what runs that choose nothing get.
	Standard page.Standard
}

// Open says that the folded part has something to show.
func (d newRunData) Open() bool {
	return d.Title+d.Model+d.Environment+d.Harness+d.Host+d.Skills != ""
}

func (s pages) newRunPage(r *page.Request) (page.Page, error) {
	data := newRunData{Once: id.Secret(16), Prompt: r.URL.Query().Get("prompt"), Agent: r.URL.Query().Get("agent")}
	if from := r.URL.Query().Get("from"); from != "" {
		if err := s.fillFrom(r.Context(), r.Caller, from, &data); err != nil {
			return page.Page{}, err
		}
	}
	return s.newRunForm(r, data)
}

func (s pages) newRunForm(r *page.Request, data newRunData) (p page.Page, err error) {
	if data.Options, err = s.runOptions(r); err != nil {
		return p, err
	}
	if s.Standard != nil {
		data.Standard = s.Standard()
	}
	data.Agents, err = s.PartOptions(r, "agent", data.Options.names["factory"])
	return page.Below("runs", "New run", data), err
}

// fillFrom copies the request of another run; what came from its agent, its
// factory or the server comes from there again.
func (s pages) fillFrom(ctx context.Context, c lineshaft.Caller, runID string, data *newRunData) error {
	run, err := s.Control.GetRun(ctx, c, runID)
	if err != nil {
		return err
	}
	origins, err := s.Control.ExplainRun(ctx, c, runID)
	if err != nil {
		return err
	}
	own := func(field, value string) string {
		if origins[field] != "run" {
			return ""
		}
		return value
	}
	data.From, data.Prompt, data.Agent = run, run.Prompt, run.AgentUID
	if run.Title != lineshaft.TitleFrom(run.Prompt) {
		data.Title = run.Title
	}
	data.Model, data.Environment, data.Host = own("model_id", run.Config.ModelID), own("environment_id", run.Config.EnvironmentID), own("worker_host", run.Config.WorkerHost)
	data.Skills = own("skills", strings.Join(run.Config.Skills, "\n"))
	if run.Config.Harness != nil {
		data.Harness = own("harness", run.Config.Harness.Type)
	}
	return nil
}

func (s pages) startRun(r *page.Request) error {
	data := newRunData{
		Prompt: r.PostFormValue("prompt"), Title: r.Text("title"), Agent: r.PostFormValue("agent"), Model: r.Text("model"),
		Environment: r.PostFormValue("environment"), Harness: r.PostFormValue("harness"), Host: r.Text("host"),
		Skills: r.PostFormValue("skills"), Once: r.PostFormValue("once"),
	}
	started, err := s.Control.StartRun(r.Context(), r.Caller, data.request(), r.Once())
	if err != nil {
		p, formErr := s.newRunForm(r, data)
		return r.Again("newrun", p, cmp.Or(formErr, err))
	}
	notice := "" // the page says more about a run that works
	if started.AtCapacity {
		notice = s.whyQueued(r.Context(), r.Caller, started.RunID)
	}
	return r.Done(page.Under("runs", started.RunID), notice)
}

// whyQueued says what a run waits for; empty when it does not.
func (s pages) whyQueued(ctx context.Context, c lineshaft.Caller, runID string) string {
	run, err := s.Control.GetRun(ctx, c, runID)
	if err != nil {
		return "The run is queued."
	}
	workers, err := s.Control.Workers(ctx, c)
	connected := slices.ContainsFunc(workers, func(w runs.Worker) bool { return w.WorkerHost == run.Config.WorkerHost })
	switch {
	case err != nil || run.State != lineshaft.Queued:
		return ""
	case !connected:
		return "The run is queued: the worker " + run.Config.WorkerHost + " is not connected."
	}
	return "The run is queued: all workers are busy now."
}

func (d newRunData) request() lineshaft.NewRun {
	n := lineshaft.NewRun{
		// Browsers send line ends as the wire wants them, and a shell stumbles over them.
		Prompt: page.FormText(d.Prompt), Title: d.Title, AgentUID: d.Agent, Source: lineshaft.SourceWebApp,
		Config: lineshaft.AgentConfig{ModelID: d.Model, EnvironmentID: d.Environment, WorkerHost: d.Host, Skills: strings.Fields(d.Skills)},
	}
	if d.Harness != "" {
		n.Config.Harness = &lineshaft.HarnessConfig{Type: d.Harness}
	}
	return n
}

// runOptions is what the runs of this server can be filtered by.
type runOptions struct {
	Factories, Agents, Automations, Webhooks, Environments, Schedules, Hosts []page.Option

	names filterNames
}

// States are the states that runs can be in.
func (runOptions) States() []lineshaft.RunState { return lineshaft.RunStates() }

// Sources are where this server's runs come from.
func (runOptions) Sources() []lineshaft.Source { return lineshaft.Sources()[:10] }

// Codes are why runs fail.
func (runOptions) Codes() []page.Option {
	var list []page.Option
	for _, code := range lineshaft.Codes() {
		list = append(list, page.Option{Value: string(code), Name: string(code)})
	}
	return list
}

func (s pages) runOptions(r *page.Request) (runOptions, error) {
	var o runOptions
	factories, err := s.Control.ListFactories(r.Context(), r.Caller, controlfactories.FactoryQuery{Limit: page.MaxOptions})
	if err != nil {
		return o, err
	}
	for _, f := range factories.Factories {
		o.Factories = append(o.Factories, page.Option{Value: f.UID, Name: f.Name})
	}
	if o.Environments, err = s.EnvironmentOptions(r); err != nil {
		return o, err
	}
	schedules, err := s.Control.ListSchedules(r.Context(), r.Caller, "", page.MaxOptions, "")
	if err != nil {
		return o, err
	}
	for _, one := range schedules.Items {
		o.Schedules = append(o.Schedules, page.Option{Value: one.ID, Name: one.Name})
	}
	workers, err := s.Control.Workers(r.Context(), r.Caller)
	o.Hosts = []page.Option{{Value: lineshaft.HostedWorker, Name: lineshaft.HostedWorker}}
	for _, w := range workers {
		o.Hosts = page.WithChosen(o.Hosts, w.WorkerHost, w.WorkerHost)
	}
	o.names = filterNames{"factory": byValue(o.Factories), "environment": byValue(o.Environments), "schedule": byValue(o.Schedules)}
	return o, err
}

// With are the options and the chosen one, if it is no longer among them.
func (runOptions) With(list []page.Option, chosen string) []page.Option {
	return page.WithChosen(list, chosen, chosen)
}

func byValue(list []page.Option) map[string]string {
	names := make(map[string]string, len(list))
	for _, o := range list {
		names[o.Value] = o.Name
	}
	return names
}

// creatorNames are the people whose runs are shown, and the reader.
func creatorNames(c lineshaft.Caller, runs []lineshaft.Run) map[string]string {
	names := map[string]string{c.Principal.UID: c.Principal.DisplayName}
	for _, run := range runs {
		names[run.Creator.UID] = run.Creator.DisplayName
	}
	return names
}
