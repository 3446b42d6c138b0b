package hooks

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

func (s pages) notificationRoutes() []page.Route {
	const one = "/notifications/{id}"
	return append([]page.Route{
		page.Get("/notifications", see, page.Show("notifications", s.notificationsPage)),
		page.Get("/notifications/new", edit, page.Show("notificationform", s.newNotificationPage)),
		page.Post("/notifications", edit, s.createNotification),
		page.Get(one, see, page.With(s.findNotification, s.notificationPage)),
		page.Get(one+"/edit", edit, page.ShowWith("notificationform", s.findNotification, s.editNotificationPage)),
		page.Post(one+"/edit", edit, page.With(s.findNotification, s.editNotification)),
		page.Post(one+"/enable", edit, s.switchNotification(true, "Enabled. Waiting callbacks from the last 72 hours are sent now.")),
		page.Post(one+"/disable", edit, s.switchNotification(false, "Disabled. State changes are not kept for it from now on.")),
		page.Post(one+"/test", edit, s.testNotification),
		page.Get(one+"/rotate", edit, page.ShowOf("notificationrotate", s.findNotification, rotateCallbackPage)),
		page.Post(one+"/rotate", edit, page.With(s.findNotification, s.rotateNotification)),
		page.Get(one+"/deliveries/{delivery}", see, page.With(s.findNotification, s.callbackPage)),
		page.Post(one+"/deliveries/{delivery}/replay", edit, s.replayCallback),
	}, page.Removing(one+"/delete", edit, s.askDeleteNotification, func(r *page.Request, id string) error {
		return s.Control.DeleteNotification(r.Context(), r.Caller, id)
	})...)
}

// notificationView is an endpoint as all of its pages show it.
type notificationView struct {
	lineshaft.Notification

	// At is the address of its page.
	At string
	// Factories are those whose runs it is notified of, with their names; none is all.
	Factories []page.Option
}

func newNotificationView(n lineshaft.Notification, names map[string]string) notificationView {
	v := notificationView{Notification: n, At: page.Under("notifications", n.ID)}
	for i, name := range page.Named(n.FactoryUIDs, names) {
		v.Factories = append(v.Factories, page.Option{Value: n.FactoryUIDs[i], Name: name})
	}
	return v
}

// Target is its address without what may be a token.
func (v notificationView) Target() string { return lineshaft.CallbackTarget(v.URL) }

// GivenUp says that the server disabled it, and not people.
func (v notificationView) GivenUp() bool { return !v.Enabled && v.DisabledReason != "" }

// Failing says that the last attempt failed.
func (v notificationView) Failing() bool {
	return v.Enabled && v.LastFailureAt.After(v.LastSuccessAt)
}

// mark is the colour and the word of its state.
func (v notificationView) mark() (kind, word string) {
	switch {
	case v.GivenUp():
		return "bad", "Given up"
	case !v.Enabled:
		return "idle", "Disabled"
	case v.Failing():
		return "warn", "Failing"
	}
	return "good", "Enabled"
}

// Kind is the colour of its mark.
func (v notificationView) Kind() string { kind, _ := v.mark(); return kind }

// Word is its state.
func (v notificationView) Word() string { _, word := v.mark(); return word }

// Hears says which changes it is notified of, as far as states select them.
func (v notificationView) Hears() string {
	if len(v.States) == 0 {
		return "Every state change"
	}
	var words []string
	ends := 0
	for _, state := range lineshaft.RunStates() { // in the order of a run's life
		if slices.Contains(v.States, state) {
			words = append(words, strings.ToLower(page.StateName(state)))
			if state.Terminal() {
				ends++
			}
		}
	}
	if ends == len(words) && ends == len(notificationForm{}.Ends()) {
		return "Run ended"
	}
	return page.Capital(strings.Join(words, ", "))
}

// within is a page below the endpoint's own.
func (v notificationView) within(title string, data any) page.Page {
	return page.Page{Title: title, Section: "notifications", Crumbs: page.Way("notifications").To(v.Name, v.At), Data: data}
}

// findNotification reads the endpoint that an address names.
func (s pages) findNotification(r *page.Request) (notificationView, error) {
	n, err := s.Control.GetNotification(r.Context(), r.Caller, r.PathValue("id"))
	if err != nil {
		return notificationView{}, err
	}
	names, err := s.FactoryNames(r.Context(), r.Caller)
	return newNotificationView(n, names), err
}

func (s pages) notificationsPage(r *page.Request) (p page.Page, err error) {
	list, err := s.Control.ListNotifications(r.Context(), r.Caller)
	if err != nil {
		return p, err
	}
	names, err := s.FactoryNames(r.Context(), r.Caller)
	rows := make([]notificationView, len(list))
	for i, n := range list {
		rows[i] = newNotificationView(n, names)
	}
	return page.Of("notifications", rows), err
}

type notificationData struct {
	Notification notificationView
	Log          callbackLog
	// May says whether the reader may change it.
	May bool
	// Live is where a page that is open asks for news; empty when it does not.
	Live string
}

// notificationPage is the page of an endpoint. An open page polls for itself and
// says what it shows: when there is nothing new the answer is 204, which leaves it alone.
func (s pages) notificationPage(r *page.Request, v notificationView) error {
	data := notificationData{Notification: v, May: r.Caller.Role.May(lineshaft.PermissionFactoriesManage)}
	deliveries, err := s.listCallbacks(r, v, &data.Log)
	if err != nil {
		return err
	}
	seen := digest(v, deliveries)
	if r.Asked() && r.URL.Query().Get("seen") == seen {
		r.W.WriteHeader(http.StatusNoContent)
		return nil
	}
	if data.Log.Rows, err = s.shownCallbacks(r, v, deliveries); err != nil {
		return err
	}
	if data.Log.First == "" {
		data.Live = liveAddress(v.At, data.Log.Status, seen)
	}
	if r.Asked() {
		return r.Fragment("notification", "live", data)
	}
	return r.Render("notification", page.Below("notifications", v.Name, data))
}

// digest shows a page that it is out of date.
func digest(v notificationView, deliveries []lineshaft.NotificationDelivery) string {
	sum := fnv.New64a()
	_, _ = fmt.Fprintln(sum, v.Name, v.UpdatedAt, v.Enabled, v.DisabledReason, v.LastSuccessAt, v.LastFailureAt, v.OldSecretUntil)
	for _, d := range deliveries {
		_, _ = fmt.Fprintln(sum, d.ID, d.Status, d.AttemptCount, d.NextAttemptAt, d.LastStatusCode)
	}
	return fmt.Sprintf("%x", sum.Sum64())
}
