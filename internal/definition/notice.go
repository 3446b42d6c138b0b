package definition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
)

// noEffect says once in a folder that something is kept and changes nothing here.
func (r *reader) noEffect(subject string, line, column int, path, reason string) {
	r.notice(subject, lineshaft.FileProblem{File: r.file, Line: line + r.above, Column: column, Message: path + ": has no effect on this server: " + reason})
}

// notice takes down what is no mistake but should be known, once for each subject.
func (f *findings) notice(subject string, n lineshaft.FileProblem) {
	if f.noticed[subject] {
		return
	}
	if f.noticed == nil {
		f.noticed = map[string]bool{}
	}
	f.noticed[subject] = true
	f.notices = append(f.notices, n)
}

// noteEvents says which providers have triggers here and no webhook to send their events to.
func (p *parsing) noteEvents(a *lineshaft.Automation) {
	schemes := partNames(p.def.Webhooks, func(w lineshaft.Webhook) string { return w.SignatureScheme })
	for i, t := range a.Triggers {
		if why := catalog.Unheard(t, schemes); why != "" {
			place := indexed("triggers", i)
			p.notice("events of "+t.Provider, p.def.Problem(KindAutomation, a.Name, place, place+": "+why, ""))
		}
	}
}

// noteSecrets names the secrets that runs of an automation would inherit by the published
// format, and do not get here: what strangers send must not reach them.
func (p *parsing) noteSecrets(a *lineshaft.Automation, agent lineshaft.AgentConfig) {
	fromOutside := func(t lineshaft.Trigger) bool { return t.Delivered() || t.Provider == lineshaft.ProviderRun }
	if !slices.ContainsFunc(a.Triggers, fromOutside) {
		return
	}
	f := p.def.Factory
	inherited, _ := lineshaft.Resolve(lineshaft.Layer{Config: a.Config, Replaces: true}, lineshaft.Layer{Config: agent, Replaces: true},
		lineshaft.Layer{Config: f.Defaults, Replaces: true}, lineshaft.Layer{Config: f.Shared()})
	own := a.Config.GivenSecrets()
	kept := slices.DeleteFunc(slices.Clone(inherited.GivenSecrets()), func(name string) bool { return contains(own, name) })
	if names := strings.Join(kept, ", "); names != "" {
		p.notice("secrets "+names, p.def.Problem(KindAutomation, a.Name, "secrets",
			"secrets: runs that a delivery or another run starts do not get "+names+" of the agent and the factory, nor tool servers that need it",
			"name in the automation's secrets what its runs may have"))
	}
}

// noteModel says that a name for the choice of the hosted service is only a name here.
func (p *parsing) noteModel(kind Kind, name, path string, c lineshaft.AgentConfig) {
	model, at := c.ModelID, joinPath(path, "model")
	if model == "" {
		model, at = c.Model(), joinPath(path, "harness.model")
	}
	if model == "auto" || strings.HasPrefix(model, "auto-") {
		p.notice("model auto", p.def.Problem(kind, name, at,
			fmt.Sprintf("%s: %q leaves the choice to the hosted service; here it is a name that endpoints may not have", at, model),
			"name one that `lineshaft model list` shows, or leave it out for the server's own"))
	}
}
