package signature

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/jsontext"
)

// ErrNotAuthentic is in the chain of every error that Verify returns.
var ErrNotAuthentic = errors.New("not authentic")

// The reasons. They are for the log and name nothing that was sent.
var (
	errNoHeader    = refusal("no signature header")
	errMissing     = refusal("a header that takes part in the signature is missing or empty")
	errCopies      = refusal("a header or item that takes part in the signature was sent twice")
	errLong        = refusal("a header is too long")
	errTooMany     = refusal("too many signatures in the header")
	errNoSignature = refusal("no signature of a known kind in the header")
	errNoStamp     = refusal("no time stamp")
	errStampForm   = refusal("the time stamp is not a number of seconds or milliseconds since 1970")
	errStampFar    = refusal("the time stamp is too far from now")
	errID          = refusal("the id has characters that the scheme does not allow")
	errBorder      = refusal("the body cannot be separated from what is signed beside it")
	errMismatch    = refusal("no signature matches")
)

func refusal(reason string) error { return fmt.Errorf("%w: %s", ErrNotAuthentic, reason) }

// Request is what a sender sent.
type Request struct {
	Method string
	URL    string // the public URL exactly as the sender knows it, query included
	Header http.Header
	Body   []byte    // decoded: without gzip
	Now    time.Time // when it arrived
}

// Verifier holds the keys of one webhook.
type Verifier struct {
	scheme Scheme
	checks []check
	ids    []source
}

// check is a rule together with the keys that it may be met with.
type check struct {
	rule    Rule
	text    template
	header  string // canonical, like the next two
	stamp   string
	id      string
	hashers []*hasher
}

// New makes a verifier. There are several secrets while an old one is still valid;
// any of them will do. Secrets that protect nothing are refused.
func New(scheme string, settings HMAC, secrets ...string) (*Verifier, error) {
	s, err := schemeOf(scheme, settings)
	if err != nil {
		return nil, err
	}
	if len(secrets) == 0 {
		return nil, lineshaft.Invalid("secret", "the scheme %s needs a secret", s.Name)
	}
	keys := make([]key, len(secrets))
	for i, secret := range secrets {
		if keys[i], err = s.readKey(secret); err != nil {
			return nil, err
		}
	}
	v := &Verifier{scheme: s}
	for _, rule := range s.Rules {
		c, err := newCheck(rule, keys)
		if err != nil {
			return nil, fmt.Errorf("scheme %s: %w", s.Name, err)
		}
		if len(c.hashers) > 0 {
			v.checks = append(v.checks, c)
		}
	}
	for _, place := range s.Identity {
		v.ids = append(v.ids, newSource(place))
	}
	return v, nil
}

// schemeOf finds a scheme, or makes the one that the settings describe.
func schemeOf(name string, settings HMAC) (Scheme, error) {
	s, found := Find(name)
	switch {
	case !found:
		return Scheme{}, lineshaft.Invalid("signature_scheme", "unknown scheme; use one of %s", strings.Join(Names(), ", "))
	case name == "hmac":
		return generic(settings), settings.Validate()
	case settings != HMAC{}:
		return Scheme{}, lineshaft.Invalid("hmac", "these settings belong to the scheme hmac; leave them out for %s", name)
	}
	return s, nil
}

func newCheck(rule Rule, keys []key) (check, error) {
	text, err := newTemplate(rule.Signed)
	if err != nil {
		return check{}, err
	}
	c := check{
		rule:   rule,
		text:   text,
		header: http.CanonicalHeaderKey(rule.Header),
		stamp:  http.CanonicalHeaderKey(rule.Stamp.Header),
		id:     http.CanonicalHeaderKey(rule.ID),
	}
	for _, k := range keys {
		if k.kind == rule.key {
			c.hashers = append(c.hashers, newHasher(rule, text, k))
		}
	}
	return c, nil
}

// Verify returns nil if the request is authentic. Its errors are for the log, not
// for the sender; neither secrets nor signatures are in them.
func (v *Verifier) Verify(r Request) error {
	_, err := v.authenticate(&r)
	return err
}

