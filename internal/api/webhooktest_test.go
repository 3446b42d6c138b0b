package api

import (
	"net/url"
	"slices"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/ingress"
)

// A test event goes the way of a delivery: signed by the server, marked in the log, and read
// back with the headers it came with.
func TestW18SendTestEvent(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	d := b.deliver()
	b.check(t, scenario{name: "no ingress", method: post, path: d.hook + "/test", as: lineshaft.RoleManager, status: 409})
	b.srv.SendTest = ingress.New(ingress.Deps{Control: b.control, BaseURL: b.srv.WebhookBaseURL}).SendTest
	b.check(t, scenario{name: "viewer", method: post, path: d.hook + "/test", as: lineshaft.RoleViewer, status: 403})
	b.check(t, scenario{name: "unknown", method: post, path: d.hook + "x/test", as: lineshaft.RoleManager, status: 404})
	for _, c := range []struct {
		name, body string
		want       int
		outcomes   []OutcomeResult
	}{
		{"example", "", 202, nil},
		{"matching", `{"body":"{\"action\":\"opened\"}"}`, 202, []OutcomeResult{"started"}},
		{"not JSON", `{"body":"{"}`, 400, []OutcomeResult{"error"}},
	} {
		sent := decode[TestWebhookResponse](t, b.check(t, scenario{name: c.name, method: post, path: d.hook + "/test", as: lineshaft.RoleManager, body: c.body, status: 200}))
		if sent.Status != c.want || (sent.DeliveryID != "") != (c.want == 202) || (sent.Detail != "") != (c.want != 202) {
			t.Fatalf("%s: got %+v, want status %d", c.name, sent, c.want)
		}
		newest := decode[ListDeliveriesResponse](t, b.check(t, scenario{method: get, path: d.hook + "/deliveries?limit=1", as: lineshaft.RoleViewer, status: 200})).Deliveries[0]
		var outcomes []OutcomeResult
		for _, o := range newest.Outcomes {
			outcomes = append(outcomes, o.Result)
		}
		if !newest.Test || newest.AnswerStatus != c.want || newest.AnswerMS <= 0 || !slices.Equal(outcomes, c.outcomes) {
			t.Errorf("%s: got %+v, want a test answered with %d and outcomes %v", c.name, newest, c.want, c.outcomes)
		}
		one := decode[DeliveryDetail](t, b.check(t, scenario{method: get, path: d.hook + "/deliveries/" + newest.DeliveryID, as: lineshaft.RoleViewer, status: 200}))
		if one.Headers["Authorization"] != "***" || one.Headers["Content-Type"] != "application/json" {
			t.Errorf("%s: headers %v", c.name, one.Headers)
		}
	}
}

// Logs are narrowed down by status, outcome, event and text, for a webhook and for a factory,
// page by page without a gap or a repeat.
func TestW18FilterTheLog(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	d := b.deliver(`{"action":"opened","n":1}`, `{"action":"closed","n":2}`, `{"action":"opened","n":1}`, "{", `{"action":"opened","n":3}`)
	newest := func(at ...int) (ids []string) {
		for _, i := range at {
			ids = append(ids, d.rows[i])
		}
		return ids
	}
	for query, want := range map[string][]string{
		"status=duplicate": newest(2),
		"status=duplicate&status=rejected_invalid_json": newest(1, 2),
		"outcome=started":                      newest(0, 3, 4),
		"outcome=skipped":                      nil,
		"event=push":                           nil,
		"q=192.0.2.4":                          newest(0),
		"q=MATCH&status=accepted":              newest(0, 4),
		"q=" + url.QueryEscape(d.rows[3][24:]): newest(3),
		"q=nowhere":                            nil,
	} {
		for _, log := range []string{d.hook + "/deliveries", d.factory + "/deliveries"} {
			var got []string
			for cursor, more := "", true; more; {
				page := decode[ListFactoryDeliveriesResponse](t, b.check(t, scenario{
					name: query, method: get, path: log + "?limit=1&" + query + cursor, as: lineshaft.RoleViewer, status: 200,
				}))
				for _, one := range page.Deliveries {
					got = append(got, one.DeliveryID)
					if log == d.factory+"/deliveries" && (one.WebhookName != "issues" || one.WebhookID != d.webhookUID) {
						t.Errorf("%s: webhook %q, %s", query, one.WebhookName, one.WebhookID)
					}
				}
				more, cursor = page.PageInfo.HasNextPage, "&cursor="+url.QueryEscape(page.PageInfo.NextCursor)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s?%s: got %v, want %v", log, query, got, want)
			}
		}
	}
	b.check(t, scenario{name: "bad status", method: get, path: d.hook + "/deliveries?status=lost", as: lineshaft.RoleViewer, status: 400})
}
