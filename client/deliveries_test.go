package client

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

const deliveryJSON = `{"delivery_id":"d1","status":"accepted","size":9,"received_at":"2026-01-02T03:00:00.000000Z","identity":"i","identity_source":"s","remote_addr":"192.0.2.1",
"not_matched":1,"outcomes":[{"automation_id":"a1","automation_name":"triage","result":"started","run_id":"r1"}],"payload":{"a":1,"a":12345678901234567890123},
"not_matched_automations":[{"automation_id":"a2","automation_name":"close","checks":[{"trigger":1,"path":"payload.a","operator":"in","expected":[2],"seen":1,"passed":false}]}]}`

func TestW11Deliveries(t *testing.T) {
	t.Parallel()
	page := func(id, next string) http.HandlerFunc {
		info := `{"has_next_page":false}`
		if next != "" {
			info = `{"has_next_page":true,"next_cursor":"` + next + `"}`
		}
		return answer(200, `{"deliveries":[{"delivery_id":"`+id+`"}],"page_info":`+info+`}`)
	}
	c, s := scripted(t, page("d3", "c1"), page("d2", ""), answer(200, deliveryJSON))
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.FixedZone("", 3600))
	var ids []string
	for d, err := range c.Webhooks.AllDeliveries(t.Context(), "f/1", "w1", DeliveryQuery{ReceivedAfter: at, ReceivedBefore: at.Add(time.Hour), Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, d.DeliveryID)
	}
	got := s.requests()
	if strings.Join(ids, " ") != "d3 d2" || got[0].path != "/api/v1/factory/f%2F1/webhooks/w1/deliveries" ||
		got[0].query != "limit=1&received_after=2026-01-02T02%3A04%3A05.0000006Z&received_before=2026-01-02T03%3A04%3A05.0000006Z" || !strings.Contains(got[1].query, "cursor=c1") {
		t.Errorf("%v, %+v", ids, got)
	}
	d, err := c.Webhooks.GetDelivery(t.Context(), "f1", "w1", "d1")
	if err != nil || d.Outcomes[0].RunID != "r1" || string(d.Payload) != `{"a":1,"a":12345678901234567890123}` || !d.ReceivedAt.Equal(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v, %v", d, err)
	}
	d, err = c.Webhooks.ExplainDelivery(t.Context(), "f1", "w1", "d1")
	if err != nil || d.NotMatchedAutomations[0].Checks[0].Trigger != 1 || string(d.NotMatchedAutomations[0].Checks[0].Seen) != "1" {
		t.Errorf("%+v, %v", d, err)
	}
	if got := s.requests(); got[2].path != "/api/v1/factory/f1/webhooks/w1/deliveries/d1" || got[2].query != "" || got[3].query != "explain=true" {
		t.Errorf("%+v", got[2:])
	}
	for _, err := range []error{
		func() error { _, err := c.Webhooks.GetDelivery(t.Context(), "f1", "w1", ""); return err }(),
		func() error { _, err := c.Webhooks.Redeliver(t.Context(), "f1", "", "d1"); return err }(),
		func() error {
			_, err := c.Webhooks.Deliveries(t.Context(), "", "w1", DeliveryQuery{})
			return err
		}(),
	} {
		if err == nil {
			t.Error("an empty id was sent")
		}
	}
}

// A redelivery is repeated under one key when its answer is lost.
func TestW15Redeliver(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, answer(503, `{"code":"resource_unavailable","retryable":true}`), answer(202, `{"delivery_id":"d9","outcomes":[{"result":"started","run_id":"r9"}]}`))
	done, err := c.Webhooks.Redeliver(t.Context(), "f1", "w1", "d1")
	if err != nil || done.DeliveryID != "d9" || done.Outcomes[0].RunID != "r9" {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := c.Webhooks.TryRedeliver(t.Context(), "f1", "w1", "d1"); err != nil {
		t.Error(err)
	}
	got := s.requests()
	key := got[0].header.Get("Idempotency-Key")
	if len(got) != 3 || key == "" || got[1].header.Get("Idempotency-Key") != key || got[2].header.Get("Idempotency-Key") == key {
		t.Errorf("%+v", got)
	}
	if got[1].path != "/api/v1/factory/f1/webhooks/w1/deliveries/d1/redeliver" || got[1].body != `{"dry_run":false}` || got[2].body != `{"dry_run":true}` {
		t.Errorf("%+v", got)
	}
}

func TestW16TestFilter(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, answer(200, `{"would_trigger":true,"checks":[{"path":"webhook","operator":"in","expected":["w"],"passed":true}]}`))
	verdict, err := c.Webhooks.TestFilter(t.Context(), "f1", FilterTest{Filter: TriggerFilter{Webhooks: []string{"w"}, Payload: json.RawMessage(`{"a":[1]}`)}, Payload: json.RawMessage("null")})
	if err != nil || !verdict.WouldTrigger || len(verdict.Checks) != 1 || verdict.Checks[0].Seen != nil {
		t.Errorf("%+v, %v", verdict, err)
	}
	if got := s.requests()[0]; got.path != "/api/v1/factory/f1/test-filter" || got.body != `{"filter":{"payload":{"a":[1]},"webhooks":["w"]},"payload":null}` {
		t.Errorf("%+v", got)
	}
}