// authenticate returns the key that signed the request.
func (v *Verifier) authenticate(r *Request) (key, error) {
	decided, reason := "", errNoHeader
	for i := range v.checks {
		c := &v.checks[i]
		if decided != "" && c.header != decided || len(r.Header[c.header]) == 0 {
			continue
		}
		k, err := c.verify(r)
		if err == nil {
			return k, nil
		}
		// The most telling reason: an alternative that was not used is none.
		if decided == "" || errors.Is(reason, errMissing) {
			reason = err
		}
		decided = c.header
	}
	return key{}, reason
}

func (c *check) verify(r *Request) (key, error) {
	value, err := single(r.Header, c.header)
	if err != nil {
		return key{}, err
	}
	var room [4]string
	sent, err := signatures(room[:0], value, c.rule.List, c.rule.Prefix)
	if err != nil {
		return key{}, err
	}
	f, err := c.fields(r, value)
	if err != nil {
		return key{}, err
	}
	if c.rule.guard != nil {
		if err := c.rule.guard(r); err != nil {
			return key{}, err
		}
	}
	if c.rule.anyCase {
		for i := range sent {
			sent[i] = lowered(sent[i])
		}
	}
	for _, h := range c.hashers {
		if h.matches(sent, r, f) {
			return h.key, nil
		}
	}
	return key{}, errMismatch
}

// fields takes the time stamp and the id from a request and checks their form and
// the time, which is cheaper than the digest and tells nothing about the key.
func (c *check) fields(r *Request, value string) (f fields, err error) {
	if c.id != "" {
		if f.id, err = single(r.Header, c.id); err != nil {
			return f, err
		}
		if len(f.id) > maxID || strings.ContainsAny(f.id, c.text.borders) {
			return f, errID
		}
	}
	place := c.rule.Stamp
	switch {
	case place.Header != "":
		f.stamp, err = single(r.Header, c.stamp)
	case place.Item != "":
		f.stamp, err = stampItem(value, c.rule.List, place.Item)
	case place.Body != "":
		if f.stamp, err = bodyStamp(r, place); err != nil && len(r.Body) > 0 && jsontext.Check(r.Body, true) != nil {
			return f, nil //nolint:nilerr // nobody can read it: if the digest is right, the sender hears that
		}
	default:
		return f, nil
	}
	if err != nil {
		return f, err
	}
	at, ok := instant(f.stamp, place.Unit)
	switch {
	case !ok:
		return f, errStampForm
	case !near(at, r.Now, place.Window):
		return f, errStampFar
	}
	return f, nil
}

func bodyStamp(r *Request, place Stamp) (string, error) {
	raw, found := jsontext.Member(r.Body, place.Body)
	if !found {
		return "", errNoStamp
	}
	return string(raw), nil
}

// source is a Source with the names that headers are stored under.
type source struct {
	place  Source
	header string
	with   string
}

func newSource(place Source) source {
	return source{
		place:  place,
		header: http.CanonicalHeaderKey(place.Header),
		with:   http.CanonicalHeaderKey(place.with),
	}
}

// Identity returns the provider's own delivery id and where it came from ("header
// X-GitHub-Delivery", "body id"), or nothing if there is none that can be trusted
// to be one: it must be there once, and be printable ASCII of at most 256
// characters. Call it for authentic requests only.
func (v *Verifier) Identity(r Request) (id, from string) {
	for _, s := range v.ids {
		if id := s.find(&r); id != "" && len(id) <= maxID && printable(id) {
			return id, s.place.String()
		}
	}
	return "", ""
}

func (s *source) find(r *Request) string {
	if s.header == "" {
		return jsontext.MemberText(r.Body, s.place.Body)
	}
	if s.with != "" && len(r.Header[s.with]) == 0 {
		return ""
	}
	if values := r.Header[s.header]; len(values) == 1 {
		return values[0]
	}
	return ""
}

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
