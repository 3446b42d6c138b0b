package web

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/notify"
)

// callbackSecretName is what examples call the secret in the receiver's environment.
const callbackSecretName = "CALLBACK_SECRET"

// callbackSecret is what the receiver has to know, in the one answer that ever has it.
type callbackSecret struct {
	Notification notificationView
	Secret       string
	// Export puts it into the environment of a shell.
	Export string
	New    bool
}

// showCallbackSecret answers a POST: no address leads to it again.
func (s *server) showCallbackSecret(w http.ResponseWriter, r *http.Request, c lineshaft.Caller, made notify.IssuedNotification, fresh bool) error {
	v := newNotificationView(made.Notification, nil)
	title := "New secret"
	if fresh {
		title = "Notification created"
	}
	w.Header().Set("Referrer-Policy", "no-referrer")
	return s.render(w, r, c, "notificationdone", page{
		Title: title, Section: "notifications", Crumbs: v.within(),
		Data: callbackSecret{Notification: v, Secret: made.Secret, Export: "export " + callbackSecretName + "='" + made.Secret + "'", New: fresh},
	})
}

// verifier shows how a receiver checks a callback in one language.
type verifier struct{ Language, Code string }

func verifiers() []verifier {
	return []verifier{
		{"Python", "import os\nimport lineshaft\n\n" +
			"# headers and body as they came; if it raises VerificationError, answer 400\n" +
			"secret = os.environ[\"" + callbackSecretName + "\"]\nevent = lineshaft.callbacks.verify(secret, headers, body)\n" +
			"print(event.data.run_id, event.data.state)"},
		{"TypeScript", "import { verifyCallback } from \"lineshaft/callbacks\";\n\n" +
			"// headers and body as they came; if it throws CallbackError, answer 400\n" +
			"const secret = process.env." + callbackSecretName + "!;\nconst event = await verifyCallback(secret, headers, body);\n" +
			"console.log(event.data.run_id, event.data.state);"},
		{"Go", "import \"github.com/lineshaft/lineshaft/client/callback\"\n\n" +
			"verifier, err := callback.New(os.Getenv(\"" + callbackSecretName + "\"))\n" +
			"// in the handler; if errors.Is(err, callback.ErrNotAuthentic), answer 401\n" +
			"event, err := verifier.Read(r)"},
	}
}

// switchNotification switches an endpoint on or off.
func (s *server) switchNotification(on bool) handler {
	said := "Disabled. State changes are not kept for it from now on."
	if on {
		said = "Enabled. What waits and is younger than 72 hours is sent now."
	}
	return func(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
		n, err := s.Control.UpdateNotification(r.Context(), c, r.PathValue("id"), notify.NotificationChange{Enabled: &on})
		if err != nil {
			return err
		}
		return s.done(w, r, under("notifications", n.ID), said)
	}
}

func (s *server) testNotification(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	sent, err := s.Control.TestNotification(r.Context(), c, r.PathValue("id"))
	if err != nil {
		return err
	}
	return s.done(w, r, under("notifications", sent.NotificationID, "deliveries", sent.ID), "A test is on its way. What the receiver answers shows up here.")
}

type rotateCallbackData struct {
	Notification notificationView
	From         string
	// Overlap is in seconds.
	Overlap string
}

func rotateCallbackView(v notificationView, from, overlap string) page {
	return page{
		Title: "Rotate secret", Section: "notifications", Crumbs: v.within(),
		Data: rotateCallbackData{Notification: v, From: from, Overlap: overlap},
	}
}

func (s *server) rotateNotificationPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	v, err := s.findNotification(r, c)
	if err != nil {
		return err
	}
	return s.render(w, r, c, "notificationrotate", rotateCallbackView(v, "make", "0"))
}

func (s *server) rotateNotification(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	v, err := s.findNotification(r, c)
	if err != nil {
		return err
	}
	overlap := cmp.Or(strings.TrimSpace(r.PostFormValue("overlap_seconds")), "0")
	again := func(err error) error {
		return s.renderAgain(w, r, c, "notificationrotate", rotateCallbackView(v, r.PostFormValue("from"), overlap), err)
	}
	seconds, err := strconv.Atoi(overlap)
	if err != nil || seconds < 0 || seconds > int(lineshaft.MaxOverlap/time.Second) {
		return again(lineshaft.Invalid("overlap_seconds", "choose one of the offered times"))
	}
	secret, err := ownSecret(r)
	if err != nil {
		return again(err)
	}
	made, err := s.Control.RotateNotification(r.Context(), c, v.ID, notify.NotificationRotation{
		Secret: secret, Overlap: time.Duration(seconds) * time.Second, Once: onceOf(r),
	})
	if err != nil {
		return again(err)
	}
	if made.Secret == "" {
		return s.done(w, r, v.At, "Callbacks are signed with the new secret from now on.")
	}
	return s.showCallbackSecret(w, r, c, made, false)
}

func (s *server) askDeleteNotification(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	v, err := s.findNotification(r, c)
	if err != nil {
		return err
	}
	return s.askRemoval(w, r, c, "notifications", v.within(), removal{
		Kind: "notification", Name: v.Name, Verb: "Delete", Action: v.At + "/delete", Back: v.At,
		Gone: []string{"its secret", "its log of callbacks, with those that still wait"},
		Effects: []string{
			"Nothing more is sent to " + v.Target() + ". This cannot be undone; to stop for a while, disable it instead.",
		},
	}, nil)
}

func (s *server) deleteNotification(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	v, err := s.findNotification(r, c)
	if err != nil {
		return err
	}
	if err := s.Control.DeleteNotification(r.Context(), c, v.ID); err != nil {
		return err
	}
	return s.done(w, r, "/notifications", "Notification "+v.Name+" is deleted. Nothing more is sent to it.")
}
