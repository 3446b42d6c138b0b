package signature

// Answer is what a handshake wants to hear.
type Answer struct {
	Status      int
	ContentType string // empty: there is no body
	Body        []byte
}

// Limits of handshakes. What we echo is text that others chose.
const (
	maxHandshake = 8192 // bytes of a body that can be one
	maxChallenge = 256  // characters of what is echoed
)

// Handshake returns the answer to a request that only asks whether somebody is
// there, or nil if the request is another one or not authentic.
func (v *Verifier) Handshake(r Request) *Answer {
	if v.scheme.answer == nil {
		return nil
	}
	// Most requests are none: find that out before the signature is checked again.
	if v.scheme.answer(key{}, &r) == nil {
		return nil
	}
	used, err := v.authenticate(&r)
	if err != nil {
		return nil
	}
	return v.scheme.answer(used, &r)
}

// challenge returns text that may be echoed, or nothing.
func challenge(text string) string {
	if len(text) > maxChallenge || !printable(text) {
		return ""
	}
	return text
}

// textAnswer echoes a challenge; nil if there is none.
func textAnswer(text string) *Answer {
	if text = challenge(text); text == "" {
		return nil
	}
	return &Answer{Status: 200, ContentType: "text/plain; charset=utf-8", Body: []byte(text)}
}
