package web

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

func (s *server) notificationRoutes() []route {
	const one = " /notifications/{id}"
	see, edit := lineshaft.PermissionFactoriesRead, lineshaft.PermissionFactoriesManage
	return []route{
		{"GET /notifications", see, s.notificationsPage},
		{"GET /notifications/new", edit, s.newNotificationPage},
		{"POST /notifications", edit, s.createNotification},
		{"GET" + one, see, s.notificationPage},
		{"GET" + one + "/edit", edit, s.editNotificationPage},
		{"POST" + one + "/edit", edit, s.editNotification},
		{"POST" + one + "/enable", edit, s.switchNotification(true)},
		{"POST" + one + "/disable", edit, s.switchNotification(false)},
		{"POST" + one + "/test", edit, s.testNotification},
		{"GET" + one + "/rotate", edit, s.rotateNotificationPage},
		{"POST" + one + "/rotate", edit, s.rotateNotification},
		{"GET" + one + "/delete", edit, s.askDeleteNotification},
		{"POST" + one + "/delete", edit, s.deleteNotification},
		{"GET" + one + "/deliveries/{delivery}", see, s.callbackPage},
		{"POST" + one + "/deliveries/{delivery}/replay", edit, s.replayCallback},
	}
}

// notificationView is an endpoint as all of its pages show it.
type notificationView struct {
	lineshaft.Notification

	// At is the address of its page.
	At string
	// Factories are those it hears of, with their names; none is all.
	Factories []option
}

func newNotificationView(n lineshaft.Notification, names map[string]string) notificationView {
	v := notificationView{Notification: n, At: under("notifications", n.ID)}
	for i, name := range named(n.FactoryUIDs, names) {
		v.Factories = append(v.Factories, option{n.FactoryUIDs[i], name})
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

// Kind is the colour of its mark, and Word what it says.
func (v notificationView) Kind() string {
	switch {
	case v.GivenUp():
		return "bad"
	case !v.Enabled:
		return "idle"
	case v.Failing():
		return "warn"
	}
	return "good"
}

// Word is its state.
func (v notificationView) Word() string {
	switch {
	case v.GivenUp():
		return "Given up"
	case !v.Enabled:
		return "Disabled"
	case v.Failing():
		return "Failing"
	}
	return "Enabled"
}

// Hears says which changes it is told of, as far as states select them.
func (v notificationView) Hears() string {
	if len(v.States) == 0 {
		return "Every change"
	}
	if ended := slices.DeleteFunc(lineshaft.RunStates(), func(s lineshaft.RunState) bool { return !s.Terminal() }); len(v.States) == len(ended) &&
		!slices.ContainsFunc(ended, func(s lineshaft.RunState) bool { return !slices.Contains(v.States, s) }) {
		return "Every end"
	}
	var words []string
	for _, state := range lineshaft.RunStates() { // in the order of a run's life
		if slices.Contains(v.States, state) {
			words = append(words, strings.ToLower(stateName(state)))
		}
	}
	return capital(strings.Join(words, ", "))
}

// within are the crumbs of a page below the endpoint's own.
func (v notificationView) within() []crumb {
	return []crumb{{"Notifications", "/notifications"}, {v.Name, v.At}}
}

// findNotification reads the endpoint that an address names.
func (s *server) findNotification(r *http.Request, c lineshaft.Caller) (notificationView, error) {
	n, err := s.Control.GetNotification(r.Context(), c, r.PathValue("id"))
	if err != nil {
		return notificationView{}, err
	}
	names, err := s.factoryNames(r.Context(), c)
	return newNotificationView(n, names), err
}

func (s *server) notificationsPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	list, err := s.Control.ListNotifications(r.Context(), c)
	if err != nil {
		return err
	}
	names, err := s.factoryNames(r.Context(), c)
	if err != nil {
		return err
	}
	rows := make([]notificationView, len(list))
	for i, n := range list {
		rows[i] = newNotificationView(n, names)
	}
	return s.render(w, r, c, "notifications", page{Title: "Notifications", Section: "notifications", Data: rows})
}

type notificationData struct {
	Notification notificationView
	Log          callbackLog
	// May says whether the reader may change it.
	May bool
	// Live is where a page that is open asks for news; empty when it does not.
	Live string
}

// notificationPage is the page of an endpoint. An open one asks for itself again and
// again, and tells what it shows: nothing new is 204, which leaves it alone.
func (s *server) notificationPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	v, err := s.findNotification(r, c)
	if err != nil {
		return err
	}
	data := notificationData{Notification: v, May: c.Role.May(lineshaft.PermissionFactoriesManage)}
	deliveries, err := s.listCallbacks(r, c, v, &data.Log)
	if err != nil {
		return err
	}
	seen := digest(v, deliveries)
	asked := r.Header.Get("Hx-Request") == "true"
	if asked && r.URL.Query().Get("seen") == seen {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if data.Log.Rows, err = s.shownCallbacks(r, c, v, deliveries); err != nil {
		return err
	}
	if data.Log.First == "" {
		data.Live = liveAddress(v.At, data.Log.Status, seen)
	}
	if asked {
		return s.fragment(w, r, "notification", "live", data)
	}
	return s.render(w, r, c, "notification", page{
		Title: v.Name, Section: "notifications", Crumbs: []crumb{{"Notifications", "/notifications"}}, Data: data,
	})
}

// digest is what tells a page that it is out of date.
func digest(v notificationView, deliveries []lineshaft.NotificationDelivery) string {
	sum := fnv.New64a()
	_, _ = fmt.Fprintln(sum, v.Name, v.UpdatedAt, v.Enabled, v.DisabledReason, v.LastSuccessAt, v.LastFailureAt, v.OldSecretUntil)
	for _, d := range deliveries {
		_, _ = fmt.Fprintln(sum, d.ID, d.Status, d.AttemptCount, d.NextAttemptAt, d.LastStatusCode)
	}
	return fmt.Sprintf("%x", sum.Sum64())
}
