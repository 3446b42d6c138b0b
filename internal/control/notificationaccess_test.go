package control_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/notify"
)

// every calls all that can be done with an endpoint.
func (b *callbackBench) every(c lineshaft.Caller, id, deliveryID string) map[string]error {
	ctx := b.Context()
	_, get := b.s.GetNotification(ctx, c, id)
	_, update := b.s.UpdateNotification(ctx, c, id, notify.NotificationChange{Description: new("x")})
	_, rotate := b.s.RotateNotification(ctx, c, id, notify.NotificationRotation{})
	_, test := b.s.TestNotification(ctx, c, id)
	_, list := b.s.ListNotificationDeliveries(ctx, c, id, notify.NotificationDeliveryQuery{Limit: 5})
	_, one := b.s.GetNotificationDelivery(ctx, c, id, deliveryID)
	_, replay := b.s.ReplayNotificationDelivery(ctx, c, id, deliveryID)
	remove := b.s.DeleteNotification(ctx, c, id)
	return map[string]error{"get": get, "update": update, "rotate": rotate, "test": test, "list": list, "delivery": one, "replay": replay, "delete": remove}
}

// A key that is limited to factories reaches endpoints that report these alone.
func TestS3LimitedKeysAndNotifications(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		own, foreign := b.factory("own", "own").UID, b.factory("foreign", "foreign").UID
		limited := b.caller(lineshaft.RoleManager, own)
		create := func(c lineshaft.Caller, factories ...string) (notify.IssuedNotification, error) {
			return b.s.CreateNotification(b.Context(), c, notify.NewNotification{URL: "https://example.com/", FactoryUIDs: factories})
		}
		for name, factories := range map[string][]string{"all": nil, "foreign": {foreign}, "both": {own, foreign}} {
			made := must[notify.IssuedNotification](b.bench)(create(b.admin, factories...))
			delivery := must[*lineshaft.NotificationDelivery](b.bench)(b.s.TestNotification(b.Context(), b.admin, made.ID))
			for call, err := range b.every(limited, made.ID, delivery.ID) {
				if lineshaft.CodeOf(err) != lineshaft.CodeNotFound || err == nil {
					b.Errorf("%s of an endpoint of %s: %v", call, name, err)
				}
			}
		}
		if list := must[[]lineshaft.Notification](b.bench)(b.s.ListNotifications(b.Context(), limited)); len(list) != 0 {
			b.Errorf("it sees %+v", list)
		}
		_, err := create(limited)
		wantCode(b, err, lineshaft.CodeNotAuthorized)
		for _, factories := range [][]string{{foreign}, {own, foreign}, {"nothing"}} {
			_, err = create(limited, factories...)
			wantCode(b, err, lineshaft.CodeInvalidRequest)
		}
		mine := must[notify.IssuedNotification](b.bench)(create(limited, own))
		for _, factories := range [][]string{{}, {own, foreign}} {
			_, err = b.s.UpdateNotification(b.Context(), limited, mine.ID, notify.NotificationChange{FactoryUIDs: &factories})
			if err == nil {
				b.Errorf("it widened its endpoint to %v", factories)
			}
		}
		delivery := must[*lineshaft.NotificationDelivery](b.bench)(b.s.TestNotification(b.Context(), limited, mine.ID))
		for call, err := range b.every(limited, mine.ID, delivery.ID) {
			if err != nil {
				b.Errorf("%s of its own: %v", call, err)
			}
		}
	})
}

func TestC1EndpointsAreChecked(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		for _, bad := range []notify.NewNotification{
			{URL: "https://example.com/", FactoryUIDs: []string{"nothing"}},
			{URL: "https://example.com/", FactoryUIDs: []string{}},
			{URL: "https://example.com/", FactoryUIDs: []string{"a\x00b"}},
			{URL: "https://example.com/", States: []lineshaft.RunState{"DONE"}},
			{URL: "https://example.com/", Name: "a\x00b"},
			{URL: "https://example.com/", Name: strings.Repeat("x", 101)},
			{URL: "https://example.com/", Secret: new("short")},
			{URL: ""},
			{URL: "example.com"},
		} {
			_, err := b.s.CreateNotification(b.Context(), b.admin, bad)
			wantCode(b, err, lineshaft.CodeInvalidRequest)
		}
		first := b.endpoint(notify.NewNotification{URL: "https://hooks.example:8443/x?token=t"})
		if first.Name != "hooks.example:8443" {
			b.Errorf("it is called %q", first.Name)
		}
		_, err := b.s.UpdateNotification(b.Context(), b.admin, first.ID, notify.NotificationChange{URL: new("gopher://x")})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		for i := 1; i < lineshaft.MaxNotifications; i++ {
			b.endpoint(notify.NewNotification{Name: fmt.Sprint(i)})
		}
		_, err = b.s.CreateNotification(b.Context(), b.admin, notify.NewNotification{URL: "https://example.com/"})
		wantCode(b, err, lineshaft.CodeConflict)
		wantCode(b, b.s.DeleteNotification(b.Context(), b.admin, first.ID), "")
		b.endpoint(notify.NewNotification{})
	})
}

