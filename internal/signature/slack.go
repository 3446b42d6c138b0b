package signature

import (
	"time"

	"github.com/lineshaft/lineshaft/internal/jsontext"
)

// slack has one signing secret for an app.
func slack() Scheme {
	return Scheme{
		Name:       "slack",
		Title:      "Slack",
		SecretFrom: Issued,
		Rules: []Rule{{
			Header:   "X-Slack-Signature",
			Prefix:   "v0=",
			Digest:   SHA256,
			Encoding: Hex,
			Signed:   "v0:{timestamp}:{body}",
			Stamp:    Stamp{Header: "X-Slack-Request-Timestamp", Unit: time.Second, Window: window},
		}},
		Identity:  []Source{{Body: "event_id"}},
		Handshake: "url_verification is answered 200 with its challenge",
		answer: func(_ key, r *Request) *Answer {
			if len(r.Body) > maxHandshake || jsontext.MemberText(r.Body, "type") != "url_verification" {
				return nil
			}
			return textAnswer(jsontext.MemberText(r.Body, "challenge"))
		},
	}
}
