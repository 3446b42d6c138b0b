package web

import (
	"net/http"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

// waitData is the wait for a first delivery: what has come after one that was known.
type waitData struct {
	At    string
	After string
	// Last is the newest that came; Arrived says that it was accepted.
	Last    *shownDelivery
	Arrived bool
}

// firstDelivery is asked again and again by a page that waits.
func (s *server) firstDelivery(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	v, err := s.findHook(r, c)
	if err != nil {
		return err
	}
	const looked = 10
	found, err := s.Control.ListDeliveries(r.Context(), c, v.Factory.UID, v.UID, trigger.DeliveryQuery{Limit: looked})
	if err != nil {
		return err
	}
	wait := waitData{At: v.At, After: r.URL.Query().Get("after")}
	fresh := slices.DeleteFunc(found.Items, func(d lineshaft.Delivery) bool { return d.ID <= wait.After })
	for _, d := range slices.Backward(fresh) {
		wait.Last = &shownDelivery{Delivery: d, At: v.At + "/deliveries/" + d.ID}
		if wait.Arrived = d.Status == lineshaft.DeliveryAccepted; wait.Arrived {
			break
		}
	}
	return s.fragment(w, r, "webhookdone", "wait", wait)
}

// newestDelivery is the id of the newest delivery so far, if there is one.
func (s *server) newestDelivery(r *http.Request, c lineshaft.Caller, v hookView) (string, error) {
	found, err := s.Control.ListDeliveries(r.Context(), c, v.Factory.UID, v.UID, trigger.DeliveryQuery{Limit: 1})
	if err != nil || len(found.Items) == 0 {
		return "", err
	}
	return found.Items[0].ID, nil
}
