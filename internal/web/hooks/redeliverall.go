package hooks

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// mostAgain is how many deliveries are taken again at once.
const mostAgain = 50

func (s pages) redeliverAllRoutes() []page.Route {
	return []page.Route{
		page.Get("/deliveries/redeliver", edit, page.InTurn(page.Show("redeliverall", s.redeliverAllPage))),
		page.Post("/deliveries/redeliver", edit, page.InTurn(s.redeliverAll)),
	}
}

// againData is what taking the deliveries of a list again would do.
type againData struct {
	Log logData
	// Items are the deliveries, the newest first; Starts is how many runs they would start.
	Items  []againItem
	Starts int
	// Automations says of each what it would do.
	Automations []againSum
	// Left counts those that were redelivered already, More says that there are others.
	Left int
	More bool
	// Back is the list.
	Back string
}

type againItem struct {
	shownDelivery

	// Value names it in the form.
	Value  string
	Starts int
	// Problem is why it cannot be taken again.
	Problem string
}

// againSum is how often an automation would do what.
type againSum struct {
	Name, Href             string
	Starts, Missed, Others int
}

// AgainAt is where the deliveries of a log can be taken again; empty where none can.
func (l logData) AgainAt() string {
	if l.Only == "refused" || l.Only == "duplicate" || len(l.Deliveries) == 0 {
		return ""
	}
	values := url.Values{}
	for name, value := range map[string]string{
		"only": l.Only, "q": l.Text, "factory": l.Factory, "webhook": l.Webhook, "since": l.Kept.Get("since"), "until": l.Kept.Get("until"),
	} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return page.WithQuery("/deliveries/redeliver", values)
}

func (s pages) redeliverAllPage(r *page.Request) (p page.Page, err error) {
	given := r.URL.Query()
	data := againData{Back: "/deliveries"}
	factory, webhook := given.Get("factory"), given.Get("webhook")
	if data.Log, err = newLog(r, "/deliveries/redeliver", nil); err != nil {
		return p, err
	}
	read := s.logOfAll(r, factory, data.Log)
	if webhook != "" {
		f, err := s.Control.GetFactory(r.Context(), r.Caller, factory)
		if err != nil {
			return p, err
		}
		w, err := s.Control.GetWebhook(r.Context(), r.Caller, factory, webhook)
		if err != nil {
			return p, err
		}
		v := s.hookView(f, w)
		read, data.Back = s.logOf(r, v, data.Log), v.At
	}
	given.Del("webhook")
	if webhook != "" {
		given.Del("factory")
	}
	data.Back = page.WithQuery(data.Back, given)
	if err := data.gather(read); err != nil {
		return p, err
	}
	if err := s.foresee(r, &data); err != nil {
		return p, err
	}
	return page.Below("deliveries", "Redeliver all that match", data), nil
}

// gather collects what fits and can be redelivered. What was redelivered since is left out,
// so that asking twice does not do it twice.
func (d *againData) gather(read readPart) error {
	repeated, cursor := map[string]bool{}, ""
	for range narrowReads {
		rows, next, err := read(narrowLimit, cursor)
		if err != nil {
			return err
		}
		for _, row := range rows { // a redelivery is newer than what it repeats
			if row.RedeliveryOf != "" {
				repeated[row.RedeliveryOf] = true
			}
		}
		for _, row := range d.Log.narrow(rows) {
			gone := row.Hook != nil && row.Hook.Gone
			switch {
			case !row.Repeatable() || row.RedeliveryOf != "" || gone:
			case repeated[row.ID]:
				d.Left++
			case len(d.Items) == mostAgain:
				d.More = true
				return nil
			default:
				d.Items = append(d.Items, againItem{shownDelivery: row})
			}
		}
		if cursor = next; next == "" {
			return nil
		}
	}
	d.More = true
	return nil
}

// foresee does each of them and takes it back.
func (s pages) foresee(r *page.Request, data *againData) error {
	sums := map[string]*againSum{}
	for i := range data.Items {
		item := &data.Items[i]
		item.Value = strings.Join([]string{item.factory, item.WebhookUID, item.ID}, "/")
		wanted := trigger.Redelivery{FactoryUID: item.factory, WebhookUID: item.WebhookUID, DeliveryID: item.ID, DryRun: true}
		foreseen, err := s.Control.Redeliver(r.Context(), r.Caller, wanted, nil)
		if why, ok := declined(err); ok {
			item.Problem = why
			continue
		}
		if err != nil {
			return err
		}
		for _, o := range foreseen.Outcomes {
			sum := sums[o.AutomationID]
			if sum == nil {
				sum = &againSum{Name: o.AutomationName, Href: page.AutomationAddress(item.factory, o.AutomationID)}
				sums[o.AutomationID] = sum
			}
			switch o.Result {
			case lineshaft.ResultStarted:
				sum.Starts++
				item.Starts++
				data.Starts++
			case lineshaft.ResultFiltered:
				sum.Missed++
			default:
				sum.Others++
			}
		}
	}
	for _, sum := range sums {
		data.Automations = append(data.Automations, *sum)
	}
	slices.SortFunc(data.Automations, func(a, b againSum) int {
		return cmp.Or(cmp.Compare(b.Starts, a.Starts), strings.Compare(a.Name, b.Name), strings.Compare(a.Href, b.Href))
	})
	return nil
}

// declined says why one delivery cannot be redelivered, which is not a reason to stop.
func declined(err error) (why string, ok bool) {
	told, ok := errors.AsType[*lineshaft.Error](err)
	if !ok || told.Code != lineshaft.CodeConflict && told.Code != lineshaft.CodeNotFound {
		return "", false
	}
	return told.Message, true
}

// redeliverAll redelivers the ticked deliveries, the oldest first. One that fails
// does not hold up the others.
func (s pages) redeliverAll(r *page.Request) error {
	_ = r.ParseForm() // what cannot be read has no values
	values := slices.Clone(r.PostForm["delivery"])
	back := cmp.Or(r.Text("back"), "/deliveries")
	if len(values) == 0 || len(values) > mostAgain {
		return lineshaft.Invalid("delivery", "choose 1 to %d deliveries", mostAgain)
	}
	if !strings.HasPrefix(back, "/deliveries") && !strings.HasPrefix(back, "/factories/") {
		return lineshaft.Invalid("back", "name a list of deliveries")
	}
	slices.Reverse(values)
	once, made, runs, failed := r.Once(), 0, 0, ""
	for i, value := range values {
		parts := strings.Split(value, "/")
		if len(parts) != 3 {
			return lineshaft.Invalid("delivery", "name a delivery by its factory, webhook and id")
		}
		own := once
		if once != nil {
			each := *once
			each.Key, own = once.Key+"-"+strconv.Itoa(i), &each
		}
		wanted := trigger.Redelivery{FactoryUID: parts[0], WebhookUID: parts[1], DeliveryID: parts[2]}
		done, err := s.Control.Redeliver(r.Context(), r.Caller, wanted, own)
		if why, ok := declined(err); ok {
			failed = cmp.Or(failed, why)
			continue
		}
		if err != nil {
			return err
		}
		made++
		for _, o := range done.Outcomes {
			if o.Result == lineshaft.ResultStarted {
				runs++
			}
		}
	}
	notice := "Redelivered " + page.Plural(made, "delivery", "deliveries") + ", which started " + page.Plural(runs, "run", "runs") + "."
	if failed != "" {
		notice += fmt.Sprintf(" %d could not be: %s", len(values)-made, failed)
	}
	return r.Done(back, notice)
}
