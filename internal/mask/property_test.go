package mask_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft/internal/mask"
)

// Few letters make beginnings, endings and overlaps frequent.
var (
	letters = rapid.SampledFrom([]byte("abAB\n "))
	value   = rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte("abAB")), 8, 14), func(b []byte) string { return string(b) })
	secrets = rapid.MapOfN(rapid.StringMatching("[X-Z]{1,2}"), value, 1, 5)
)

// document draws a text with secrets in it, plain, encoded, wrapped and cut.
func document(t *rapid.T, secrets map[string]string) []byte {
	var out []byte
	names := rapid.SampledFrom(keys(secrets))
	for range rapid.IntRange(0, 12).Draw(t, "parts") {
		v := secrets[names.Draw(t, "name")]
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			out = append(out, rapid.SliceOfN(letters, 0, 10).Draw(t, "noise")...)
		case 1:
			out = append(out, v...)
		case 2:
			out = append(out, v[:rapid.IntRange(0, len(v)).Draw(t, "cut")]...)
		case 3:
			out = append(out, v[rapid.IntRange(0, len(v)).Draw(t, "cut"):]...)
		default:
			encoded := encode(t, v)
			for at := rapid.IntRange(1, 20).Draw(t, "wrap"); len(encoded) > at; encoded = encoded[at:] {
				out = append(append(out, encoded[:at]...), rapid.SampledFrom([]string{"", "\n", "\r\n  "}).Draw(t, "gap")...)
			}
			out = append(out, encoded...)
		}
	}
	return out
}

func encode(t *rapid.T, v string) string {
	before := rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "before")
	after := rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "after")
	return encodings(v, string(before), string(after))[rapid.IntRange(0, 3).Draw(t, "encoding")]
}

func keys(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	return out
}

func TestS2EverySplitGivesTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := secrets.Draw(t, "secrets")
		m := mask.New(secrets)
		doc := document(t, secrets)
		want := m.Bytes(doc)
		s := m.Stream()
		var got []byte
		for rest := doc; len(rest) > 0; {
			n := rapid.IntRange(0, min(len(rest), 20)).Draw(t, "piece")
			got = append(got, s.Write(rest[:n])...)
			rest = rest[n:]
			if n == 0 && rapid.Bool().Draw(t, "rest at once") {
				got = append(got, s.Write(rest)...)
				rest = nil
			}
		}
		got = append(got, s.Flush()...)
		if !bytes.Equal(got, want) {
			t.Fatalf("in pieces %q, at once %q, from %q", got, want, doc)
		}
		if m.String(string(doc)) != string(want) {
			t.Fatalf("String and Bytes differ for %q", doc)
		}
	})
}

func TestS2NoSecretIsShown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := secrets.Draw(t, "secrets")
		m := mask.New(secrets)
		doc := document(t, secrets)
		out := string(m.Bytes(doc))
		for name, v := range secrets {
			if strings.Contains(out, v) {
				t.Fatalf("%s is shown in %q, from %q", name, out, doc)
			}
			for before := range 3 {
				for _, e := range encodings(v, strings.Repeat("\x00", before), "") {
					// Without what depends on the neighbours.
					if core := strings.TrimRight(e, "=")[(before*8+5)/6:]; strings.Contains(out, core[:len(v)*8/6-1]) {
						t.Fatalf("%s is shown in base64 in %q, from %q", name, out, doc)
					}
				}
			}
		}
	})
}

func TestS2TextWithoutSecretsIsUnchanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := secrets.Draw(t, "secrets")
		m := mask.New(secrets)
		doc := rapid.SliceOf(letters).Draw(t, "document")
		for _, v := range secrets {
			// Neither as it is nor as base64, which has other letters after a few.
			if bytes.Contains(doc, []byte(v)) {
				return
			}
		}
		if got := m.Bytes(doc); !bytes.Equal(got, doc) {
			t.Fatalf("%q became %q", doc, got)
		}
	})
}

func TestS2JSONKeepsMeaning(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := secrets.Draw(t, "secrets")
		m := mask.New(secrets)
		object := map[string]any{}
		for range rapid.IntRange(0, 5).Draw(t, "fields") {
			object[rapid.String().Draw(t, "key")] = []any{rapid.String().Draw(t, "text"), string(document(t, secrets)), rapid.Int().Draw(t, "number")}
		}
		raw, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		masked := m.JSON(raw)
		var back map[string][]any
		if err := json.Unmarshal(masked, &back); err != nil {
			t.Fatalf("%s: %v", masked, err)
		}
		for key, fields := range object {
			want, _ := fields.([]any)[1].(string)
			valid, _ := json.Marshal(want)
			_ = json.Unmarshal(valid, &want) // as JSON sees it
			if got := back[m.String(key)]; got == nil || got[1] != m.String(want) {
				t.Fatalf("%q became %q", want, got)
			}
		}
	})
}

func FuzzStream(f *testing.F) {
	f.Add([]byte("secret-value and more"), "secret-value", 3)
	f.Add([]byte(base64.StdEncoding.EncodeToString([]byte("xsecret-valuey"))), "secret-value", 5)
	f.Add([]byte("c2Vj\ncmV0LXZhbHVl"), "secret-value", 1)
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaaaaaaa"), "aaaaaaaa", 7)
	f.Add([]byte("line one\nline two is long\n"), "line two is long\nline one of it", 4)
	f.Add([]byte(`{"a":"b\"cdefghi"}`), `b"cdefghi`, 2)
	f.Fuzz(func(t *testing.T, doc []byte, value string, size int) {
		m := mask.New(map[string]string{"S": value, "OTHER": "another-secret"})
		want := string(m.Bytes(doc))
		s := m.Stream()
		var got []byte
		size = max(1, size%64)
		for rest := doc; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			got = append(got, s.Write(rest[:min(size, len(rest))])...)
		}
		got = append(got, s.Flush()...)
		if string(got) != want {
			t.Fatalf("in pieces of %d: %q, at once: %q", size, got, want)
		}
		// A value that looks like a mask can come about by masking.
		if v := strings.TrimSpace(value); len(v) >= mask.MinLength && !strings.Contains(v, "*") && strings.Contains(want, v) {
			t.Fatalf("%q shows %q", want, v)
		}
		if masked := m.JSON(doc); json.Valid(doc) && !json.Valid(masked) {
			t.Fatalf("%q became %q", doc, masked)
		}
	})
}
