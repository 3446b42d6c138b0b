package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/notify"
)

// notificationForm is an endpoint as its form has it. It never holds a secret.
type notificationForm struct {
	URL, Name, Description, RunName string
	States, Chosen                  []string
	// From says where the secret comes from: make or own.
	From string
	// Factories are those to choose from; Limited says that the reader's key needs one.
	Factories []option
	Limited   bool
	// At is the endpoint that is changed; empty for a new one.
	At string
}

// Hears says whether a state is marked.
func (f notificationForm) Hears(state string) bool { return slices.Contains(f.States, state) }

// Picked says whether a factory is marked.
func (f notificationForm) Picked(uid string) bool { return slices.Contains(f.Chosen, uid) }

// Ends and Steps are the states to choose from: those that end a run, and the others.
func (notificationForm) Ends() []lineshaft.RunState {
	return slices.DeleteFunc(lineshaft.RunStates(), func(s lineshaft.RunState) bool { return !s.Terminal() })
}

// Steps are the states on the way.
func (notificationForm) Steps() []lineshaft.RunState {
	return slices.DeleteFunc(lineshaft.RunStates(), lineshaft.RunState.Terminal)
}

func (s *server) newNotificationPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	form := notificationForm{From: "make", States: stateNames(notificationForm{}.Ends())}
	p, err := s.notificationFormPage(r, c, form, nil)
	if err != nil {
		return err
	}
	return s.render(w, r, c, "notificationform", p)
}

// notificationFormPage is the form, for a new endpoint or to change one.
func (s *server) notificationFormPage(r *http.Request, c lineshaft.Caller, form notificationForm, of *notificationView) (page, error) {
	names, err := s.factoryNames(r.Context(), c)
	if err != nil {
		return page{}, err
	}
	for _, uid := range form.Chosen { // one that is deleted, or beyond what is listed, stays marked
		if _, listed := names[uid]; !listed {
			names[uid] = uid
		}
	}
	for uid, name := range names {
		form.Factories = append(form.Factories, option{uid, name})
	}
	slices.SortFunc(form.Factories, func(a, b option) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	form.Limited = len(c.FactoryUIDs) > 0
	p := page{Title: "New notification", Section: "notifications", Crumbs: []crumb{{"Notifications", "/notifications"}}}
	if of != nil {
		p.Title, p.Crumbs, form.At = "Edit notification", of.within(), of.At
	}
	p.Data = form
	return p, nil
}

func readNotificationForm(r *http.Request) notificationForm {
	text := func(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
	return notificationForm{
		URL: text("url"), Name: text("name"), Description: text("description"), RunName: text("run_name"),
		From: text("from"), States: r.PostForm["state"], Chosen: r.PostForm["factory"],
	}
}

func stateNames(states []lineshaft.RunState) []string {
	names := make([]string, len(states))
	for i, state := range states {
		names[i] = string(state)
	}
	return names
}

func (f notificationForm) states() []lineshaft.RunState {
	states := make([]lineshaft.RunState, len(f.States))
	for i, name := range f.States {
		states[i] = lineshaft.RunState(name)
	}
	return states
}

// again shows the form with what was wrong. That a limited key has to name factories is
// for the reader to mend, and not the end of what was filled in.
func (s *server) formAgain(w http.ResponseWriter, r *http.Request, c lineshaft.Caller, form notificationForm, of *notificationView, err error) error {
	if len(c.FactoryUIDs) > 0 && len(form.Chosen) == 0 && lineshaft.CodeOf(err) == lineshaft.CodeNotAuthorized {
		err = lineshaft.Invalid("factory_uids", "your key is limited to factories; mark some of them")
	}
	p, formErr := s.notificationFormPage(r, c, form, of)
	if formErr != nil {
		return formErr
	}
	return s.renderAgain(w, r, c, "notificationform", p, err)
}

// chosenFactories are those that are marked. With none marked the form says all.
func chosenFactories(uids []string) *[]string {
	if len(uids) == 0 {
		return nil
	}
	return &uids
}

// ownSecret is the secret that people brought, if they say so.
func ownSecret(r *http.Request) (*string, error) {
	if r.PostFormValue("from") != "own" {
		return nil, nil
	}
	secret := strings.TrimSpace(r.PostFormValue("secret"))
	if secret == "" {
		return nil, lineshaft.Invalid("secret", "paste the secret, or let one be made")
	}
	return &secret, nil
}

// createNotification makes an endpoint and shows its secret, this once.
func (s *server) createNotification(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	form := readNotificationForm(r)
	secret, err := ownSecret(r)
	if err != nil {
		return s.formAgain(w, r, c, form, nil, err)
	}
	made, err := s.Control.CreateNotification(r.Context(), c, notify.NewNotification{
		URL: form.URL, Name: form.Name, Description: form.Description, States: form.states(), FactoryUIDs: form.Chosen, RunName: form.RunName,
		Secret: secret, Once: onceOf(r),
	})
	if err != nil {
		return s.formAgain(w, r, c, form, nil, err)
	}
	if made.Secret == "" {
		return s.done(w, r, under("notifications", made.ID), "Created. Send a test to see whether the receiver takes it.")
	}
	return s.showCallbackSecret(w, r, c, made, true)
}

func (s *server) editNotificationPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	v, err := s.findNotification(r, c)
	if err != nil {
		return err
	}
	form := notificationForm{
		URL: v.URL, Name: v.Name, Description: v.Description, RunName: v.RunName, States: stateNames(v.States), Chosen: v.FactoryUIDs,
	}
	p, err := s.notificationFormPage(r, c, form, &v)
	if err != nil {
		return err
	}
	return s.render(w, r, c, "notificationform", p)
}

func (s *server) editNotification(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	v, err := s.findNotification(r, c)
	if err != nil {
		return err
	}
	form := readNotificationForm(r)
	if _, err := s.Control.UpdateNotification(r.Context(), c, v.ID, notify.NotificationChange{
		URL: &form.URL, Name: &form.Name, Description: &form.Description, RunName: &form.RunName, States: new(form.states()),
		FactoryUIDs: chosenFactories(form.Chosen), AllFactories: len(form.Chosen) == 0,
	}); err != nil {
		return s.formAgain(w, r, c, form, &v, err)
	}
	return s.done(w, r, v.At, "Saved. What waits goes by the new settings.")
}
