package ingress_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

func TestW7AcceptedDeliveryIsLoggedAndStartsItsRun(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		w := g.hook(factories.NewWebhook{})
		g.automation("never", w.UID, `{"action": ["closed"]}`)
		a := g.send(sending{path: path(w.UID), token: w.Secret, body: ` {"action": "opened"} `})
		g.wants("delivery", a, http.StatusAccepted)
		d := g.newest(w.UID)
		if d.ID != g.deliveryID(a) || d.Status != lineshaft.DeliveryAccepted || d.Size != 22 || d.NotMatched != 1 || len(d.Outcomes) != 1 {
			g.Fatalf("%+v", d)
		}
		if d.IdentitySource != "hash of the body" || d.RemoteAddr != "127.0.0.1" {
			g.Errorf("%+v", d)
		}
		run, err := g.control.GetRun(g.Context(), g.admin, d.Outcomes[0].RunID)
		if err != nil {
			g.Fatal(err)
		}
		if run.Source != lineshaft.SourceWebhook || run.FactoryUID != g.factory || run.Metadata["delivery_id"] != d.ID || run.Metadata["webhook_id"] != w.UID {
			g.Errorf("%+v", run)
		}
		payload, err := g.store.GetPayload(g.Context(), d.ID)
		if err != nil || string(payload) != ` {"action": "opened"} ` {
			g.Errorf("%q, %v", payload, err)
		}
	})
}

func TestW6StatusTable(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		w := g.hook(factories.NewWebhook{RateLimit: number(0)})
		for name, tc := range map[string]struct {
			s      sending
			status int
			code   string
		}{
			"another method":         {sending{method: http.MethodPut, token: w.Secret}, 405, "method_not_allowed"},
			"reading":                {sending{method: http.MethodGet, token: w.Secret}, 405, "method_not_allowed"},
			"unknown":                {sending{path: path("nobody"), token: w.Secret}, 404, "resource_not_found"},
			"no uid":                 {sending{path: "/webhooks/w/", token: w.Secret}, 404, "resource_not_found"},
			"slash at the end":       {sending{path: path(w.UID) + "/", token: w.Secret}, 404, "resource_not_found"},
			"a path below":           {sending{path: path(w.UID) + "/a/b", token: w.Secret}, 404, "resource_not_found"},
			"escaped":                {sending{path: "/webhooks/w/%6e" + w.UID[1:], token: w.Secret}, 404, "resource_not_found"},
			"no token":               {sending{}, 401, "authentication_required"},
			"wrong token":            {sending{token: w.Secret + "x"}, 401, "authentication_required"},
			"token in the URL":       {sending{path: path(w.UID) + "/" + w.Secret, token: w.Secret}, 401, "authentication_required"},
			"token in the URL alone": {sending{path: path(w.UID) + "/" + w.Secret}, 401, "authentication_required"},
			"basic":                  {sending{header: http.Header{"Authorization": {"Basic " + w.Secret}}}, 401, "authentication_required"},
			"two headers":            {sending{header: http.Header{"Authorization": {"Bearer " + w.Secret, "Bearer " + w.Secret}}}, 401, "authentication_required"},
			"small letters":          {sending{body: "1", header: http.Header{"Authorization": {"bearer " + w.Secret}}}, 202, ""},
			"empty":                  {sending{token: w.Secret, body: " "}, 400, "invalid_request"},
			"not JSON":               {sending{token: w.Secret, body: "{"}, 400, "invalid_request"},
			"two values":             {sending{token: w.Secret, body: "{} {}"}, 400, "invalid_request"},
			"not UTF-8":              {sending{token: w.Secret, body: "\"\xff\""}, 400, "invalid_request"},
			"a form":                 {sending{token: w.Secret, body: "payload=%7B%7D"}, 400, "application/json"},
			"deep":                   {sending{token: w.Secret, body: strings.Repeat("[", 512) + strings.Repeat("]", 512)}, 202, ""},
			"too deep":               {sending{token: w.Secret, body: strings.Repeat("[", 513) + strings.Repeat("]", 513)}, 400, "invalid_request"},
			"far too deep":           {sending{token: w.Secret, body: strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)}, 400, "invalid_request"},
			"a scalar":               {sending{token: w.Secret, body: "3"}, 202, ""},
			"null":                   {sending{token: w.Secret, body: "null"}, 202, ""},
			"an array":               {sending{token: w.Secret, body: "[1]"}, 202, ""},
			"the same key twice":     {sending{token: w.Secret, body: `{"a":1,"a":2}`}, 202, ""},
			"a NUL in a string":      {sending{token: w.Secret, body: `{"id":"a\u0000b"}`}, 202, ""},
			"another content type":   {sending{token: w.Secret, body: `{"x":1}`, header: http.Header{"Content-Type": {"text/html"}}}, 202, ""},
		} {
			if tc.s.path == "" {
				tc.s.path = path(w.UID)
			}
			a := g.send(tc.s)
			g.wants(name, a, tc.status)
			if !strings.Contains(a.body, tc.code) {
				g.Errorf("%s: %s", name, a.body)
			}
			if tc.status == 405 && a.header.Get("Allow") != "POST" {
				g.Errorf("%s: %v", name, a.header)
			}
			if tc.status >= 400 && a.header.Get("Content-Type") != "application/problem+json" {
				g.Errorf("%s: %v", name, a.header)
			}
		}
	})
}

