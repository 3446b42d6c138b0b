package control_test

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/notify"
)

func onceKey(path, token string) *base.Idempotency {
	return &base.Idempotency{Key: token, Method: "POST", Path: path, BodyHash: sha256.Sum256([]byte("form"))}
}

// H-9: a second call with the same key makes no second endpoint, and says that the
// secret cannot be shown again. One that was refused keeps nothing.
func TestH9CreateNotificationOnce(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		asked := notify.NewNotification{URL: "https://example.com/", Name: "Chat", Once: onceKey("/notifications", "a-token-of-a-form-1")}
		bad := asked
		bad.URL = "nothing"
		_, err := b.s.CreateNotification(b.Context(), b.admin, bad)
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		first := must[notify.IssuedNotification](b.bench)(b.s.CreateNotification(b.Context(), b.admin, asked))
		if !strings.HasPrefix(first.Secret, "whsec_") {
			b.Errorf("secret %q", first.Secret)
		}
		again, err := b.s.CreateNotification(b.Context(), b.admin, asked)
		wantCode(b, err, lineshaft.CodeConflict)
		if !strings.Contains(err.Error(), "Chat was already created") || again.Secret != "" {
			b.Errorf("%v with %+v", err, again)
		}
		asked.Once = onceKey("/notifications", "a-token-of-a-form-2")
		if other := must[notify.IssuedNotification](b.bench)(b.s.CreateNotification(b.Context(), b.admin, asked)); other.ID == first.ID {
			b.Error("another form made nothing")
		}
		asked.Once = nil
		must[notify.IssuedNotification](b.bench)(b.s.CreateNotification(b.Context(), b.admin, asked))
		if list := must[[]lineshaft.Notification](b.bench)(b.s.ListNotifications(b.Context(), b.admin)); len(list) != 3 {
			b.Errorf("%d endpoints", len(list))
		}
	})
}

// H-9: a second rotation with the same key would end the secret that the first one
// showed; it does nothing.
func TestH9RotateNotificationOnce(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		made := must[notify.IssuedNotification](b.bench)(b.s.CreateNotification(b.Context(), b.admin, notify.NewNotification{URL: "https://example.com/"}))
		signs := func() []string {
			must[*lineshaft.NotificationDelivery](b.bench)(b.s.TestNotification(b.Context(), b.admin, made.ID))
			must[int](b.bench)(b.s.SendDue(b.Context()))
			return b.receiver.last().Secrets
		}
		asked := notify.NotificationRotation{Once: onceKey("/rotate", "a-token-of-a-form-1")}
		shown := must[notify.IssuedNotification](b.bench)(b.s.RotateNotification(b.Context(), b.admin, made.ID, asked))
		again, err := b.s.RotateNotification(b.Context(), b.admin, made.ID, asked)
		wantCode(b, err, lineshaft.CodeConflict)
		if again.Secret != "" || !strings.Contains(err.Error(), "shown once") {
			b.Errorf("%v with %+v", err, again)
		}
		if secrets := signs(); len(secrets) != 1 || secrets[0] != shown.Secret {
			b.Error("what was shown signs no more")
		}
		overlap := notify.NotificationRotation{Overlap: time.Hour, Once: onceKey("/rotate", "a-token-of-a-form-2")}
		second := must[notify.IssuedNotification](b.bench)(b.s.RotateNotification(b.Context(), b.admin, made.ID, overlap))
		if secrets := signs(); len(secrets) != 2 || secrets[0] != second.Secret || secrets[1] != shown.Secret {
			b.Error("not both sign in the overlap")
		}
		refused := notify.NotificationRotation{Overlap: time.Hour, Once: onceKey("/rotate", "a-token-of-a-form-3")}
		_, err = b.s.RotateNotification(b.Context(), b.admin, made.ID, refused)
		wantCode(b, err, lineshaft.CodeConflict)
		refused.Overlap = 0 // the refusal kept nothing, so that the form can be sent as it is now
		must[notify.IssuedNotification](b.bench)(b.s.RotateNotification(b.Context(), b.admin, made.ID, refused))
	})
}
