package hooks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/signature"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// testData is the form of a test event.
type testData struct {
	Hook hookView
	// Text is the body; Event is what the sender calls it, if Header names events.
	Text, Event, Header string
}

func (s pages) testPage(r *page.Request, v hookView) (page.Page, error) {
	data := testData{Hook: v}
	data.Text, data.Header = signature.TrialBody(v.SignatureScheme)
	data.Event = signature.TrialEvent(v.SignatureScheme)
	if like := r.URL.Query().Get("like"); like != "" {
		found, err := s.Control.GetDelivery(r.Context(), r.Caller, v.Factory.UID, v.UID, like, false)
		if err != nil {
			return page.Page{}, err
		}
		data.Event = cmp.Or(found.Event, data.Event)
		if text, cut := page.LayOut(found.Payload, payloadShown); !cut && text != "" {
			data.Text = text
		}
	}
	return v.page("Send test event", v.within(), data), nil
}

// sendTest sends the event that was typed as any delivery is sent, and goes to the
// page of the result.
func (s pages) sendTest(r *page.Request, v hookView) error {
	data := testData{Hook: v, Text: page.FormText(r.PostFormValue("body")), Event: r.Text("event")}
	_, data.Header = signature.TrialBody(v.SignatureScheme)
	again := func(err error) error {
		return r.Again("webhooktest", v.page("Send test event", v.within(), data), err)
	}
	if s.SendTest == nil {
		return again(lineshaft.Conflict("this server accepts no deliveries"))
	}
	signed, err := s.Control.SignTestEvent(r.Context(), r.Caller, trigger.TestEvent{
		FactoryUID: v.Factory.UID, WebhookUID: v.UID, URL: s.WebhookBaseURL + ingressPath + v.UID, Text: data.Text, Event: data.Event,
	})
	if err != nil {
		return again(err)
	}
	status, body, err := s.SendTest(r.Context(), signed, r.Caller.RemoteAddr)
	if err != nil {
		return err
	}
	var told struct {
		DeliveryID string `json:"delivery_id"`
		Detail     string `json:"detail"`
	}
	_ = json.Unmarshal(body, &told) // a handshake answers with anything
	switch {
	case told.DeliveryID != "":
		return r.Done(v.At+"/deliveries/"+told.DeliveryID, "Sent, and answered with 202. This is the delivery.")
	case status < http.StatusBadRequest:
		return r.Done(v.At, fmt.Sprintf("Sent, and answered with %d as a handshake.", status))
	}
	return again(lineshaft.Invalid("body", "the webhook answered %d: %s", status, cmp.Or(told.Detail, http.StatusText(status))))
}
