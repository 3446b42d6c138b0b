package signature

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

// Sign sets the headers that a sender of a scheme would send at r.Now. The id goes
// where the scheme has a header for it; an id or a time stamp that belongs in the
// body must be there already. For Ed25519 the secret is the private key: whsk_ and
// base64 for Standard Webhooks, hex for Discord.
func Sign(scheme string, settings HMAC, secret string, r *Request, id string) error {
	s, err := schemeOf(scheme, settings)
	if err != nil {
		return err
	}
	k, err := s.readPrivate(secret)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(s.Rules, func(rule Rule) bool {
		return rule.key == k.kind && (rule.sends == nil || rule.sends(r))
	})
	if at < 0 {
		return lineshaft.Invalid("secret", "the scheme %s does not sign with this kind of secret", s.Name)
	}
	c, err := newCheck(s.Rules[at], []key{k})
	if err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	s.setID(r, c, id)
	return c.sign(r, id)
}

func (s Scheme) setID(r *Request, c check, id string) {
	if id == "" || c.id != "" {
		return // c signs its own
	}
	for _, place := range s.Identity {
		if place.Header != "" && place.with == "" {
			r.Header.Set(place.Header, id)
			return
		}
	}
}

func (c *check) sign(r *Request, id string) error {
	if c.id != "" {
		if id == "" || len(id) > maxID || strings.ContainsAny(id, c.text.borders) || !printable(id) {
			return lineshaft.Invalid("id", "the scheme needs an id of at most %d printable characters without any of %q", maxID, c.text.borders)
		}
		r.Header[c.id] = []string{id}
	}
	f := fields{id: id}
	prefix := c.rule.Prefix
	switch place := c.rule.Stamp; {
	case place.Body != "":
		if _, err := bodyStamp(r, place); err != nil {
			return lineshaft.Invalid("body", "the scheme wants the time in the body: add %q in milliseconds", place.Body)
		}
	case place.Header != "":
		f.stamp = stampText(r.Now, place.Unit)
		r.Header[c.stamp] = []string{f.stamp}
	case place.Item != "":
		f.stamp = stampText(r.Now, place.Unit)
		prefix = place.Item + "=" + f.stamp + c.rule.List + prefix
	}
	r.Header[c.header] = []string{prefix + c.hashers[0].sign(r, f)}
	return nil
}

func stampText(now time.Time, unit time.Duration) string {
	if unit == time.Millisecond {
		return strconv.FormatInt(now.UnixMilli(), 10)
	}
	return strconv.FormatInt(now.Unix(), 10)
}

// readPrivate is readKey for the sender's side.
func (s Scheme) readPrivate(secret string) (key, error) {
	text, standard := strings.CutPrefix(secret, prefixPrivate)
	var raw []byte
	var err error
	switch {
	case standard && s.Name == "standard_webhooks":
		raw, err = decodeBase64(text)
	case s.Name == "discord":
		raw, err = hex.DecodeString(secret)
	default:
		k, err := s.readKey(secret)
		if err == nil && k.kind == keyPublic {
			err = lineshaft.Invalid("secret", "a public key can only verify; to sign, use the private key (%s)", prefixPrivate)
		}
		return k, err
	}
	size := len(raw)
	if err != nil || size != ed25519.SeedSize && size != ed25519.PrivateKeySize {
		return key{}, lineshaft.Invalid("secret", "to sign, the private Ed25519 key is needed")
	}
	return key{kind: keyPublic, private: ed25519.NewKeyFromSeed(raw[:ed25519.SeedSize])}, nil
}
