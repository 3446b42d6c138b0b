package signature

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// keyKind says what a key may be used for. A rule only ever meets keys of its
// kind, so that no public key can become an HMAC key.
type keyKind int

const (
	keyText   keyKind = iota // the secret as it is written
	keyShared                // the bytes that a whsec_ secret stands for
	keyPublic                // an Ed25519 public key
)

// key is a secret made ready for use.
type key struct {
	kind    keyKind
	bytes   []byte
	private ed25519.PrivateKey // for Sign alone
}

// The forms of Standard Webhooks keys.
const (
	prefixShared  = "whsec_"
	prefixPublic  = "whpk_"
	prefixPrivate = "whsk_"
	minShared     = 24 // bytes
)

// readKey makes a key of a secret, or says what is wrong with it without saying
// what it is.
func (s Scheme) readKey(secret string) (key, error) {
	switch {
	case secret == "":
		return key{}, lineshaft.Invalid("secret", "the secret is empty; with an empty secret anyone could sign")
	case strings.TrimSpace(secret) != secret:
		return key{}, lineshaft.Invalid("secret", "the secret begins or ends with white space; store it without")
	case len(secret) > maxHeader:
		return key{}, lineshaft.Invalid("secret", "the secret is longer than %d bytes", maxHeader)
	case s.read == nil:
		return key{kind: keyText, bytes: []byte(secret)}, nil
	}
	return s.read(secret)
}

// readStandard reads the keys of Standard Webhooks.
func readStandard(secret string) (key, error) {
	if strings.HasPrefix(secret, prefixPrivate) {
		return key{}, lineshaft.Invalid("secret", "this is the private key (%s) of the sender; give the public one (%s)", prefixPrivate, prefixPublic)
	}
	if text, public := strings.CutPrefix(secret, prefixPublic); public {
		raw, err := decodeBase64(text)
		if err != nil {
			return key{}, lineshaft.Invalid("secret", "the text after %s is not base64", prefixPublic)
		}
		return readPublic(raw)
	}
	raw, err := decodeBase64(strings.TrimPrefix(secret, prefixShared))
	switch {
	case err != nil:
		return key{}, lineshaft.Invalid("secret", "the secret must be %s and base64 after it", prefixShared)
	case len(raw) < minShared:
		return key{}, lineshaft.Invalid("secret", "the key has %d bytes; %d are the least that is safe", len(raw), minShared)
	}
	return key{kind: keyShared, bytes: raw}, nil
}

func readHexPublic(secret string) (key, error) {
	raw, err := hex.DecodeString(secret)
	if err != nil {
		return key{}, lineshaft.Invalid("secret", "the public key must be written in hex")
	}
	return readPublic(raw)
}

func readPublic(raw []byte) (key, error) {
	if len(raw) != ed25519.PublicKeySize {
		return key{}, lineshaft.Invalid("secret", "the public key has %d bytes; an Ed25519 key has %d", len(raw), ed25519.PublicKeySize)
	}
	if weak(raw) {
		return key{}, lineshaft.Invalid("secret", "this public key is weak: anyone can make signatures for it")
	}
	return key{kind: keyPublic, bytes: raw}, nil
}

// weak reports whether a public key is one of the few points of small order, such
// as a placeholder of zeros. Signatures for them can be made without any private
// key. The highest bit, the sign, does not matter.
func weak(public []byte) bool {
	plain := bytes.Clone(public)
	plain[31] &= 0x7f
	switch hex.EncodeToString(plain) {
	case "0000000000000000000000000000000000000000000000000000000000000000", // y = 0, order 4
		"0100000000000000000000000000000000000000000000000000000000000000", // y = 1, order 1
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05", // order 8
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", // order 8
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", // y = -1, order 2
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", // y = 0 again, past the modulus
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f": // y = 1 again
		return true
	}
	return false
}

// decodeBase64 takes the standard alphabet with or without padding: people lose it
// when they copy keys.
func decodeBase64(text string) ([]byte, error) {
	return base64.RawStdEncoding.Strict().DecodeString(strings.TrimRight(text, "="))
}
