package web

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/id"
)

// newRunData is the form that starts a run.
type newRunData struct {
	Prompt, Title, Agent                      string
	Model, Environment, Harness, Host, Skills string
	// Once tells this form from others: what is sent twice starts one run.
	Once string
	// From is the run that the form was filled in from.
	From    *lineshaft.Run
	Agents  []option
	Options runOptions
}

// Harnesses are the programs that runs can choose. Those that are not set up here can
// be chosen all the same: another worker may have them.
func (p page) Harnesses() []option {
	var absent []string
	if p.absent != nil {
		absent = p.absent()
	}
	var list []option
	for _, name := range lineshaft.HarnessTypes() {
		o := option{name, name}
		if slices.Contains(absent, name) {
			o.Name += " (not set up on this server)"
		}
		list = append(list, o)
	}
	return list
}

// Open says that the folded part has something to show.
func (d newRunData) Open() bool {
	return d.Title+d.Model+d.Environment+d.Harness+d.Host+d.Skills != ""
}

func (s *server) newRunPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	data := newRunData{Once: id.Secret(16), Prompt: r.URL.Query().Get("prompt"), Agent: r.URL.Query().Get("agent")}
	if from := r.URL.Query().Get("from"); from != "" {
		if err := s.fillFrom(r.Context(), c, from, &data); err != nil {
			return err
		}
	}
	p, err := s.newRunForm(r.Context(), c, data)
	if err != nil {
		return err
	}
	return s.render(w, r, c, "newrun", p)
}

func (s *server) newRunForm(ctx context.Context, c lineshaft.Caller, data newRunData) (page, error) {
	var err error
	if data.Options, err = s.runOptions(ctx, c); err != nil {
		return page{}, err
	}
	agents, err := s.Control.ListAgents(ctx, c, "", base.MaxPage, "")
	if err != nil {
		return page{}, err
	}
	for _, a := range agents.Items {
		name := a.Name
		if factory := data.Options.names["factory"][a.FactoryUID]; factory != "" {
			name = factory + " / " + a.Name
		}
		data.Agents = append(data.Agents, option{a.UID, name})
	}
	return page{Title: "New run", Section: "runs", Crumbs: []crumb{{"Runs", "/runs"}}, Data: data}, nil
}

// fillFrom takes over what was asked of another run; what came from its agent, its
// factory or the server comes from there again.
func (s *server) fillFrom(ctx context.Context, c lineshaft.Caller, runID string, data *newRunData) error {
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

func (s *server) startRun(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	data := newRunData{
		Prompt: r.PostFormValue("prompt"), Title: strings.TrimSpace(r.PostFormValue("title")), Agent: r.PostFormValue("agent"),
		Model: strings.TrimSpace(r.PostFormValue("model")), Environment: r.PostFormValue("environment"), Harness: r.PostFormValue("harness"),
		Host: strings.TrimSpace(r.PostFormValue("host")), Skills: r.PostFormValue("skills"), Once: r.PostFormValue("once"),
	}
	started, err := s.Control.StartRun(r.Context(), c, data.request(), data.once())
	if err != nil {
		p, formErr := s.newRunForm(r.Context(), c, data)
		if formErr != nil {
			return formErr
		}
		return s.renderAgain(w, r, c, "newrun", p, err)
	}
	notice := "The run has been started."
	if started.AtCapacity {
		notice = s.whyQueued(r.Context(), c, started.RunID)
	}
	return s.done(w, r, under("runs", started.RunID), notice)
}

// whyQueued tells what a run waits for.
func (s *server) whyQueued(ctx context.Context, c lineshaft.Caller, runID string) string {
	run, err := s.Control.GetRun(ctx, c, runID)
	if err != nil {
		return "The run is queued."
	}
	workers, err := s.Control.Workers(ctx, c)
	connected := slices.ContainsFunc(workers, func(w runs.Worker) bool { return w.WorkerHost == run.Config.WorkerHost })
	switch {
	case err != nil || run.State != lineshaft.Queued:
		return "The run has been started."
	case !connected:
		return "The run is queued: the worker " + run.Config.WorkerHost + " is not connected."
	}
	return "The run is queued: all workers are busy now."
}

func (d newRunData) request() lineshaft.NewRun {
	n := lineshaft.NewRun{
		// Browsers send line ends as the wire wants them, and a shell stumbles over them.
		Prompt: strings.ReplaceAll(d.Prompt, "\r\n", "\n"), Title: d.Title, AgentUID: d.Agent, Source: lineshaft.SourceWebApp,
		Config: lineshaft.AgentConfig{ModelID: d.Model, EnvironmentID: d.Environment, WorkerHost: d.Host, Skills: strings.Fields(d.Skills)},
	}
	if d.Harness != "" {
		n.Config.Harness = &lineshaft.HarnessConfig{Type: d.Harness}
	}
	return n
}

// once makes a second sending of the same form start nothing; one that was changed in
// between is another.
func (d newRunData) once() *base.Idempotency {
	if len(d.Once) < 16 || len(d.Once) > 100 {
		return nil
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q %q %q %q", d.Prompt, d.Title, d.Agent, d.Model, d.Environment, d.Harness, d.Host, d.Skills))
	return &base.Idempotency{Key: fmt.Sprintf("%s-%x", d.Once, sum[:8]), Method: http.MethodPost, Path: "/runs", BodyHash: sum}
}
