package hooks

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// logData is a page of a log.
type logData struct {
	page.Pager

	// At is the address of the page, Fresh that of what is new.
	At, Fresh  string
	Deliveries []shownDelivery
	// Newest is what a page that is live has seen so far, and seen are those shortly before it.
	Newest string
	seen   []string
	Live   bool
	// Text and Only narrow it down.
	Text, Only string
	// Tabs are the lists by result, Kinds those of refused deliveries by reason while one of them is shown.
	Tabs, Kinds []logTab
	// Since and Until are the stretch of time it is about, Range how far its chart looks back.
	Since, Until time.Time
	Range        string
	Volume       *volumeData
	// Kept are values of the address besides text and list.
	Kept url.Values
	// Factory and Webhook are the one whose log it is; empty for several.
	Factory, Webhook string
}

// logTab is one of the lists by the result of deliveries.
type logTab struct {
	Name, Href string
	Here       bool
}

// logKind is what the log can be narrowed down to.
type logKind struct {
	value, name string
	fits        func(shownDelivery) bool
}

var logKinds = []logKind{
	{"", "All", func(shownDelivery) bool { return true }},
	{"started", "Started", shownDelivery.Started},
	{"unmatched", "Not matched", func(d shownDelivery) bool {
		failed := d.has(lineshaft.ResultError) || d.has(lineshaft.ResultLimit)
		return d.Status == lineshaft.DeliveryAccepted && !d.Started() && !failed && !d.Handshake()
	}},
	{"duplicate", "Duplicates", func(d shownDelivery) bool { return d.Status == lineshaft.DeliveryDuplicate }},
	{"refused", "Rejected", func(d shownDelivery) bool {
		return d.Status != lineshaft.DeliveryAccepted && d.Status != lineshaft.DeliveryDuplicate
	}},
	{"failed", "Failed to start", func(d shownDelivery) bool {
		return d.Status == lineshaft.DeliveryAccepted && (d.has(lineshaft.ResultError) || d.has(lineshaft.ResultLimit))
	}},
}

// refusals are the reasons for which deliveries are refused.
var refusals = []logKind{
	{"refused-auth", "Not authenticated", hasStatus(lineshaft.DeliveryRejectedAuth)},
	{"refused-json", "Not JSON", hasStatus(lineshaft.DeliveryRejectedJSON)},
	{"refused-size", "Too large", hasStatus(lineshaft.DeliveryRejectedSize)},
}

func hasStatus(status lineshaft.DeliveryStatus) func(shownDelivery) bool {
	return func(d shownDelivery) bool { return d.Status == status }
}

// refused says that the log is about refused deliveries, all of them or those of one kind.
func (l logData) refused() bool { return strings.HasPrefix(l.Only, "refused") }

// narrow are the deliveries that a reader asks for.
func (l logData) narrow(all []shownDelivery) []shownDelivery {
	return slices.DeleteFunc(all, func(d shownDelivery) bool {
		for _, kind := range slices.Concat(logKinds, refusals) {
			if kind.value == l.Only && !kind.fits(d) {
				return true
			}
		}
		return l.Text != "" && !strings.Contains(strings.ToLower(d.words()), strings.ToLower(l.Text))
	})
}

// words are what is written of a delivery in the log.
func (d shownDelivery) words() string {
	words := []string{d.ID, d.Event, d.Identity, d.RemoteAddr, d.Word(), d.Summary()}
	if d.Hook != nil {
		words = append(words, d.Hook.Name)
	}
	for _, o := range d.Outcomes {
		words = append(words, o.AutomationName, o.Reason, o.RunID)
	}
	return strings.Join(words, "\n")
}

const (
	// narrowLimit is how many rows are read at once when the log is filtered, and
	// narrowReads how often, until a page is full.
	narrowLimit = 200
	narrowReads = 10
)

