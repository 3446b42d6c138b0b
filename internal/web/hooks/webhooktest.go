package hooks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

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

// sendTest sends the event that was typed the way that any delivery takes, and goes to the
// page of what came of it.
func (s pages) sendTest(r *page.Request, v hookView) error {
	data := testData{Hook: v, Text: page.FormText(r.PostFormValue("body")), Event: r.Text("event")}
	_, data.Header = signature.TrialBody(v.SignatureScheme)
	again := func(err error) error {
		return r.Again("webhooktest", v.page("Send test event", v.within(), data), err)
	}
	if s.Deliver == nil {
		return again(lineshaft.Conflict("this server takes no deliveries"))
	}
	signed, err := s.Control.SignTestEvent(r.Context(), r.Caller, trigger.TestEvent{
		FactoryUID: v.Factory.UID, WebhookUID: v.UID, URL: s.WebhookBaseURL + ingressPath + v.UID, Text: data.Text, Event: data.Event,
	})
	if err != nil {
		return again(err)
	}
	got, err := s.answerTo(r, signed)
	if err != nil {
		return err
	}
	var told struct {
		DeliveryID string `json:"delivery_id"`
		Detail     string `json:"detail"`
	}
	_ = json.Unmarshal(got.body.Bytes(), &told) // a handshake answers with anything
	switch {
	case told.DeliveryID != "":
		return r.Done(v.At+"/deliveries/"+told.DeliveryID, "Sent, and answered with 202. This is the delivery.")
	case got.status < http.StatusBadRequest:
		return r.Done(v.At, fmt.Sprintf("Sent, and answered with %d as a handshake.", got.status))
	}
	return again(lineshaft.Invalid("body", "the webhook answered %d: %s", got.status, cmp.Or(told.Detail, http.StatusText(got.status))))
}

// answerTo hands a signed request to the ingress, as if it came from the person who asks.
func (s pages) answerTo(r *page.Request, signed signature.Request) (*keptAnswer, error) {
	at, err := url.Parse(signed.URL)
	if err != nil {
		return nil, errors.New("the address of the webhook cannot be read") // its text may hold a token
	}
	// Below another path, a proxy leads here without it.
	_, uid, _ := strings.Cut(at.EscapedPath(), ingressPath)
	request, err := http.NewRequestWithContext(r.Context(), signed.Method, ingressPath+uid, bytes.NewReader(signed.Body))
	if err != nil {
		return nil, errors.New("the address of the webhook cannot be called")
	}
	request.URL.RawQuery, request.Header, request.Host = at.RawQuery, signed.Header, at.Host
	request.RemoteAddr = net.JoinHostPort(r.Caller.RemoteAddr, "0")
	got := &keptAnswer{status: http.StatusOK}
	s.Deliver.ServeHTTP(got, request)
	return got, nil
}

// keptAnswer is an answer that stays in the program.
type keptAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (k *keptAnswer) Header() http.Header {
	if k.header == nil {
		k.header = http.Header{}
	}
	return k.header
}

// WriteHeader implements http.ResponseWriter.
func (k *keptAnswer) WriteHeader(status int) { k.status = status }

// Write implements http.ResponseWriter.
func (k *keptAnswer) Write(p []byte) (int, error) { return k.body.Write(p) }