// Nobody learns from the answer whether a webhook exists, was disabled or deleted.
func TestW6UnknownDisabledAndDeletedAnswerAlike(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		off, gone := g.hook(factories.NewWebhook{Name: "off"}), g.hook(factories.NewWebhook{Name: "gone"})
		no := false
		if _, err := g.control.UpdateWebhook(g.Context(), g.admin, g.factory, off.UID, factories.WebhookChange{Enabled: &no}); err != nil {
			g.Fatal(err)
		}
		if err := g.control.DeleteWebhook(g.Context(), g.admin, g.factory, gone.UID); err != nil {
			g.Fatal(err)
		}
		var bodies []string
		for _, uid := range []string{"unknownunknownunknownunknow", off.UID, gone.UID} {
			for _, token := range []string{"", off.Secret} {
				a := g.send(sending{path: path(uid), token: token, body: "{}"})
				g.wants(uid, a, http.StatusNotFound)
				a.header.Del("X-Request-ID")
				a.header.Del("Date")
				bodies = append(bodies, a.body+headerText(a.header))
			}
		}
		for _, body := range bodies {
			if body != bodies[0] {
				g.Errorf("%q is not %q", body, bodies[0])
			}
		}
		if len(g.rows(off.UID))+len(g.rows(gone.UID)) != 0 {
			g.Error("what got 404 was logged")
		}
	})
}

func headerText(h http.Header) string {
	var b strings.Builder
	_ = h.Write(&b)
	return b.String()
}

// Disabling, deleting and rotating count at once, also on a node that has not heard
// of them: the transaction finds that its copy is old.
func TestW5ChangesCountAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		w := g.hook(factories.NewWebhook{RateLimit: number(0)})
		post := func(secret, id string) int {
			g.Helper()
			return g.send(sending{path: path(w.UID), token: secret, body: "{}", header: http.Header{"X-Service-Delivery-Id": {id}}}).status
		}
		rotated, err := g.control.RotateWebhook(g.Context(), g.admin, g.factory, w.UID, factories.WebhookRotation{})
		if err != nil {
			g.Fatal(err)
		}
		if got := []int{post(w.Secret, "1"), post(rotated.Secret, "2")}; got[0] != 401 || got[1] != 202 {
			g.Fatalf("after the rotation old and new got %v", got)
		}
		both, err := g.control.RotateWebhook(g.Context(), g.admin, g.factory, w.UID, factories.WebhookRotation{Overlap: time.Hour})
		if err != nil {
			g.Fatal(err)
		}
		if got := []int{post(w.Secret, "3"), post(rotated.Secret, "4"), post(both.Secret, "5")}; got[0] != 401 || got[1] != 202 || got[2] != 202 {
			g.Fatalf("in the overlap oldest, old and new got %v", got)
		}
		g.offset.Store(int64(time.Hour + time.Second))
		if got := []int{post(rotated.Secret, "6"), post(both.Secret, "7")}; got[0] != 401 || got[1] != 202 {
			g.Fatalf("after the overlap old and new got %v", got)
		}
		no, yes := false, true
		for i, step := range []struct {
			enabled *bool
			status  int
		}{{&no, 404}, {&yes, 202}, {&no, 404}} {
			if _, err := g.control.UpdateWebhook(g.Context(), g.admin, g.factory, w.UID, factories.WebhookChange{Enabled: step.enabled}); err != nil {
				g.Fatal(err)
			}
			if *step.enabled { // a webhook that is not known cannot be found out of date
				g.refresh()
			}
			if got := post(both.Secret, "8"+strconv.Itoa(i)); got != step.status {
				g.Fatalf("step %d: %d, want %d", i, got, step.status)
			}
		}
	})
}

