package hooks

import (
	"cmp"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// notificationForm is an endpoint as its form has it. It never holds a secret.
type notificationForm struct {
	URL, Name, Description, RunName string
	States, Chosen                  []string
	// From says where the secret comes from: make or own.
	From string
	// Factories are those to choose from; Limited says that the reader's key needs one.
	Factories []page.Option
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

func (s pages) newNotificationPage(r *page.Request) (page.Page, error) {
	return s.notificationFormPage(r, notificationForm{From: "make", States: stateNames(notificationForm{}.Ends())}, nil)
}

// notificationFormPage is the form, for a new endpoint or to change one.
func (s pages) notificationFormPage(r *page.Request, form notificationForm, of *notificationView) (page.Page, error) {
	names, err := s.FactoryNames(r.Context(), r.Caller)
	for _, uid := range form.Chosen { // one that is deleted, or beyond what is listed, stays marked
		names[uid] = cmp.Or(names[uid], uid)
	}
	form.Factories = page.Options(names)
	form.Limited = len(r.Caller.FactoryUIDs) > 0
	if of == nil {
		return page.Below("notifications", "New notification", form), err
	}
	form.At = of.At
	return of.within("Edit notification", form), err
}

func readNotificationForm(r *page.Request) notificationForm {
	return notificationForm{
		URL: r.Text("url"), Name: r.Text("name"), Description: r.Text("description"), RunName: r.Text("run_name"),
		From: r.Text("from"), States: r.PostForm["state"], Chosen: r.PostForm["factory"],
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

// formAgain shows the form with what was wrong. That a limited key must name factories is
// for the reader to fix, and must not lose what was filled in.
func (s pages) formAgain(r *page.Request, form notificationForm, of *notificationView, err error) error {
	if len(r.Caller.FactoryUIDs) > 0 && len(form.Chosen) == 0 && lineshaft.CodeOf(err) == lineshaft.CodeNotAuthorized {
		err = lineshaft.Invalid("factory_uids", "your key is limited to factories; select some of them")
	}
	p, formErr := s.notificationFormPage(r, form, of)
	return r.Again("notificationform", p, cmp.Or(formErr, err))
}

// chosenFactories are those that are marked. With none marked the form says all.
func chosenFactories(uids []string) *[]string {
	if len(uids) == 0 {
		return nil
	}
	return &uids
}

// createNotification makes an endpoint and shows its secret, this once.
func (s pages) createNotification(r *page.Request) error {
	form := readNotificationForm(r)
	secret, err := ownSecret(r, pasteSecret)
	if err != nil {
		return s.formAgain(r, form, nil, err)
	}
	made, err := s.Control.CreateNotification(r.Context(), r.Caller, notify.NewNotification{
		URL: form.URL, Name: form.Name, Description: form.Description, States: form.states(), FactoryUIDs: form.Chosen, RunName: form.RunName,
		Secret: secret, Once: r.Once(),
	})
	if err != nil {
		return s.formAgain(r, form, nil, err)
	}
	if made.Secret == "" {
		return r.Done(page.Under("notifications", made.ID), "Created. Send a test to see whether the receiver accepts it.")
	}
	return s.showCallbackSecret(r, made, true)
}

func (s pages) editNotificationPage(r *page.Request, v notificationView) (page.Page, error) {
	form := notificationForm{
		URL: v.URL, Name: v.Name, Description: v.Description, RunName: v.RunName, States: stateNames(v.States), Chosen: v.FactoryUIDs,
	}
	return s.notificationFormPage(r, form, &v)
}

func (s pages) editNotification(r *page.Request, v notificationView) error {
	form := readNotificationForm(r)
	if _, err := s.Control.UpdateNotification(r.Context(), r.Caller, v.ID, notify.NotificationChange{
		URL: &form.URL, Name: &form.Name, Description: &form.Description, RunName: &form.RunName, States: new(form.states()),
		FactoryUIDs: chosenFactories(form.Chosen), AllFactories: len(form.Chosen) == 0,
	}); err != nil {
		return s.formAgain(r, form, &v, err)
	}
	return r.Done(v.At, "Saved. Waiting callbacks follow the new settings.")
}