// newLog is the log that an address asks for, still empty. Kept is what its links keep.
func newLog(r *page.Request, at string, kept url.Values) (logData, error) {
	given := r.URL.Query()
	log := logData{At: at, Fresh: at, Text: strings.TrimSpace(given.Get("q")), Only: given.Get("only"), Kept: url.Values{}}
	maps.Copy(log.Kept, kept)
	if err := readTimes(&log, given); err != nil {
		return log, err
	}
	for _, kind := range logKinds {
		here := kind.value == log.Only || kind.value == "refused" && log.refused()
		log.Tabs = append(log.Tabs, logTab{Name: kind.name, Href: log.link("only", kind.value), Here: here})
	}
	if log.refused() {
		log.Kinds = append(log.Kinds, logTab{Name: "All rejected", Href: log.link("only", "refused"), Here: log.Only == "refused"})
		for _, kind := range refusals {
			log.Kinds = append(log.Kinds, logTab{Name: kind.name, Href: log.link("only", kind.value), Here: kind.value == log.Only})
		}
	}
	if !slices.ContainsFunc(slices.Concat(logKinds, refusals), func(k logKind) bool { return k.value == log.Only }) {
		return log, lineshaft.Invalid("only", "choose one of the lists")
	}
	return log, nil
}

// PollAt is where an open page asks for what came after its newest.
func (l logData) PollAt() string {
	values := url.Values{"after": {l.Newest}}
	if len(l.seen) > 0 {
		values.Set("seen", strings.Join(l.seen, " "))
	}
	maps.Copy(values, l.Kept)
	return page.WithQuery(l.Fresh, values)
}

// Narrowed says that not all deliveries are shown.
func (l logData) Narrowed() bool { return l.Text != "" || l.Only != "" }

// readPart reads some rows of a log from a cursor on, and says where to continue.
type readPart func(limit int, cursor string) (rows []shownDelivery, next string, err error)

// fill reads until a page is full, and not too often.
func (s pages) fill(r *page.Request, log *logData, read readPart) error {
	limit, reads, cursor := deliveryPage, 1, r.Cursor()
	if log.Narrowed() {
		limit, reads = narrowLimit, narrowReads
	}
	log.Live = cursor == "" && !log.Narrowed() && log.Between() == ""
	for ; reads > 0; reads-- {
		rows, next, err := read(limit, cursor)
		if err != nil {
			return err
		}
		log.Deliveries = append(log.Deliveries, log.narrow(rows)...)
		cursor = next
		if next == "" || len(log.Deliveries) >= deliveryPage {
			break
		}
	}
	log.Pager = r.Pager(cursor)
	noteSeen(log)
	return s.nameRuns(r, log.Deliveries)
}

func (s pages) deliveryLog(r *page.Request, v hookView) (logData, error) {
	log, err := newLog(r, v.At, nil)
	if err != nil {
		return log, err
	}
	log.Fresh += "/deliveries"
	if !v.Gone {
		log.Factory, log.Webhook = v.Factory.UID, v.UID
	}
	if err := s.fill(r, &log, s.logOf(r, v, log)); err != nil {
		return log, err
	}
	log.Live = log.Live && !v.Gone
	return log, s.addVolume(r, &log, v.Factory.UID, v.UID)
}

// logOf reads the log of one webhook.
func (s pages) logOf(r *page.Request, v hookView, log logData) readPart {
	return func(limit int, cursor string) ([]shownDelivery, string, error) {
		query := trigger.DeliveryQuery{After: log.Since, Before: log.Until, Limit: limit, Cursor: cursor}
		found, err := s.Control.ListDeliveries(r.Context(), r.Caller, v.Factory.UID, v.UID, query)
		return shownAll(v, found.Items), found.Next, err
	}
}

// logOfAll reads the logs of all webhooks, or of those of one factory.
func (s pages) logOfAll(r *page.Request, factory string, log logData) readPart {
	return func(limit int, cursor string) ([]shownDelivery, string, error) {
		query := trigger.LogQuery{
			FactoryUID: factory, Refused: log.refused(), After: log.Since, Before: log.Until, Limit: limit, Cursor: cursor,
		}
		found, err := s.Control.ListAllDeliveries(r.Context(), r.Caller, query)
		rows := make([]shownDelivery, 0, len(found.Items))
		for _, d := range found.Items {
			if d.Webhook.UID == "" { // purged this moment
				continue
			}
			v := s.hookView(&lineshaft.Factory{UID: d.Webhook.FactoryUID}, d.Webhook)
			v.Gone = !d.Webhook.DeletedAt.IsZero()
			row := v.delivery(d.Delivery)
			row.Hook = &v
			rows = append(rows, row)
		}
		return rows, found.Next, err
	}
}

// allData is the log of all webhooks.
type allData struct {
	Log       logData
	Factories []page.Option
	Chosen    string
}

