package web

import (
	"net/http"

	"github.com/lineshaft/lineshaft"
)

// said answers an action of a run's page: a page that follows the run gets a word
// beside the box, one without scripts is shown anew.
func (s *server) said(w http.ResponseWriter, r *http.Request, words string) error {
	if r.Header.Get("Hx-Request") == "true" {
		return s.fragment(w, r, "run", "said", words)
	}
	return s.done(w, r, under("runs", r.PathValue("id")), words)
}

func (s *server) followup(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	message := r.PostFormValue("message")
	_, err := s.Control.Followup(r.Context(), c, lineshaft.NewFollowup{RunID: r.PathValue("id"), Message: message}, onceOf(r))
	if err == nil {
		return s.said(w, r, "Your message was sent.")
	}
	if r.Header.Get("Hx-Request") == "true" {
		return err
	}
	p, readErr := s.runPageOf(r, c)
	if readErr != nil {
		return err
	}
	if data, ok := p.Data.(runData); ok {
		data.Message = message
		p.Data = data
	}
	return s.renderAgain(w, r, c, "run", p, err)
}

func (s *server) interrupt(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	if err := s.Control.Interrupt(r.Context(), c, r.PathValue("id")); err != nil {
		return err
	}
	return s.said(w, r, "The agent was asked to stop what it does now.")
}

func (s *server) cancel(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	cascade := r.PostFormValue("children") == "cancel"
	if _, err := s.Control.Cancel(r.Context(), c, r.PathValue("id"), cascade, nil); err != nil {
		return err
	}
	return s.said(w, r, "The run was cancelled.")
}

func (s *server) rerun(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	started, err := s.Control.Rerun(r.Context(), c, r.PathValue("id"), lineshaft.SourceWebApp, onceOf(r))
	if err != nil {
		return err
	}
	return s.done(w, r, under("runs", started.RunID), "A new run of the same request was started.")
}
