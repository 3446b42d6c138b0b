package vault_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/vault"
)

// shown prints x in every way that could end in a log.
func shown(t *testing.T, x any) string {
	t.Helper()
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%c", "%b", "%o", "%U", "%t", "%08.3f"} {
		fmt.Fprintf(&out, verb+"\n", x)
	}
	fmt.Fprintln(&out, x)
	slog.New(slog.NewTextHandler(&out, nil)).Info("text", "x", x)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("json", "x", x)
	if err := json.NewEncoder(&out).Encode(x); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// leak returns the spelling of raw, of the usual ones, that text shows.
func leak(text string, raw []byte) string {
	decimal := strings.Trim(fmt.Sprintf("%d", raw[:6]), "[]")
	for _, spelling := range []string{
		string(raw), decimal, strings.ReplaceAll(decimal, " ", ","), strings.ReplaceAll(decimal, " ", ", "),
		strings.Trim(fmt.Sprintf("%#v", raw[:4]), "[]byte{}"), fmt.Sprintf("% x", raw[:6]), fmt.Sprintf("% X", raw[:6]),
		hex.EncodeToString(raw[:6]), strings.ToUpper(hex.EncodeToString(raw[:6])),
		base64.StdEncoding.EncodeToString(raw[:6]), base64.URLEncoding.EncodeToString(raw[:6]),
		hex.EncodeToString([]byte(base64.StdEncoding.EncodeToString(raw[:6]))), // %x of a text
	} {
		if strings.Contains(text, spelling) {
			return spelling
		}
	}
	return ""
}

// wantHidden fails if text shows raw.
func wantHidden(t *testing.T, text string, raw []byte) {
	t.Helper()
	if spelling := leak(text, raw); spelling != "" {
		t.Fatalf("shows the key as %q:\n%s", spelling, text)
	}
}

func TestS2LeaksAreSeen(t *testing.T) {
	t.Parallel()
	raw := rawKey()
	text := base64.StdEncoding.EncodeToString(raw)
	for _, shown := range []string{
		fmt.Sprintf("%v", raw), fmt.Sprintf("%#v", raw), fmt.Sprintf("%x", raw), fmt.Sprintf("% X", raw), text,
		fmt.Sprintf("%+v", struct{ k [32]byte }{[32]byte(raw)}), fmt.Sprintf("%x", text), string(raw),
	} {
		if leak(shown, raw) == "" {
			t.Errorf("%q goes unseen", shown)
		}
	}
}

func TestS2KeyAndVaultShowOnlyIDs(t *testing.T) {
	t.Parallel()
	raw := rawKey()
	k, err := vault.NewKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	v := vault.New(key(t, 1), k)
	for name, x := range map[string]any{
		"key": k, "key pointer": &k, "vault": v, "vault pointer": &v, "vault value": *v,
		"exported field": struct{ Key vault.Key }{k}, "slice": []vault.Key{k},
		"vault of it": vault.New(k), "in an exported field": struct{ Vault *vault.Vault }{vault.New(k)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := shown(t, x)
			wantHidden(t, text, raw)
			if name != "vault value" && !strings.Contains(text, k.ID()) {
				t.Errorf("does not show the id:\n%s", text)
			}
		})
	}
	// fmt calls no methods on what other types hold in unexported fields.
	type holder struct {
		key     vault.Key
		pointer *vault.Key
		vault   *vault.Vault
		value   vault.Vault
	}
	h := holder{k, &k, vault.New(k), *vault.New(k)}
	wantHidden(t, fmt.Sprintf("%v %+v %#v %v", h, h, h, &h), raw)
}

func TestS2SourceShowsNoSecret(t *testing.T) {
	t.Parallel()
	raw := rawKey()
	text := base64.StdEncoding.EncodeToString(raw)
	s := vault.Source{
		File: "/keys/master", Text: text, Command: []string{"/usr/bin/get-key", "--token=" + text}, Create: true,
		Old: []string{hex.EncodeToString(raw), text},
	}
	for name, x := range map[string]any{
		"value": s, "pointer": &s, "field": struct{ Source vault.Source }{s},
		"whole line as one word": vault.Source{Command: []string{"get-key --token=" + text}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := shown(t, x)
			wantHidden(t, out, raw)
			if !strings.Contains(out, "get-key") {
				t.Errorf("does not name the program:\n%s", out)
			}
		})
	}
	if got, want := s.String(), "vault.Source(file /keys/master, text [set], command get-key, create, 2 old)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestS2ErrorsShowNoValue(t *testing.T) {
	t.Parallel()
	v := vault.New(key(t, 1))
	value := rawKey()
	sealed := seal(t, v, "NAME", string(value))
	_, wrongName := v.Open("OTHER", sealed)
	_, unknown := vault.New(key(t, 2)).Open("NAME", sealed)
	_, broken := v.Open("NAME", sealed[:len(sealed)-1])
	_, tooBig := v.Seal("NAME", bytes.Repeat(value, 1<<16))
	for _, err := range []error{wrongName, unknown, broken, tooBig} {
		if err == nil {
			t.Fatal("no error")
		}
		wantHidden(t, fmt.Sprintf("%v %+v %#v", err, err, err), value)
	}
}
