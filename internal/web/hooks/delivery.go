package hooks

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/web/page"
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
	// back in the log later ones are searched for.
	chainShown  = 10
	chainLooked = 100
)

func (s pages) deliveryRoutes() []page.Route {
	const log, one = "/factories/{factory}/webhooks/{webhook}/deliveries", "/factories/{factory}/webhooks/{webhook}/deliveries/{delivery}"
	return []page.Route{
		page.Get("/deliveries", see, page.InTurn(s.allDeliveries)),
		page.Get(log, see, page.With(s.findLog, s.freshDeliveries)),
		page.Get(one, see, page.Show("delivery", s.deliveryPage)),
		page.Get(one+"/peek", see, s.deliveryPeek),
		page.Get(one+"/outcomes", see, s.deliveryOutcomes),
		page.Get(one+"/payload", see, page.With(s.findLog, s.downloadPayload)),
		page.Get(one+"/redeliver", edit, page.ShowWith("redeliver", s.findLog, s.redeliverPage)),
		page.Post(one+"/redeliver", edit, page.With(s.findLog, s.redeliver)),
	}
}

// shownDelivery is a delivery with words for its result.
type shownDelivery struct {
	lineshaft.Delivery

	// At is the address of its page, factory that of its webhook.
	At, factory string
	// Run is the first run that it started, as far as that is known.
	Run *lineshaft.Run
	// Hook is the webhook that got it, in a log of several.
	Hook *hookView
}

// deliveryMarks are the colour and the word of a status, and the text for a delivery
// without a reason.
var deliveryMarks = map[lineshaft.DeliveryStatus][3]string{
	lineshaft.DeliveryAccepted:     {"good", "Accepted"},
	lineshaft.DeliveryDuplicate:    {"idle", "Duplicate", "nothing new to start"},
	lineshaft.DeliveryRejectedAuth: {"bad", "Rejected (auth)", "not authenticated"},
	lineshaft.DeliveryRejectedJSON: {"bad", "Rejected (invalid JSON)", "not JSON"},
	lineshaft.DeliveryRejectedSize: {"bad", "Rejected (too large)", "too large"},
}

// acceptedMarks are the colour and the word for the result of an accepted delivery, the most
// important first.
var acceptedMarks = []struct {
	result     lineshaft.OutcomeResult
	kind, word string
}{
	{lineshaft.ResultError, "bad", "Failed to start"},
	{lineshaft.ResultStarted, "good", "Started"},
	{lineshaft.ResultFollowedUp, "good", "Followed up"},
	{lineshaft.ResultLimit, "warn", "Limited"},
	{lineshaft.ResultSkipped, "idle", "Skipped"},
	{lineshaft.ResultHandshake, "idle", "Handshake"},
	{lineshaft.ResultDisabled, "idle", "Switched off"},
}

// mark is the colour and the word for its result.
func (d shownDelivery) mark() (kind, word string) {
	if d.Status != lineshaft.DeliveryAccepted {
		return cmp.Or(deliveryMarks[d.Status][0], "bad"), cmp.Or(deliveryMarks[d.Status][1], string(d.Status))
	}
	for _, one := range acceptedMarks {
		if d.has(one.result) {
			return one.kind, one.word
		}
	}
	if d.NotMatched == 0 && len(d.Outcomes) == 0 {
		return "idle", "Not listened to"
	}
	return "idle", "Not matched"
}

// Kind is the colour of its mark.
func (d shownDelivery) Kind() string {
	kind, _ := d.mark()
	return kind
}

// Word names its result.
func (d shownDelivery) Word() string {
	_, word := d.mark()
	return word
}

// Started says that it started a run, or reached one.
func (d shownDelivery) Started() bool {
	return d.has(lineshaft.ResultStarted) || d.has(lineshaft.ResultFollowedUp)
}

// Others says how many runs it started besides the first; empty for none.
func (d shownDelivery) Others() string {
	n := 0
	for _, o := range d.Outcomes {
		if o.RunID != "" {
			n++
		}
	}
	if n < 2 {
		return ""
	}
	return page.Plural(n-1, "other run", "other runs")
}

