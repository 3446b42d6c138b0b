package signature

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"slices"
	"strings"
	"sync"
)

// hasher makes the digests of one rule with one key. Hashes that are already
// keyed are kept for the next request.
type hasher struct {
	rule Rule
	text template
	key  key
	pool sync.Pool // of *scratch
}

// scratch is what one digest needs.
type scratch struct {
	hash   hash.Hash
	around []byte // the signed text before or after the body
	sum    []byte
	want   []byte // the signature as we would write it
	got    []byte // as it was sent
}

// newHash returns an unkeyed hash; nil for digests that are none.
func (d Digest) newHash() func() hash.Hash {
	switch d {
	case SHA1:
		return sha1.New
	case SHA256, Salted:
		return sha256.New
	case SHA384:
		return sha512.New384
	case SHA512:
		return sha512.New
	case Ed25519, Token:
	}
	return nil
}

func newHasher(rule Rule, text template, k key) *hasher {
	h := &hasher{rule: rule, text: text, key: k}
	fresh := rule.Digest.newHash()
	h.pool.New = func() any {
		s := &scratch{}
		switch {
		case rule.Digest == Salted:
			s.hash = fresh()
		case fresh != nil:
			s.hash = hmac.New(fresh, k.bytes)
		}
		return s
	}
	return h
}

// sign returns the signature as the sender writes it, for Sign.
func (h *hasher) sign(r *Request, f fields) string {
	switch h.rule.Digest {
	case Token:
		return string(h.key.bytes)
	case Ed25519:
		return string(h.rule.Encoding.append(nil, ed25519.Sign(h.key.private, h.message(r, f))))
	default:
		s, _ := h.pool.Get().(*scratch)
		defer h.pool.Put(s)
		return string(h.write(s, r, f))
	}
}

// matches reports whether one of the signatures is the right one.
func (h *hasher) matches(sent []string, r *Request, f fields) bool {
	switch h.rule.Digest {
	case Token:
		// Hashed, so that not even the length of the token takes time.
		want := sha256.Sum256(h.key.bytes)
		return slices.ContainsFunc(sent, func(token string) bool {
			got := sha256.Sum256([]byte(token))
			return hmac.Equal(want[:], got[:])
		})
	case Ed25519:
		message := h.message(r, f)
		return slices.ContainsFunc(sent, func(text string) bool {
			raw := h.rule.Encoding.decode(text)
			return len(raw) == ed25519.SignatureSize && ed25519.Verify(h.key.bytes, message, raw)
		})
	default:
		return h.matchesDigest(sent, r, f)
	}
}

func (h *hasher) matchesDigest(sent []string, r *Request, f fields) bool {
	s, _ := h.pool.Get().(*scratch)
	defer h.pool.Put(s)
	want := h.write(s, r, f)
	return slices.ContainsFunc(sent, func(text string) bool {
		s.got = append(s.got[:0], text...)
		return hmac.Equal(want, s.got)
	})
}

// write digests a request and returns the signature as text, which is valid until s
// is used again.
func (h *hasher) write(s *scratch, r *Request, f fields) []byte {
	s.hash.Reset()
	if h.rule.Digest == Salted {
		s.hash.Write(h.key.bytes)
	}
	s.around = appendParts(s.around[:0], h.text.head, r, f)
	s.hash.Write(s.around)
	if h.text.body {
		s.hash.Write(r.Body)
		s.around = appendParts(s.around[:0], h.text.tail, r, f)
		s.hash.Write(s.around)
	}
	s.sum = s.hash.Sum(s.sum[:0])
	s.want = h.rule.Encoding.append(s.want[:0], s.sum)
	return s.want
}

func (h *hasher) message(r *Request, f fields) []byte {
	text := make([]byte, 0, len(r.Body)+128)
	text = appendParts(text, h.text.head, r, f)
	if h.text.body {
		text = append(text, r.Body...)
		text = appendParts(text, h.text.tail, r, f)
	}
	return text
}

func (e Encoding) append(dst, raw []byte) []byte {
	switch e {
	case Hex:
		return hex.AppendEncode(dst, raw)
	case Base64:
		return base64.StdEncoding.AppendEncode(dst, raw)
	case Plain:
	}
	return append(dst, raw...)
}

// decode returns nothing unless text is the one way to write its bytes.
func (e Encoding) decode(text string) []byte {
	var raw []byte
	var err error
	switch e {
	case Hex:
		raw, err = hex.DecodeString(text)
	case Base64:
		raw, err = base64.StdEncoding.DecodeString(text)
	case Plain:
		raw = []byte(text)
	}
	if err != nil || string(e.append(nil, raw)) != text {
		return nil
	}
	return raw
}

// lowered takes hex that is upper case throughout for what it means; some
// libraries that people build senders with write it so.
func lowered(signature string) string {
	if strings.ToUpper(signature) == signature {
		return strings.ToLower(signature)
	}
	return signature
}
