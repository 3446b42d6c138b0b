package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

const (
	// deliveryPage is how many deliveries a page shows.
	deliveryPage = 25
	// payloadShown and payloadPeek bound the text of a payload on its page and in the list.
	payloadShown = 64 << 10
	payloadPeek  = 4 << 10
	// statesShown bounds the runs whose state is looked up for one page.
	statesShown = 25
	// chainShown bounds the redeliveries that are followed back, chainLooked how far
	// back in the log later ones are looked for.
	chainShown  = 10
	chainLooked = 100
)

func (s *server) deliveryRoutes() []route {
	const log = " /factories/{factory}/webhooks/{webhook}/deliveries"
	see, edit := lineshaft.PermissionFactoriesRead, lineshaft.PermissionFactoriesManage
	return []route{
		{"GET" + log, see, s.freshDeliveries},
		{"GET" + log + "/{delivery}", see, s.deliveryPage},
		{"GET" + log + "/{delivery}/peek", see, s.deliveryPeek},
		{"GET" + log + "/{delivery}/outcomes", see, s.deliveryOutcomes},
		{"GET" + log + "/{delivery}/payload", see, s.downloadPayload},
		{"GET" + log + "/{delivery}/redeliver", edit, s.redeliverPage},
		{"POST" + log + "/{delivery}/redeliver", edit, s.redeliver},
	}
}

// shownDelivery is a delivery with words for what became of it.
type shownDelivery struct {
	lineshaft.Delivery

	// At is the address of its page.
	At string
}

// Kind is the colour of its mark.
func (d shownDelivery) Kind() string {
	switch d.Status {
	case lineshaft.DeliveryAccepted:
		if slices.ContainsFunc(d.Outcomes, func(o lineshaft.DeliveryOutcome) bool { return o.Result == lineshaft.ResultError }) {
			return "warn"
		}
		return "good"
	case lineshaft.DeliveryDuplicate:
		return "idle"
	default:
		return "bad"
	}
}

// Word is its status.
func (d shownDelivery) Word() string {
	switch d.Status {
	case lineshaft.DeliveryAccepted:
		return "Accepted"
	case lineshaft.DeliveryDuplicate:
		return "Duplicate"
	case lineshaft.DeliveryRejectedAuth:
		return "Rejected (auth)"
	case lineshaft.DeliveryRejectedJSON:
		return "Rejected (invalid JSON)"
	case lineshaft.DeliveryRejectedSize:
		return "Rejected (too large)"
	}
	return string(d.Status)
}

// Summary says in a few words what came of it.
func (d shownDelivery) Summary() string {
	switch d.Status {
	case lineshaft.DeliveryDuplicate:
		return "nothing new to start"
	case lineshaft.DeliveryRejectedAuth:
		return d.reason("not authenticated")
	case lineshaft.DeliveryRejectedJSON:
		return d.reason("not JSON")
	case lineshaft.DeliveryRejectedSize:
		return d.reason("too large")
	case lineshaft.DeliveryAccepted:
	}
	counts := map[lineshaft.OutcomeResult]int{}
	for _, o := range d.Outcomes {
		counts[o.Result]++
	}
	var parts []string
	for _, result := range lineshaft.OutcomeResults() {
		switch n := counts[result]; {
		case n > 0 && result == lineshaft.ResultHandshake:
			parts = append(parts, "handshake")
		case n > 0:
			parts = append(parts, strconv.Itoa(n)+" "+resultWord(result))
		}
	}
	if d.NotMatched > 0 {
		parts = append(parts, strconv.Itoa(d.NotMatched)+" not matched")
	}
	if len(parts) == 0 {
		return "no automation listens"
	}
	return strings.Join(parts, ", ")
}

// reason is why a delivery was refused.
func (d shownDelivery) reason(otherwise string) string {
	for _, o := range d.Outcomes {
		if o.Reason != "" {
			return o.Reason
		}
	}
	return otherwise
}

// Handshake says that the provider only asked whether somebody is there.
func (d shownDelivery) Handshake() bool {
	return slices.ContainsFunc(d.Outcomes, func(o lineshaft.DeliveryOutcome) bool { return o.Result == lineshaft.ResultHandshake })
}

// Repeatable says whether a button to redeliver makes sense; control decides.
func (d shownDelivery) Repeatable() bool {
	return d.Status == lineshaft.DeliveryAccepted && !d.Handshake()
}