// allDeliveries shows what came to any webhook; an open page asks it for what is new.
func (s pages) allDeliveries(r *page.Request) error {
	names, err := s.FactoryNames(r.Context(), r.Caller)
	if err != nil {
		return err
	}
	data := allData{Chosen: r.URL.Query().Get("factory"), Factories: page.Options(names)}
	kept := url.Values{}
	if data.Chosen != "" {
		kept.Set("factory", data.Chosen)
	}
	if data.Log, err = newLog(r, "/deliveries", kept); err != nil {
		return err
	}
	if err := s.fill(r, &data.Log, s.logOfAll(r, data.Chosen, data.Log)); err != nil {
		return err
	}
	data.Log.Factory = data.Chosen
	if r.Asked() {
		return showFresh(r, data.Log)
	}
	if err := s.addVolume(r, &data.Log, data.Chosen, ""); err != nil {
		return err
	}
	return r.Render("deliveries", page.Of("deliveries", data))
}

// nameRuns finds the runs that deliveries started.
func (s pages) nameRuns(r *page.Request, list []shownDelivery) error {
	var ids []string
	first := func(d shownDelivery) string {
		for _, o := range d.Outcomes {
			if o.RunID != "" {
				return o.RunID
			}
		}
		return ""
	}
	for _, d := range list {
		if id := first(d); id != "" && len(ids) < 2*deliveryPage {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 || !r.Caller.Role.May(lineshaft.PermissionRunsRead) {
		return nil
	}
	runs, err := s.Control.RunsByID(r.Context(), r.Caller, ids)
	if err != nil {
		return err
	}
	byID := map[string]*lineshaft.Run{}
	for i := range runs {
		byID[runs[i].ID] = &runs[i]
	}
	for i := range list {
		list[i].Run = byID[first(list[i])]
	}
	return nil
}

func shownAll(v hookView, deliveries []lineshaft.Delivery) []shownDelivery {
	shown := make([]shownDelivery, len(deliveries))
	for i, d := range deliveries {
		shown[i] = v.delivery(d)
	}
	return shown
}

// freshDeliveries is what came since the newest that a page has; when there is nothing new
// it answers 204, which leaves the page alone.
func (s pages) freshDeliveries(r *page.Request, v hookView) error {
	if !r.Asked() {
		http.Redirect(r.W, r.Request, v.At, http.StatusSeeOther)
		return nil
	}
	log, err := s.deliveryLog(r, v)
	if err != nil {
		return err
	}
	return showFresh(r, log)
}

func showFresh(r *page.Request, log logData) error {
	after := r.URL.Query().Get("after")
	held := len(log.Deliveries)
	keepFresh(&log, after, strings.Fields(r.URL.Query().Get("seen")))
	switch {
	case len(log.Deliveries) == 0:
		r.W.WriteHeader(http.StatusNoContent)
		return nil
	case after == "" || len(log.Deliveries) == held && held == deliveryPage:
		r.W.Header().Set("Hx-Refresh", "true") // the first of all, or more than fit: the whole page again
		r.W.WriteHeader(http.StatusOK)
		return nil
	}
	return r.Fragment("deliveries", "fresh", log)
}

// latePeriod is how long after its time a delivery may show up in the log: its id is older than
// its commit, and another node may have been slow.
const latePeriod = time.Minute

// noteSeen remembers the newest and those that an open page must not be given again.
func noteSeen(l *logData) {
	for i, d := range l.Deliveries {
		if i == 0 {
			l.Newest = d.ID
		}
		if l.Deliveries[0].ReceivedAt.Sub(d.ReceivedAt) < latePeriod {
			l.seen = append(l.seen, d.ID)
		}
	}
}

// keepFresh leaves what a page does not have that has seen the newest and some before it: what
// came after that, and what was late.
func keepFresh(l *logData, after string, seen []string) {
	newest := slices.IndexFunc(l.Deliveries, func(d shownDelivery) bool { return d.ID == after })
	late := func(d shownDelivery) bool {
		return newest >= 0 && l.Deliveries[newest].ReceivedAt.Sub(d.ReceivedAt) < latePeriod && len(seen) > 0 && !slices.Contains(seen, d.ID)
	}
	var fresh []shownDelivery
	for _, d := range l.Deliveries {
		if d.ID > after || late(d) {
			fresh = append(fresh, d)
		}
	}
	l.Deliveries = fresh
}