func TestW6URLToken(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		w := g.hook(factories.NewWebhook{AuthMode: lineshaft.AuthURLToken})
		tilde := "a~secret~of-some_length.0123456789"
		wavy := g.hook(factories.NewWebhook{Name: "wavy", AuthMode: lineshaft.AuthURLToken, Secret: &tilde})
		for name, tc := range map[string]struct {
			s      sending
			status int
		}{
			"right":         {sending{path: path(w.UID) + "/" + w.Secret, body: `{"n":1}`}, 202},
			"in the header": {sending{path: path(w.UID), token: w.Secret, body: `{"n":2}`}, 401},
			"wrong":         {sending{path: path(w.UID) + "/" + w.Secret + "x", body: `{"n":3}`}, 401},
			"cut":           {sending{path: path(w.UID) + "/" + w.Secret[1:], body: `{"n":4}`}, 401},
			"tilde":         {sending{path: path(wavy.UID) + "/" + tilde, body: `{"n":6}`}, 202},
			"escaped tilde": {sending{path: path(wavy.UID) + "/" + strings.Replace(strings.Replace(tilde, "~", "%7E", 1), "~", "%7e", 1), body: `{"n":7}`}, 202},
			"other escape":  {sending{path: path(wavy.UID) + "/" + strings.Replace(tilde, "a", "%61", 1), body: `{"n":8}`}, 404},
			"query":         {sending{path: path(w.UID) + "?token=" + w.Secret, body: `{"n":5}`}, 401},
		} {
			g.wants(name, g.send(tc.s), tc.status)
		}
		if strings.Contains(g.log.String(), w.Secret) {
			g.Error("the token is in the log")
		}
	})
}

func TestW12SixtyAMinute(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		w := g.hook(factories.NewWebhook{})
		for i := range 60 {
			body := strconv.Itoa(i)
			if i%10 == 9 {
				body = "not JSON"
			}
			if got := g.send(sending{path: path(w.UID), token: w.Secret, body: body}).status; got != 202 && got != 400 {
				g.Fatalf("number %d got %d", i+1, got)
			}
		}
		for _, body := range []string{`"61"`, "not JSON"} {
			a := g.send(sending{path: path(w.UID), token: w.Secret, body: body})
			g.wants("number 61", a, http.StatusTooManyRequests)
			after, err := strconv.Atoi(a.header.Get("Retry-After"))
			if err != nil || after < 1 || after > 60 {
				g.Errorf("Retry-After: %q", a.header.Get("Retry-After"))
			}
		}
		if got := len(g.rows(w.UID)); got != 60 {
			g.Errorf("%d rows", got)
		}
		g.wants("wrong token", g.send(sending{path: path(w.UID), token: "x", body: "{}"}), http.StatusUnauthorized)
	})
}

func TestW6FailedAuthenticationHasItsOwnBudget(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		w := g.hook(factories.NewWebhook{})
		for i := range 100 {
			a := g.send(sending{path: path(w.UID), token: "guess", body: "{}", from: "203.0.113.7"})
			if want := 401; i >= 30 {
				want = 429
				if a.header.Get("Retry-After") == "" {
					g.Fatal("no Retry-After")
				}
				g.wants("flood", a, want)
			} else {
				g.wants("guess", a, want)
			}
		}
		if got := len(g.rows(w.UID)); got != 30 {
			g.Errorf("%d rows", got)
		}
		g.wants("the right one from the same address", g.send(sending{path: path(w.UID), token: w.Secret, body: "{}", from: "203.0.113.7"}), http.StatusAccepted)
		g.wants("a guess from elsewhere", g.send(sending{path: path(w.UID), token: "guess", body: "{}", from: "203.0.113.8"}), http.StatusUnauthorized)
	})
}