func resultWord(result lineshaft.OutcomeResult) string {
	switch result {
	case lineshaft.ResultFollowedUp:
		return "followed up"
	case lineshaft.ResultDisabled:
		return "switched off"
	case lineshaft.ResultLimit:
		return "over the limit"
	case lineshaft.ResultError:
		return "failed to start"
	case lineshaft.ResultFiltered:
		return "not matched"
	default:
		return string(result)
	}
}

func resultKind(result lineshaft.OutcomeResult) string {
	switch result {
	case lineshaft.ResultStarted, lineshaft.ResultFollowedUp:
		return "good"
	case lineshaft.ResultError:
		return "bad"
	case lineshaft.ResultLimit:
		return "warn"
	default:
		return "idle"
	}
}

// logData is a page of a webhook's log.
type logData struct {
	At         string
	Deliveries []shownDelivery
	// Newest is what a page that is live has seen so far.
	Newest string
	Live   bool
	Next   string
	First  string
}

func (s *server) deliveryLog(r *http.Request, c lineshaft.Caller, v hookView) (logData, error) {
	cursor := r.URL.Query().Get("cursor")
	found, err := s.Control.ListDeliveries(r.Context(), c, v.Factory.UID, v.UID, trigger.DeliveryQuery{Limit: deliveryPage, Cursor: cursor})
	if err != nil {
		return logData{}, err
	}
	log := logData{At: v.At, Deliveries: shownAll(v, found.Items), Live: cursor == "" && !v.Gone}
	if len(log.Deliveries) > 0 {
		log.Newest = log.Deliveries[0].ID
	}
	if found.Next != "" {
		log.Next = v.At + "?cursor=" + url.QueryEscape(found.Next)
	}
	if cursor != "" {
		log.First = v.At
	}
	return log, nil
}

func shownAll(v hookView, deliveries []lineshaft.Delivery) []shownDelivery {
	shown := make([]shownDelivery, len(deliveries))
	for i, d := range deliveries {
		shown[i] = shownDelivery{Delivery: d, At: v.At + "/deliveries/" + d.ID}
	}
	return shown
}

// freshDeliveries is what came since the newest that a page has; nothing new is 204,
// which leaves the page alone.
func (s *server) freshDeliveries(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	v, err := s.findLog(r, c)
	if err != nil {
		return err
	}
	if r.Header.Get("Hx-Request") != "true" {
		http.Redirect(w, r, v.At, http.StatusSeeOther)
		return nil
	}
	log, err := s.deliveryLog(r, c, v)
	if err != nil {
		return err
	}
	after := r.URL.Query().Get("after")
	held := len(log.Deliveries)
	log.Deliveries = slices.DeleteFunc(log.Deliveries, func(d shownDelivery) bool { return d.ID <= after })
	switch {
	case len(log.Deliveries) == 0:
		w.WriteHeader(http.StatusNoContent)
		return nil
	case after == "" || len(log.Deliveries) == held && held == deliveryPage:
		w.Header().Set("Hx-Refresh", "true") // the first of all, or more than fit: the whole page anew
		w.WriteHeader(http.StatusOK)
		return nil
	}
	return s.fragment(w, r, "webhook", "fresh", log)
}

// outcomeRow is an outcome with the state of its run.
type outcomeRow struct {
	lineshaft.DeliveryOutcome

	State lineshaft.RunState
	Title string
	// Automation is the address of the automation; a handshake has none.
	Automation string
}

// Word and Kind are its mark.
func (o outcomeRow) Word() string { return resultWord(o.Result) }

// Kind is the colour of its mark.
func (o outcomeRow) Kind() string { return resultKind(o.Result) }

type deliveryData struct {
	Hook     hookView
	Delivery shownDelivery
	Outcomes []outcomeRow
	Missed   []trigger.MissedAutomation
	// Text is the beginning of the payload, laid out; Cut says that there is more.
	Text    string
	Cut     bool
	Payload bool
	// Earlier are the deliveries that this one repeats, Later those that repeat it.
	Earlier []shownDelivery
	Later   []shownDelivery
	// Live says that a run of it has not ended.
	Live bool
}

func (d deliveryData) AutomationAt(uid string) string {
	return "/factories/" + url.PathEscape(d.Hook.Factory.UID) + "/automations/" + url.PathEscape(uid)
}

