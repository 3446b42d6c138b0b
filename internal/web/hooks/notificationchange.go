package hooks

import (
	"cmp"

	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// callbackSecretName is what examples call the secret in the receiver's environment.
const callbackSecretName = "CALLBACK_SECRET"

// pasteSecret asks for a secret that the user claims to have.
const pasteSecret = "paste the secret, or have one generated"

// callbackSecret is what the receiver must know, in the one answer that ever has it.
type callbackSecret struct {
	Notification notificationView
	Secret       string
	// Export puts it into the environment of a shell.
	Export string
	New    bool
}

// showCallbackSecret answers a POST: no address leads to it again.
func (s pages) showCallbackSecret(r *page.Request, made notify.IssuedNotification, fresh bool) error {
	v := newNotificationView(made.Notification, nil)
	title := "New secret"
	if fresh {
		title = "Notification created"
	}
	r.W.Header().Set("Referrer-Policy", "no-referrer")
	return r.Render("notificationdone", v.within(title, callbackSecret{
		Notification: v, Secret: made.Secret, Export: "export " + callbackSecretName + "='" + made.Secret + "'", New: fresh,
	}))
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
func (s pages) switchNotification(on bool, said string) page.Handler {
	return func(r *page.Request) error {
		n, err := s.Control.UpdateNotification(r.Context(), r.Caller, r.PathValue("id"), notify.NotificationChange{Enabled: &on})
		if err != nil {
			return err
		}
		return r.Done(page.Under("notifications", n.ID), said)
	}
}

func (s pages) testNotification(r *page.Request) error {
	sent, err := s.Control.TestNotification(r.Context(), r.Caller, r.PathValue("id"))
	if err != nil {
		return err
	}
	return r.Done(page.Under("notifications", sent.NotificationID, "deliveries", sent.ID), "A test is on its way. What the receiver answers shows up here.")
}

type rotateCallbackData struct {
	Notification notificationView
	From         string
	// Overlap is in seconds.
	Overlap string
}

func rotateCallbackView(v notificationView, from, overlap string) page.Page {
	return v.within("Rotate secret", rotateCallbackData{Notification: v, From: from, Overlap: overlap})
}

// rotateCallbackPage proposes a day for the receivers to follow, unless the old secret is in an overlap already.
func rotateCallbackPage(v notificationView) page.Page {
	if !v.OldSecretUntil.IsZero() {
		return rotateCallbackView(v, "make", "0")
	}
	return rotateCallbackView(v, "make", "86400")
}

func (s pages) rotateNotification(r *page.Request, v notificationView) error {
	overlap := cmp.Or(r.Text("overlap_seconds"), "0")
	again := func(err error) error {
		return r.Again("notificationrotate", rotateCallbackView(v, r.PostFormValue("from"), overlap), err)
	}
	span, err := readOverlap(overlap)
	if err != nil {
		return again(err)
	}
	secret, err := ownSecret(r, pasteSecret)
	if err != nil {
		return again(err)
	}
	made, err := s.Control.RotateNotification(r.Context(), r.Caller, v.ID, notify.NotificationRotation{
		Secret: secret, Overlap: span, Once: r.Once(),
	})
	if err != nil {
		return again(err)
	}
	if made.Secret == "" {
		return r.Done(v.At, "Callbacks are signed with the new secret from now on.")
	}
	return s.showCallbackSecret(r, made, false)
}

func (s pages) askDeleteNotification(r *page.Request) (page.Removal, error) {
	v, err := s.findNotification(r)
	return page.Removal{
		Section: "notifications", Crumbs: v.within("", nil).Crumbs, Kind: "notification", Name: v.Name, Verb: "Delete", Back: v.At,
		ID: v.ID, Done: "Notification " + v.Name + " is deleted. Nothing more is sent to it.",
		Gone: []string{"its secret", "its callback log, including callbacks that are still waiting"},
		Effects: []string{
			"Nothing more is sent to " + v.Target() + ". This cannot be undone; to stop for a while, disable it instead.",
		},
	}, err
}
