package runs

import (
	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// said answers an action of a run's page: a page that follows the run gets a message
// next to the box, a page without scripts is shown again.
func (s pages) said(r *page.Request, words string) error {
	if r.Asked() {
		return r.Fragment("run", "said", words)
	}
	return r.Done(page.Under("runs", r.PathValue("id")), words)
}

func (s pages) followup(r *page.Request) error {
	message := r.PostFormValue("message")
	_, err := s.Control.Followup(r.Context(), r.Caller, lineshaft.NewFollowup{RunID: r.PathValue("id"), Message: message}, r.Once())
	if err == nil {
		return s.said(r, "Your message was sent.")
	}
	if r.Asked() {
		return err
	}
	p, readErr := s.runPage(r)
	if readErr != nil {
		return err
	}
	if data, ok := p.Data.(runData); ok {
		data.Message = message
		p.Data = data
	}
	return r.Again("run", p, err)
}

func (s pages) interrupt(r *page.Request) error {
	if err := s.Control.Interrupt(r.Context(), r.Caller, r.PathValue("id")); err != nil {
		return err
	}
	return s.said(r, "The agent was asked to stop what it is doing.")
}

func (s pages) cancel(r *page.Request) error {
	cascade := r.PostFormValue("children") == "cancel"
	if _, err := s.Control.Cancel(r.Context(), r.Caller, r.PathValue("id"), cascade, nil); err != nil {
		return err
	}
	return s.said(r, "The run was cancelled.")
}

func (s pages) rerun(r *page.Request) error {
	started, err := s.Control.Rerun(r.Context(), r.Caller, r.PathValue("id"), lineshaft.SourceWebApp, r.Once())
	if err != nil {
		return err
	}
	return r.Done(page.Under("runs", started.RunID), "A new run of the same request was started.")
}