// Every change is in the audit log, with its author and without what the address keeps
// in its path and query.
func TestS5ChangesOfNotificationsAreAudited(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n := b.endpoint(notify.NewNotification{URL: "https://example.com/hidden?token=hidden"})
		d := must[*lineshaft.NotificationDelivery](b.bench)(b.s.TestNotification(b.Context(), b.admin, n.ID))
		must[*lineshaft.NotificationDelivery](b.bench)(b.s.ReplayNotificationDelivery(b.Context(), b.admin, n.ID, d.ID))
		must[notify.IssuedNotification](b.bench)(b.s.RotateNotification(b.Context(), b.admin, n.ID, notify.NotificationRotation{}))
		must[lineshaft.Notification](b.bench)(b.s.UpdateNotification(b.Context(), b.admin, n.ID, notify.NotificationChange{
			URL: new("https://example.com/hidden/y?token=hidden"), Name: new("other"), Enabled: new(false), States: &[]lineshaft.RunState{lineshaft.Failed},
		}))
		b.enable(n.ID, true)
		b.enable(n.ID, true) // no change
		wantCode(b, b.s.DeleteNotification(b.Context(), b.admin, n.ID), "")
		var actions []string
		for _, e := range b.audits(n.ID) {
			actions = append(actions, strings.TrimPrefix(e.Action, "notification."))
			if e.Actor.UID != b.admin.Principal.UID || e.TargetType != "notification" || e.Detail["target"] == "" {
				b.Errorf("%+v", e)
			}
			if text := fmt.Sprint(e); strings.Contains(text, "hidden") || strings.Contains(text, "whsec") {
				b.Errorf("a secret is in %s", text)
			}
			if e.Action == "notification.update" && e.Detail["changed"] != "url, name, states" {
				b.Errorf("changed: %s", e.Detail["changed"])
			}
		}
		if got := strings.Join(actions, " "); got != "create test replay rotate update disable enable delete" {
			b.Errorf("audited: %s", got)
		}
	})
}

// An attempt is a line of the log and counted.
func TestI5AttemptsAreLogged(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n := b.endpoint(notify.NewNotification{URL: "https://example.com/hidden?token=hidden"})
		b.receiver.says(status(502))
		runID := b.start(lineshaft.NewRun{}).RunID
		b.fan()
		b.send()
		log := b.log.String()
		for _, want := range []string{
			"msg=callback", "outcome=retried", "notification_id=" + n.ID, "run_id=" + runID, "event_id=" + b.stateIDs(runID)[0], "attempt=1", "status=502",
			"target=https://example.com ", "error=\"it answered 502\"", "state=QUEUED",
		} {
			if !strings.Contains(log, want) {
				b.Errorf("%q is not in %s", want, log)
			}
		}
		if strings.Contains(log, "hidden") || strings.Contains(log, n.Secret) {
			b.Errorf("a secret is in %s", log)
		}
	})
}

// A caller who may not change an endpoint sees only the host of its address: the rest may be a token.
func TestS5AddressesAreShortForReaders(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		const whole = "https://hooks.example:8443/services/T0/SECRET?token=SECRET"
		n := b.endpoint(notify.NewNotification{URL: whole})
		bare := b.endpoint(notify.NewNotification{URL: "https://hooks.example/"})
		for _, tc := range []struct {
			role lineshaft.Role
			want string
		}{
			{lineshaft.RoleViewer, "https://hooks.example:8443/…"},
			{lineshaft.RoleMember, "https://hooks.example:8443/…"},
			{lineshaft.RoleManager, whole},
			{lineshaft.RoleAdmin, whole},
		} {
			c := b.caller(tc.role)
			got := must[lineshaft.Notification](b.bench)(b.s.GetNotification(b.Context(), c, n.ID))
			list := must[[]lineshaft.Notification](b.bench)(b.s.ListNotifications(b.Context(), c))
			if got.URL != tc.want || list[0].URL != tc.want || list[1].URL != bare.URL {
				b.Errorf("%s sees %s and %s, %s", tc.role, got.URL, list[0].URL, list[1].URL)
			}
		}
		short := "https://hooks.example:8443/…" // as a script copies it that reads with one key and writes with another
		_, err := b.s.UpdateNotification(b.Context(), b.admin, n.ID, notify.NotificationChange{URL: &short})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		if !strings.Contains(err.Error(), "full address") {
			b.Error(err)
		}
	})
}