func (s *server) deliveryData(r *http.Request, c lineshaft.Caller, shown int) (deliveryData, error) {
	v, err := s.findLog(r, c)
	if err != nil {
		return deliveryData{}, err
	}
	found, err := s.Control.GetDelivery(r.Context(), c, v.Factory.UID, v.UID, r.PathValue("delivery"), true)
	if err != nil {
		return deliveryData{}, err
	}
	data := deliveryData{
		Hook: v, Missed: found.Missed, Payload: found.Payload != nil,
		Delivery: shownDelivery{Delivery: found.Delivery, At: v.At + "/deliveries/" + found.ID},
	}
	data.Text, data.Cut = layOut(found.Payload, shown)
	for i, o := range found.Outcomes {
		row := outcomeRow{DeliveryOutcome: o}
		if o.AutomationID != "" {
			row.Automation = data.AutomationAt(o.AutomationID)
		}
		if o.RunID != "" && i < statesShown {
			if run, err := s.Control.GetRun(r.Context(), c, o.RunID); err == nil {
				row.State, row.Title = run.State, run.Title
				data.Live = data.Live || !run.State.Terminal()
			} else if lineshaft.CodeOf(err) != lineshaft.CodeNotFound { // deleted since
				return data, fmt.Errorf("read run of delivery: %w", err)
			}
		}
		data.Outcomes = append(data.Outcomes, row)
	}
	return data, nil
}

func (s *server) deliveryPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	data, err := s.deliveryData(r, c, payloadShown)
	if err != nil {
		return err
	}
	if err := s.chain(r, c, &data); err != nil {
		return err
	}
	return s.render(w, r, c, "delivery", page{Title: "Delivery", Section: "webhooks", Crumbs: data.Hook.within(), Data: data})
}

// chain finds the deliveries that a delivery repeats, and those that repeat it.
func (s *server) chain(r *http.Request, c lineshaft.Caller, data *deliveryData) error {
	v := data.Hook
	for of := data.Delivery.RedeliveryOf; of != "" && len(data.Earlier) < chainShown; {
		found, err := s.Control.GetDelivery(r.Context(), c, v.Factory.UID, v.UID, of, false)
		if lineshaft.CodeOf(err) == lineshaft.CodeNotFound { // gone for its age
			break
		}
		if err != nil {
			return err
		}
		data.Earlier = append(data.Earlier, shownAll(v, []lineshaft.Delivery{found.Delivery})...)
		of = found.RedeliveryOf
	}
	newest, err := s.Control.ListDeliveries(r.Context(), c, v.Factory.UID, v.UID, trigger.DeliveryQuery{Limit: chainLooked, After: data.Delivery.ReceivedAt})
	if err != nil {
		return err
	}
	for _, d := range shownAll(v, newest.Items) {
		if d.RedeliveryOf == data.Delivery.ID {
			data.Later = append(data.Later, d)
		}
	}
	return nil
}

// deliveryPeek is what a row of the log opens to.
func (s *server) deliveryPeek(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	data, err := s.deliveryData(r, c, payloadPeek)
	if err != nil {
		return err
	}
	return s.fragment(w, r, "delivery", "peek", map[string]any{
		"Data": data, "May": c.Role.May(lineshaft.PermissionFactoriesManage),
	})
}

// deliveryOutcomes keeps the states of the runs on an open page current.
func (s *server) deliveryOutcomes(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	data, err := s.deliveryData(r, c, 0)
	if err != nil {
		return err
	}
	return s.fragment(w, r, "delivery", "outcomes", data)
}

// downloadPayload hands out the body byte for byte, as a file that no browser runs.
func (s *server) downloadPayload(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	v, err := s.findLog(r, c)
	if err != nil {
		return err
	}
	found, err := s.Control.GetDelivery(r.Context(), c, v.Factory.UID, v.UID, r.PathValue("delivery"), false)
	if err != nil {
		return err
	}
	if found.Payload == nil {
		return lineshaft.NotFound("payload of delivery", found.ID)
	}
	asAttachment(w, "application/json", "delivery-"+found.ID+".json")
	w.Header().Set("Content-Length", strconv.Itoa(len(found.Payload)))
	_, _ = w.Write(found.Payload) // a reader that went away is nobody's error
	return nil
}

// checkWords reads as part of a sentence between a path and what was expected.
func checkWords(operator string) string {
	switch operator {
	case "in":
		return "has to be one of"
	case "not_in":
		return "must be none of"
	case "exists":
		return "has to exist:"
	case "object":
		return "has to be an object like"
	}
	return operator
}
