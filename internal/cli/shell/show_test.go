package shell

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestDocumentForms(t *testing.T) {
	t.Parallel()
	value := map[string]any{"a": "<b> & more", "big": json.Number("12345678901234567890"), "list": []int{1}}
	for format, want := range map[string]string{
		FormatJSON:   "{\n  \"a\": \"<b> & more\",\n  \"big\": 12345678901234567890,\n  \"list\": [\n    1\n  ]\n}\n",
		FormatNDJSON: "{\"a\":\"<b> & more\",\"big\":12345678901234567890,\"list\":[1]}\n",
		FormatYAML:   "a: <b> & more\nbig: 12345678901234567890\nlist:\n- 1\n",
	} {
		var out bytes.Buffer
		sh := New(Surroundings{Stdout: &out, Environ: []string{}}, "dev")
		sh.Format = format
		if err := sh.Document(value); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v; want %q", format, out.String(), err, want)
		}
		if err := sh.Document(func() {}); err == nil {
			t.Error("a function was printed")
		}
	}
}

func TestTableFitsItsTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	sh := New(Surroundings{Stdout: &out, Environ: []string{"NO_COLOR=1"}}, "dev")
	rows := [][]Cell{Cells("größe", strings.Repeat("x", 100)), Cells("b", "")}
	for _, tc := range []struct{ width, want int }{{0, 107}, {40, 40}, {5, 17}} {
		out.Reset()
		sh.OutWidth = tc.width
		sh.Table([]string{"A", "B"}, rows)
		lines := strings.Split(out.String(), "\n")
		if got := len([]rune(lines[1])); got != tc.want || lines[0] != "A      B" || lines[2] != "b" {
			t.Errorf("width %d: %d columns, %q", tc.width, got, lines)
		}
	}
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 4, 0, 0, 5, time.UTC)
	for _, tc := range []struct {
		text  string
		ahead bool
		want  string
	}{
		{"1h", false, "2026-01-02T03:00:00.000000005Z"},
		{"1h", true, "2026-01-02T05:00:00Z"},
		{"2d", true, "2026-01-04T04:00:00Z"},
		{"2026-03-01", true, "2026-03-01T00:00:00Z"},
		{"2026-03-01T10:00:00+02:00", false, "2026-03-01T10:00:00+02:00"},
	} {
		at, err := ParseTime("x", tc.text, now, tc.ahead)
		if err != nil || at.Format(time.RFC3339Nano) != tc.want {
			t.Errorf("%s: %s, %v; want %s", tc.text, at.Format(time.RFC3339Nano), err, tc.want)
		}
	}
	for _, text := range []string{"", "soon", "-1h", "2026-13-01"} {
		if _, err := ParseTime("x", text, now, false); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 runs, 0 deliveries", 1: "1 run, 1 delivery", 2: "2 runs, 2 deliveries"} {
		if got := Count(n, "run") + ", " + Count(n, "delivery"); got != want {
			t.Error(got)
		}
	}
}
