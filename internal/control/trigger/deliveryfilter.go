package trigger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// DeliveryFilter selects deliveries of a log; an empty field selects all.
type DeliveryFilter struct {
	// Statuses and Results are of which a delivery has one: its status, the result of an automation.
	Statuses []lineshaft.DeliveryStatus
	Results  []lineshaft.OutcomeResult
	Event    string
	// Text is a part of what the log says of a delivery, in any case of letters.
	Text string
}

func (f DeliveryFilter) empty() bool {
	return len(f.Statuses) == 0 && len(f.Results) == 0 && f.Event == "" && f.Text == ""
}

// name keeps cursors of lists with other filters apart.
func (f DeliveryFilter) name() string { return fmt.Sprintf("\x00%q", f) }

// selects says whether a delivery fits.
func (f DeliveryFilter) selects(d *lineshaft.Delivery) bool {
	if len(f.Statuses) > 0 && !slices.Contains(f.Statuses, d.Status) || f.Event != "" && d.Event != f.Event {
		return false
	}
	asked := func(o lineshaft.DeliveryOutcome) bool { return slices.Contains(f.Results, o.Result) }
	if len(f.Results) > 0 && !slices.ContainsFunc(d.Outcomes, asked) {
		return false
	}
	if f.Text == "" {
		return true
	}
	words := []string{d.ID, d.Event, d.Identity, d.RemoteAddr, string(d.Status)}
	for _, o := range d.Outcomes {
		words = append(words, o.AutomationName, string(o.Result), o.Reason, o.RunID)
	}
	return strings.Contains(strings.ToLower(strings.Join(words, "\n")), strings.ToLower(f.Text))
}
