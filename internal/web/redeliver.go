package web

import (
	"net/http"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

type redeliverData struct {
	Hook     hookView
	Delivery shownDelivery
	Outcomes []outcomeRow
	// Starts is how many runs it would start.
	Starts int
}

// redeliverPage tells what a delivery would start today. The dry run is taken back,
// so that looking changes nothing.
func (s *server) redeliverPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	v, err := s.findLog(r, c)
	if err != nil {
		return err
	}
	wanted := trigger.Redelivery{FactoryUID: v.Factory.UID, WebhookUID: v.UID, DeliveryID: r.PathValue("delivery"), DryRun: true}
	foreseen, err := s.Control.Redeliver(r.Context(), c, wanted, nil)
	if err != nil {
		return err
	}
	found, err := s.Control.GetDelivery(r.Context(), c, v.Factory.UID, v.UID, wanted.DeliveryID, false)
	if err != nil {
		return err
	}
	data := redeliverData{Hook: v, Delivery: shownDelivery{Delivery: found.Delivery, At: v.At + "/deliveries/" + found.ID}}
	for _, o := range foreseen.Outcomes {
		if o.Result == lineshaft.ResultStarted {
			data.Starts++
		}
		data.Outcomes = append(data.Outcomes, outcomeRow{DeliveryOutcome: o, Automation: deliveryData{Hook: v}.AutomationAt(o.AutomationID)})
	}
	return s.render(w, r, c, "redeliver", page{
		Title: "Redeliver", Section: "webhooks", Crumbs: append(v.within(), crumb{"Delivery", data.Delivery.At}), Data: data,
	})
}

func (s *server) redeliver(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	v, err := s.findLog(r, c)
	if err != nil {
		return err
	}
	made, err := s.Control.Redeliver(r.Context(), c, trigger.Redelivery{FactoryUID: v.Factory.UID, WebhookUID: v.UID, DeliveryID: r.PathValue("delivery")}, onceOf(r))
	if err != nil {
		return err
	}
	return s.done(w, r, v.At+"/deliveries/"+made.DeliveryID, "Delivered again. This is the new delivery.")
}
