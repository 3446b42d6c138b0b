package vault

import (
	"encoding/base64"
	"strings"
)

const (
	version = "v1"

	gcmOverhead  = 12 + 16 // nonce before, tag after
	wrappedBytes = keyBytes + gcmOverhead

	// maxSealed is the length of the longest text that Seal makes.
	maxSealed = len(version) + 1 + 2*idBytes + 1 + wrappedBytes/3*4 + 1 + (maxValue+gcmOverhead+2)/3*4
)

// sealedText is strict: one byte string has one spelling, so no character of a
// sealed text can be changed unnoticed.
var sealedText = base64.RawURLEncoding.Strict()

// envelope is a sealed value: "v1.<key id>.<wrapped data key>.<nonce and ciphertext>".
type envelope struct {
	keyID   string
	wrapped []byte
	body    []byte
}

// String returns the text that is stored.
func (e envelope) String() string {
	return strings.Join([]string{
		version, e.keyID, sealedText.EncodeToString(e.wrapped), sealedText.EncodeToString(e.body),
	}, ".")
}

// parseEnvelope checks the form of sealed. Line breaks are refused by hand
// because the base64 decoder would skip them.
func parseEnvelope(sealed string) (envelope, error) {
	if len(sealed) > maxSealed || strings.ContainsAny(sealed, "\r\n") {
		return envelope{}, ErrBroken
	}
	parts := strings.Split(sealed, ".")
	if len(parts) != 4 || parts[0] != version || !isID(parts[1]) {
		return envelope{}, ErrBroken
	}
	wrapped, err := sealedText.DecodeString(parts[2])
	if err != nil || len(wrapped) != wrappedBytes {
		return envelope{}, ErrBroken
	}
	body, err := sealedText.DecodeString(parts[3])
	if err != nil || len(body) < gcmOverhead {
		return envelope{}, ErrBroken
	}
	return envelope{keyID: parts[1], wrapped: wrapped, body: body}, nil
}

// isID says whether s may stand for a key in a message.
func isID(s string) bool { return len(s) == 2*idBytes && strings.Trim(s, "0123456789abcdef") == "" }

// wrapContext is what a wrapped data key is bound to. The key id has a fixed
// length, so no two pairs give the same bytes.
func wrapContext(keyID, name string) []byte {
	return []byte("lineshaft/vault/v1/data-key\x00" + keyID + "\x00" + name)
}

// valueContext is what a value is bound to. The master key is left out: Rewrap
// changes it without touching the value.
func valueContext(name string) []byte { return []byte("lineshaft/vault/v1/value\x00" + name) }