// Answer is what the sender got, as far as a status decides it; empty where nobody asked.
func (d shownDelivery) Answer() string {
	problem := map[lineshaft.DeliveryStatus]int{
		lineshaft.DeliveryAccepted: 0, lineshaft.DeliveryDuplicate: 0,
		lineshaft.DeliveryRejectedAuth: http.StatusUnauthorized, lineshaft.DeliveryRejectedJSON: http.StatusBadRequest,
		lineshaft.DeliveryRejectedSize: http.StatusRequestEntityTooLarge,
	}[d.Status]
	switch {
	case d.RedeliveryOf != "":
		return ""
	case problem != 0:
		return fmt.Sprintf("%d %s, with a problem document", problem, http.StatusText(problem))
	case d.Handshake() && d.AnswerStatus != 0:
		return fmt.Sprintf("%d %s, as the provider wants it for a handshake", d.AnswerStatus, http.StatusText(d.AnswerStatus))
	case d.Handshake():
		return "the answer to the provider's handshake"
	}
	return fmt.Sprintf(`202 Accepted {"delivery_id":%q}`, cmp.Or(d.DuplicateOf, d.ID))
}

// Summary says the result in a few words.
func (d shownDelivery) Summary() string {
	switch said := deliveryMarks[d.Status][2]; {
	case d.Status == lineshaft.DeliveryDuplicate:
		return said
	case said != "":
		return d.reason(said)
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

// Handshake says that the provider only asked whether anyone answers.
func (d shownDelivery) Handshake() bool { return d.has(lineshaft.ResultHandshake) }

func (d shownDelivery) has(result lineshaft.OutcomeResult) bool {
	return slices.ContainsFunc(d.Outcomes, func(o lineshaft.DeliveryOutcome) bool { return o.Result == result })
}

// Repeatable says whether a button to redeliver makes sense; control decides.
func (d shownDelivery) Repeatable() bool {
	return d.Status == lineshaft.DeliveryAccepted && !d.Handshake()
}

// resultMarks are the colour of a result and, where its name is not, its word.
var resultMarks = map[lineshaft.OutcomeResult][2]string{
	lineshaft.ResultStarted:    {"good"},
	lineshaft.ResultFollowedUp: {"good", "followed up"},
	lineshaft.ResultDisabled:   {"idle", "switched off"},
	lineshaft.ResultLimit:      {"warn", "over the limit"},
	lineshaft.ResultError:      {"bad", "failed to start"},
	lineshaft.ResultFiltered:   {"idle", "not matched"},
	lineshaft.ResultSkipped:    {"idle"},
	lineshaft.ResultHandshake:  {"idle"},
}

func resultWord(result lineshaft.OutcomeResult) string {
	return cmp.Or(resultMarks[result][1], string(result))
}

// outcomeRow is an outcome with the state of its run.
type outcomeRow struct {
	lineshaft.DeliveryOutcome

	State lineshaft.RunState
	Title string
	// Automation is the address of the automation; a handshake has none.
	Automation string
	// Refused says that nothing was tried.
	Refused bool
}

// Word and Kind are its mark.
func (o outcomeRow) Word() string {
	if o.Refused {
		return "refused"
	}
	return resultWord(o.Result)
}

// Kind is the colour of its mark.
func (o outcomeRow) Kind() string { return resultMarks[o.Result][0] }

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
	return page.AutomationAddress(d.Hook.Factory.UID, uid)
}

func (s pages) deliveryData(r *page.Request, shown int) (deliveryData, error) {
	v, err := s.findLog(r)
	if err != nil {
		return deliveryData{}, err
	}
	found, err := s.Control.GetDelivery(r.Context(), r.Caller, v.Factory.UID, v.UID, r.PathValue("delivery"), true)
	if err != nil {
		return deliveryData{}, err
	}
	data := deliveryData{Hook: v, Missed: found.Missed, Payload: found.Payload != nil, Delivery: v.delivery(found.Delivery)}
	data.Text, data.Cut = page.LayOut(found.Payload, shown)
	for i, o := range found.Outcomes {
		row := outcomeRow{DeliveryOutcome: o, Refused: o.Result == lineshaft.ResultError && found.Status != lineshaft.DeliveryAccepted}
		if o.AutomationID != "" {
			row.Automation = data.AutomationAt(o.AutomationID)
		}
		if o.RunID != "" && i < statesShown {
			if run, err := s.Control.GetRun(r.Context(), r.Caller, o.RunID); err == nil {
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

func (s pages) deliveryPage(r *page.Request) (p page.Page, err error) {
	data, err := s.deliveryData(r, payloadShown)
	if err != nil {
		return p, err
	}
	if err := s.chain(r, &data); err != nil {
		return p, err
	}
	return data.Hook.page("Delivery", data.Hook.within(), data), nil
}

// chain finds the deliveries that a delivery repeats, and those that repeat it.
func (s pages) chain(r *page.Request, data *deliveryData) error {
	v := data.Hook
	for of := data.Delivery.RedeliveryOf; of != "" && len(data.Earlier) < chainShown; {
		found, err := s.Control.GetDelivery(r.Context(), r.Caller, v.Factory.UID, v.UID, of, false)
		if lineshaft.CodeOf(err) == lineshaft.CodeNotFound { // gone for its age
			break
		}
		if err != nil {
			return err
		}
		data.Earlier = append(data.Earlier, v.delivery(found.Delivery))
		of = found.RedeliveryOf
	}
	newest, err := s.Control.ListDeliveries(r.Context(), r.Caller, v.Factory.UID, v.UID, trigger.DeliveryQuery{Limit: chainLooked, After: data.Delivery.ReceivedAt})
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
func (s pages) deliveryPeek(r *page.Request) error {
	data, err := s.deliveryData(r, payloadPeek)
	if err != nil {
		return err
	}
	return r.Fragment("delivery", "peek", map[string]any{
		"Data": data, "May": r.Caller.Role.May(lineshaft.PermissionFactoriesManage),
	})
}

// deliveryOutcomes keeps the states of the runs on an open page current.
func (s pages) deliveryOutcomes(r *page.Request) error {
	data, err := s.deliveryData(r, 0)
	if err != nil {
		return err
	}
	return r.Fragment("delivery", "outcomes", data)
}

// downloadPayload hands out the body byte for byte, as a file that no browser runs.
func (s pages) downloadPayload(r *page.Request, v hookView) error {
	found, err := s.Control.GetDelivery(r.Context(), r.Caller, v.Factory.UID, v.UID, r.PathValue("delivery"), false)
	if err != nil {
		return err
	}
	if found.Payload == nil {
		return lineshaft.NotFound("payload of delivery", found.ID)
	}
	page.AsAttachment(r.W, "application/json", "delivery-"+found.ID+".json")
	r.W.Header().Set("Content-Length", strconv.Itoa(len(found.Payload)))
	_, _ = r.W.Write(found.Payload) // a reader that went away is nobody's error
	return nil
}

// checkWords reads as part of a sentence between a path and what was expected.
func checkWords(operator string) string {
	words := map[string]string{
		"in": "must be one of", "not_in": "must not be one of", "exists": "must exist:", "object": "must be an object like",
	}
	return cmp.Or(words[operator], operator)
}

type redeliverData struct {
	Hook     hookView
	Delivery shownDelivery
	Outcomes []outcomeRow
	// Starts is how many runs it would start.
	Starts int
}

// redeliverPage says what a delivery would start today. The dry run is rolled back:
// looking changes nothing.
func (s pages) redeliverPage(r *page.Request, v hookView) (p page.Page, err error) {
	wanted := trigger.Redelivery{FactoryUID: v.Factory.UID, WebhookUID: v.UID, DeliveryID: r.PathValue("delivery"), DryRun: true}
	foreseen, err := s.Control.Redeliver(r.Context(), r.Caller, wanted, nil)
	if err != nil {
		return p, err
	}
	found, err := s.Control.GetDelivery(r.Context(), r.Caller, v.Factory.UID, v.UID, wanted.DeliveryID, false)
	if err != nil {
		return p, err
	}
	data := redeliverData{Hook: v, Delivery: v.delivery(found.Delivery)}
	for _, o := range foreseen.Outcomes {
		if o.Result == lineshaft.ResultStarted {
			data.Starts++
		}
		data.Outcomes = append(data.Outcomes, outcomeRow{DeliveryOutcome: o, Automation: deliveryData{Hook: v}.AutomationAt(o.AutomationID)})
	}
	return v.page("Redeliver", v.within().To("Delivery", data.Delivery.At), data), nil
}

func (s pages) redeliver(r *page.Request, v hookView) error {
	made, err := s.Control.Redeliver(r.Context(), r.Caller, trigger.Redelivery{FactoryUID: v.Factory.UID, WebhookUID: v.UID, DeliveryID: r.PathValue("delivery")}, r.Once())
	if err != nil {
		return err
	}
	return r.Done(v.At+"/deliveries/"+made.DeliveryID, "Delivered again. This is the new delivery.")
}
