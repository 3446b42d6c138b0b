package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

const (
	keyBytes = 32 // AES-256
	idBytes  = 8  // enough to tell the few keys of one installation apart

	// idDomain keeps the id apart from any other hash of the same bytes.
	idDomain = "lineshaft/vault/v1/master-key-id\x00"
)

// errKeyText does not quote what it refuses: nearly a key is still a secret.
var errKeyText = errors.New("not a master key: want 32 random bytes as base64 or as 64 hexadecimal digits, " +
	`as "openssl rand -base64 32" prints them`)

// Key is a master key: 32 bytes and an id that may be shown. No way of printing
// a Key shows the bytes.
type Key struct {
	id string
	// aead stands for the bytes. Behind a pointer they stay unseen even where fmt
	// walks another type's unexported fields and calls no method of ours.
	aead cipher.AEAD
}

// NewKey makes a master key of exactly 32 bytes, which it does not keep.
func NewKey(raw []byte) (Key, error) {
	if len(raw) != keyBytes {
		return Key{}, fmt.Errorf("a master key has %d bytes, this one %d", keyBytes, len(raw))
	}
	aead, err := newAEAD(raw)
	if err != nil {
		return Key{}, fmt.Errorf("prepare master key: %w", err)
	}
	sum := sha256.Sum256(append([]byte(idDomain), raw...))
	return Key{id: hex.EncodeToString(sum[:idBytes]), aead: aead}, nil
}

// ParseKey reads a master key as base64 (standard or URL alphabet, padded or
// not) or as 64 hexadecimal digits; white space around it is ignored. Its errors
// never quote the text.
func ParseKey(text string) (Key, error) {
	raw, ok := decodeKey(strings.TrimSpace(text))
	if !ok {
		return Key{}, errKeyText
	}
	defer clear(raw)
	return NewKey(raw)
}

// decodeKey decides by length, which differs for every form. Line breaks are
// refused first because the base64 decoder would skip them.
func decodeKey(text string) ([]byte, bool) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, false
	}
	if len(text) == hex.EncodedLen(keyBytes) {
		raw, err := hex.DecodeString(text)
		return raw, err == nil
	}
	enc := base64.StdEncoding
	if strings.ContainsAny(text, "-_") {
		enc = base64.URLEncoding
	}
	if !strings.HasSuffix(text, "=") {
		enc = enc.WithPadding(base64.NoPadding)
	}
	raw, err := enc.Strict().DecodeString(text)
	return raw, err == nil && len(raw) == keyBytes
}

// ID names the key without telling anything about it: 16 hexadecimal digits.
func (k Key) ID() string { return k.id }

// String returns the id.
func (k Key) String() string { return "vault.Key(" + k.id + ")" }

// GoString returns the id.
func (k Key) GoString() string { return k.String() }

// Format writes the id, whatever the verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// LogValue returns the id.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalJSON returns the id.
func (k Key) MarshalJSON() ([]byte, error) { return json.Marshal(k.String()) }

// newAEAD returns AES-256-GCM that draws a random nonce for each message and
// puts it in front. With random nonces one key is good for 2^32 messages, far
// above the number of secrets a master key ever wraps.
func newAEAD(raw []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
