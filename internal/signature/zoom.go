package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/internal/jsontext"
)

// zoom asks every 72 hours whether we still know the secret.
func zoom() Scheme {
	return Scheme{
		Name:       "zoom",
		Title:      "Zoom",
		SecretFrom: Issued,
		Rules: []Rule{{
			Header:   "X-Zm-Signature",
			Prefix:   "v0=",
			Digest:   SHA256,
			Encoding: Hex,
			Signed:   "v0:{timestamp}:{body}",
			Stamp:    Stamp{Header: "X-Zm-Request-Timestamp", Unit: time.Second, Window: window},
		}},
		Handshake: "endpoint.url_validation is answered 200 with its token, plain and signed",
		answer:    zoomAnswer,
	}
}

func zoomAnswer(used key, r *Request) *Answer {
	if len(r.Body) > maxHandshake || jsontext.MemberText(r.Body, "event") != "endpoint.url_validation" {
		return nil
	}
	plain := challenge(jsontext.MemberText(r.Body, "payload.plainToken"))
	if plain == "" || strings.HasPrefix(plain, "v0:") { // we sign what is asked for, but no request
		return nil
	}
	mac := hmac.New(sha256.New, used.bytes)
	mac.Write([]byte(plain))
	body, err := json.Marshal(struct {
		Plain     string `json:"plainToken"`
		Encrypted string `json:"encryptedToken"`
	}{plain, hex.EncodeToString(mac.Sum(nil))})
	if err != nil {
		return nil
	}
	return &Answer{Status: 200, ContentType: "application/json", Body: body}
}
