package shell

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/goccy/go-yaml"
)

// hostileTexts act on a terminal, or break a document, when they are written as they are.
func hostileTexts() []string {
	return []string{
		"\x1b]0;PWN\a\x1b[2J", "c1 \u009b31m", "a\rb", "abc\u202edef", "bell\a", "null\x00", "del\x7f", "\ufeffmark", "a\u2028b", "lines\n\x1b[2J\nmore\n", `back\slash "quoted" ` + "\x1b",
		"\u2066isolate\u2069", "\x1b", ": \x1b", "- \x1b", "# \x1b", "\x85next",
	}
}

// TestS2DocumentsDoNotActOnTerminals: texts of others arrive whole in each form, and
// nothing of them acts.
func TestS2DocumentsDoNotActOnTerminals(t *testing.T) {
	t.Parallel()
	for _, text := range append(hostileTexts(), "plain", "größer ✓ 日本 👩‍👩‍👧", "two\nlines", "code {\n\tindented\n}\n", "tab\there", "", "null", "text-a-0.", `<b> & \u003c \\u003e`) {
		// As a server that escapes nothing but what it has to sends it.
		raw := json.RawMessage(`{"title":` + minimalJSON(text) + `,"list":[` + minimalJSON(text) + `]}`)
		for _, format := range []string{FormatJSON, FormatNDJSON, FormatYAML} {
			var out strings.Builder
			sh := New(Surroundings{Stdout: &out, Environ: []string{}}, "dev")
			sh.Format = format
			if err := sh.Document(map[string]any{"run": raw, text: "key"}); err != nil {
				t.Errorf("%q as %s: %v", text, format, err)
				continue
			}
			if strings.ContainsFunc(out.String(), func(r rune) bool {
				return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
			}) {
				t.Errorf("%q acts as %s: %q", text, format, out.String())
			}
			var got struct {
				Run struct {
					Title string   `json:"title" yaml:"title"`
					List  []string `json:"list" yaml:"list"`
				} `json:"run" yaml:"run"`
			}
			read := json.Unmarshal
			if format == FormatYAML {
				read = func(data []byte, v any) error { return yaml.Unmarshal(data, v) }
			}
			want := strings.ToValidUTF8(text, "�")
			if err := read([]byte(out.String()), &got); err != nil || got.Run.Title != want || len(got.Run.List) != 1 || got.Run.List[0] != want {
				t.Errorf("%q arrives as %s as %+v, %v:\n%s", text, format, got, err, out.String())
			}
		}
	}
}

// minimalJSON is a string of JSON that has C1 and direction marks as they are.
func minimalJSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ':
			b.WriteString(`\u00` + strconv.FormatInt(0x100+int64(r), 16)[1:])
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}
