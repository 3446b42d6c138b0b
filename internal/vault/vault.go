package vault

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/lineshaft/lineshaft"
)

// maxValue bounds memory; what a secret may be is for the caller to say.
const maxValue = 1 << 20

var (
	// ErrUnknownKey means that the value was sealed under a master key that this
	// vault does not have. The error around it names the key and the way out.
	ErrUnknownKey = errors.New("master key not known here")
	// ErrBroken means that the sealed text was changed, or made for another name.
	ErrBroken = errors.New("sealed value is damaged or belongs to another name; restore it from a backup or set the value again")

	errNoKey = errors.New("vault has no master key; make it with Load")
)

// Vault seals and opens values. The zero value holds no key and refuses both.
type Vault struct {
	current Key
	keys    map[string]Key // by id, the current one included
}

// New returns a vault that seals under current and also opens what was sealed
// under an old key.
func New(current Key, old ...Key) *Vault {
	v := &Vault{current: current, keys: make(map[string]Key, 1+len(old))}
	for _, k := range append(slices.Clone(old), current) {
		if k.aead != nil {
			v.keys[k.id] = k
		}
	}
	return v
}

// CurrentID names the master key that new values are sealed under.
func (v *Vault) CurrentID() string { return v.current.id }

// Seal encrypts value and binds it to name: under another name the text does not
// open. The text is one line of ASCII. A value above 1 MiB is refused.
func (v *Vault) Seal(name string, value []byte) (string, error) {
	if len(value) > maxValue {
		return "", lineshaft.Invalid("value", "has %d bytes, more than %d; shorten it", len(value), maxValue)
	}
	if v.current.aead == nil {
		return "", fmt.Errorf("seal %q: %w", name, errNoKey)
	}
	dataKey := make([]byte, keyBytes)
	defer clear(dataKey)
	_, _ = rand.Read(dataKey) // never fails: without randomness the program ends
	aead, err := newAEAD(dataKey)
	if err != nil {
		return "", fmt.Errorf("seal %q: %w", name, err)
	}
	return envelope{
		keyID:   v.current.id,
		wrapped: v.current.wrap(name, dataKey),
		body:    aead.Seal(nil, nil, value, valueContext(name)),
	}.String(), nil
}

// Open decrypts what Seal made for the same name. It answers ErrUnknownKey or
// ErrBroken, and never a part of a value.
func (v *Vault) Open(name, sealed string) ([]byte, error) {
	e, dataKey, err := v.unwrap(name, sealed)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", name, err)
	}
	defer clear(dataKey)
	aead, err := newAEAD(dataKey)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", name, err)
	}
	value, err := aead.Open(nil, nil, e.body, valueContext(name))
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", name, ErrBroken)
	}
	return value, nil
}

// Rewrap wraps the data key of sealed under the current master key, without
// decrypting the value, so damage to the value is left for Open to find. Text that already is under the current key comes back as
// it was, with changed false.
func (v *Vault) Rewrap(name, sealed string) (fresh string, changed bool, err error) {
	if v.current.aead == nil {
		return "", false, fmt.Errorf("rewrap %q: %w", name, errNoKey)
	}
	e, dataKey, err := v.unwrap(name, sealed)
	if err != nil {
		return "", false, fmt.Errorf("rewrap %q: %w", name, err)
	}
	defer clear(dataKey)
	if e.keyID == v.current.id {
		return sealed, false, nil
	}
	e.keyID, e.wrapped = v.current.id, v.current.wrap(name, dataKey)
	return e.String(), true, nil
}

// unwrap takes sealed apart and decrypts its data key.
func (v *Vault) unwrap(name, sealed string) (envelope, []byte, error) {
	e, err := parseEnvelope(sealed)
	if err != nil {
		return envelope{}, nil, err
	}
	key, ok := v.keys[e.keyID]
	if !ok {
		return envelope{}, nil, fmt.Errorf("sealed under %s: %w; add that key to LINESHAFT_MASTER_KEY_OLD and start again, "+
			"or set the value again", e.keyID, ErrUnknownKey)
	}
	dataKey, err := key.aead.Open(nil, nil, e.wrapped, wrapContext(key.id, name))
	if err != nil {
		return envelope{}, nil, ErrBroken
	}
	return e, dataKey, nil
}

func (k Key) wrap(name string, dataKey []byte) []byte {
	return k.aead.Seal(nil, nil, dataKey, wrapContext(k.id, name))
}

// oldIDs lists the keys that only open, in a steady order.
func (v *Vault) oldIDs() []string {
	ids := []string{}
	for id := range v.keys {
		if id != v.current.id {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// String returns the ids of the keys.
func (v *Vault) String() string {
	return "vault.Vault(current " + v.current.id + ", old [" + strings.Join(v.oldIDs(), " ") + "])"
}

// GoString returns the ids of the keys.
func (v *Vault) GoString() string { return v.String() }

// Format writes the ids of the keys, whatever the verb.
func (v *Vault) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, v.String()) }

// LogValue returns the ids of the keys.
func (v *Vault) LogValue() slog.Value { return slog.StringValue(v.String()) }

// MarshalJSON returns the ids of the keys.
func (v *Vault) MarshalJSON() ([]byte, error) { return json.Marshal(v.String()) }

const (
	// maxSaid is how much of a command's standard error an error carries.
	maxSaid = 512
	// minKnown is the length from which words of standard output are masked.
	minKnown = 4

	maskText = "[masked]"
)

// Whatever looks like a key or token goes, since a traced script ("set -x")
// prints its key on standard error. Long names go with it, which costs less.
var (
	// A key in base64 or hexadecimal, but also any very long path.
	longRun = regexp.MustCompile(`[A-Za-z0-9+/_=-]{32,}`)
	// A token or a part of a key; without "/" and only with a digit, so that
	// paths and words such as AccessDeniedException stay.
	shortRun = regexp.MustCompile(`[A-Za-z0-9+_=-]{12,}`)
	// A hexadecimal dump.
	hexDump = regexp.MustCompile(`(?:\b[0-9A-Fa-f]{2,8}\b[ :,-]*){6,}`)
)

// quiet turns the standard error of a command into one short line without
// secrets: neither words of its standard output nor what looks like a key. cut
// says that the text was longer; a word cut in two is left out, because half a
// token may not look like one.
func quiet(stderr []byte, cut bool, stdout []byte) string {
	if cut {
		stderr = stderr[:bytes.LastIndexFunc(stderr, unicode.IsSpace)+1]
	}
	text := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(stderr), " "))
	text = strings.Join(strings.Fields(text), " ")
	for _, word := range strings.Fields(string(stdout)) {
		if len(word) >= minKnown {
			text = strings.ReplaceAll(text, word, maskText)
		}
	}
	text = longRun.ReplaceAllString(text, maskText)
	text = hexDump.ReplaceAllString(text, maskText)
	text = shortRun.ReplaceAllStringFunc(text, func(run string) string {
		if strings.ContainsAny(run, "0123456789") {
			return maskText
		}
		return run
	})
	if len(text) > maxSaid { // after masking, so that no token is cut
		text = strings.ToValidUTF8(text[:maxSaid], "") + "..."
	}
	return text
}
