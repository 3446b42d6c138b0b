package hooks

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// shownCallback is a delivery to an endpoint, with words for its state.
type shownCallback struct {
	lineshaft.NotificationDelivery

	// At is the address of its page.
	At string
	// Title is that of the run, as far as it is known.
	Title string
	// Held says that it waits for an endpoint that is disabled.
	Held bool
}

func showCallback(v notificationView, d lineshaft.NotificationDelivery) shownCallback {
	return shownCallback{
		NotificationDelivery: d, At: page.Under("notifications", v.ID, "deliveries", d.ID),
		Held: !v.Enabled && d.Status == lineshaft.NotificationPending,
	}
}

// Test says that it is not about a run.
func (d shownCallback) Test() bool { return d.Type == lineshaft.NotificationTest }

// Name is what it is about.
func (d shownCallback) Name() string {
	if d.Test() {
		return "Test"
	}
	return cmp.Or(d.Title, "Run "+d.RunID)
}

// mark is the colour and the word for its state.
func (d shownCallback) mark() (kind, word string) {
	switch {
	case d.Status == lineshaft.NotificationDelivered:
		return "good", "Delivered"
	case d.Status == lineshaft.NotificationFailed:
		return "bad", "Failed"
	case d.Held:
		return "idle", "On hold"
	case d.LastError != "":
		return "warn", "Trying again"
	}
	return "busy", "Sending"
}

// Kind is the colour of its mark.
func (d shownCallback) Kind() string { kind, _ := d.mark(); return kind }

// Word names its state.
func (d shownCallback) Word() string { _, word := d.mark(); return word }

// Answer says in a few words what came back.
func (d shownCallback) Answer() string {
	switch {
	case d.LastError != "":
		return page.Capital(d.LastError)
	case d.Status == lineshaft.NotificationDelivered:
		return "It answered " + strconv.Itoa(d.LastStatusCode)
	case d.AttemptCount > 0:
		return "To be sent again"
	}
	return "Not sent yet"
}

// Waits says that it was tried and will be again.
func (d shownCallback) Waits() bool {
	return d.Status == lineshaft.NotificationPending && d.AttemptCount > 0 && !d.Held
}

// Repeatable says whether a button to send it again makes sense; control decides.
func (d shownCallback) Repeatable() bool { return d.Status != lineshaft.NotificationPending }

// callbackLog is a page of an endpoint's log.
type callbackLog struct {
	page.Pager

	Rows []shownCallback
	// Status is what alone is shown; empty is everything.
	Status   lineshaft.NotificationStatus
	Statuses []statusLink
}

type statusLink struct {
	Name, Href string
	Here       bool
}

// listCallbacks reads a page of the log and fills in all but its rows.
func (s pages) listCallbacks(r *page.Request, v notificationView, log *callbackLog) ([]lineshaft.NotificationDelivery, error) {
	query := r.URL.Query()
	log.Statuses = []statusLink{{Name: "All", Href: v.At, Here: true}}
	for _, status := range lineshaft.NotificationStatuses() {
		here := query.Get("status") == string(status)
		if here {
			log.Status, log.Statuses[0].Here = status, false
		}
		name := map[lineshaft.NotificationStatus]string{
			lineshaft.NotificationPending: "Pending", lineshaft.NotificationDelivered: "Delivered", lineshaft.NotificationFailed: "Failed",
		}[status]
		log.Statuses = append(log.Statuses, statusLink{name, v.At + "?status=" + string(status), here})
	}
	found, err := s.Control.ListNotificationDeliveries(r.Context(), r.Caller, v.ID, notify.NotificationDeliveryQuery{
		Status: log.Status, Limit: deliveryPage, Cursor: query.Get("cursor"),
	})
	log.Pager = r.Pager(found.Next)
	return found.Deliveries, err
}

// shownCallbacks adds the titles of the runs.
func (s pages) shownCallbacks(r *page.Request, v notificationView, deliveries []lineshaft.NotificationDelivery) ([]shownCallback, error) {
	rows := make([]shownCallback, len(deliveries))
	var ids []string
	for i, d := range deliveries {
		rows[i] = showCallback(v, d)
		if d.RunID != "" {
			ids = append(ids, d.RunID)
		}
	}
	runs, err := s.Control.RunsByID(r.Context(), r.Caller, ids)
	titles := make(map[string]string, len(runs))
	for _, run := range runs {
		titles[run.ID] = run.Title
	}
	for i := range rows {
		rows[i].Title = titles[rows[i].RunID]
	}
	return rows, err
}

// liveAddress is where an open page asks for news.
func liveAddress(at string, status lineshaft.NotificationStatus, seen string) string {
	query := url.Values{"seen": {seen}}
	if status != "" {
		query.Set("status", string(status))
	}
	return page.WithQuery(at, query)
}

// shownAttempt is a request of a delivery.
type shownAttempt struct{ lineshaft.NotificationAttempt }

// Took is how long it was under way.
func (a shownAttempt) Took() time.Duration { return time.Duration(a.DurationMS) * time.Millisecond }

// Kind is the colour of its mark.
func (a shownAttempt) Kind() string {
	if a.Error == "" {
		return "good"
	}
	return "bad"
}

// Word is what the endpoint made of it.
func (a shownAttempt) Word() string {
	switch {
	case a.Error == "":
		return "Accepted"
	case a.StatusCode != 0:
		return "Refused"
	}
	return "No answer"
}

// Answer is what came back.
func (a shownAttempt) Answer() string {
	if a.Error == "" {
		return "It answered " + strconv.Itoa(a.StatusCode)
	}
	return page.Capital(a.Error)
}

type callbackData struct {
	Notification notificationView
	Delivery     shownCallback
	// Attempts are the newest first.
	Attempts []shownAttempt
	// Text is the beginning of the payload, laid out; Cut says that there is more.
	Text string
	Cut  bool
	May  bool
	// Live is where an open page asks for news; empty once it has ended.
	Live string
}

// callbackPage is the page of one delivery; while that is pending, an open page polls
// for itself.
func (s pages) callbackPage(r *page.Request, v notificationView) error {
	found, err := s.Control.GetNotificationDelivery(r.Context(), r.Caller, v.ID, r.PathValue("delivery"))
	if err != nil {
		return err
	}
	this := []lineshaft.NotificationDelivery{*found}
	seen := digest(v, this)
	if r.Asked() && r.URL.Query().Get("seen") == seen {
		r.W.WriteHeader(http.StatusNoContent)
		return nil
	}
	rows, err := s.shownCallbacks(r, v, this)
	if err != nil {
		return err
	}
	data := callbackData{Notification: v, Delivery: rows[0], May: r.Caller.Role.May(lineshaft.PermissionFactoriesManage)}
	if found.Status == lineshaft.NotificationPending {
		data.Live = liveAddress(data.Delivery.At, "", seen)
	}
	for i := len(found.Attempts) - 1; i >= 0; i-- {
		data.Attempts = append(data.Attempts, shownAttempt{found.Attempts[i]})
	}
	data.Text, data.Cut = page.LayOut(found.Body, payloadShown)
	if r.Asked() {
		return r.Fragment("notificationdelivery", "live", data)
	}
	return r.Render("notificationdelivery", v.within("Callback", data))
}

func (s pages) replayCallback(r *page.Request) error {
	again, err := s.Control.ReplayNotificationDelivery(r.Context(), r.Caller, r.PathValue("id"), r.PathValue("delivery"))
	if err != nil {
		return err
	}
	return r.Done(page.Under("notifications", again.NotificationID, "deliveries", again.ID), "It is sent again, with the same id and payload.")
}
