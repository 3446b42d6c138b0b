package mask_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft/internal/mask"
)

const token = "ghp_s3cr3t/Value+42"

func TestS2ValuesAreMasked(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{
		"TOKEN": token, "SHORT": "1234567", "PIN": "12345678", "": "nameless-secret", "QUOTED": "a\"b\\c\nd<e>f",
		"PADDED": "  padded-value\n", "LONGER": token + "-and-more", "OVERLAP": "Value+42-then",
	}
	m := mask.New(secrets)
	for _, test := range []struct{ name, in, want string }{
		{"nothing", "nothing to see here", "nothing to see here"},
		{"empty", "", ""},
		{"alone", token, "***TOKEN***"},
		{"inside", "x" + token + "y", "x***TOKEN***y"},
		{"twice", token + token, "***TOKEN******TOKEN***"},
		{"almost", token[:len(token)-1], token[:len(token)-1]},
		{"almost, then whole", token[:5] + token, token[:5] + "***TOKEN***"},
		{"too short", "1234567", "1234567"},
		{"just long enough", "0123456789", "0***PIN***9"},
		{"without a name", "nameless-secret", "***"},
		{"white space around the value", "[padded-value]", "[***PADDED***]"},
		{"longest wins", token + "-and-more", "***LONGER***"},
		{"overlapping ones are one", token + "-then", "***TOKEN***"},
		{"escaped", `a\"b\\c\nd<e>f`, "***QUOTED***"},
		{"escaped for HTML", `a\"b\\c\nd\u003ce\u003ef`, "***QUOTED***"},
		{"not text", "\xff\x00" + token + "\xfe", "\xff\x00***TOKEN***\xfe"},
	} {
		if got := m.String(test.in); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
		in := []byte(test.in)
		if got := m.Bytes(in); string(got) != test.want || string(in) != test.in {
			t.Errorf("%s as bytes: got %q, want %q; input is now %q", test.name, got, test.want, in)
		}
	}
}

func TestS2NilMasksNothing(t *testing.T) {
	t.Parallel()
	for _, m := range []*mask.Masker{nil, mask.New(nil), mask.New(map[string]string{"A": "short", "B": "", "C": "   blank   "[:3]})} {
		if m != nil {
			t.Error("a masker without secrets is not nil")
		}
		s := m.Stream()
		if m.String(token) != token || string(m.Bytes([]byte(token))) != token || string(m.JSON([]byte(`{`))) != "{" ||
			string(s.Write([]byte(token))) != token || len(s.Flush()) != 0 {
			t.Error("nil changes text")
		}
	}
}

func TestS2LinesOfAKeyAreMaskedAlone(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN KEY-----\nMIIEvQIBADANBgkqh\r\nkiG9w0BAQEFAASCBK\nend=\n-----END KEY-----\n"
	m := mask.New(map[string]string{"KEY": key})
	for in, want := range map[string]string{
		key:                                  "***KEY***\n",
		"  1  MIIEvQIBADANBgkqh\n":           "  1  ***KEY***\n",
		"kiG9w0BAQEFAASCBK":                  "***KEY***",
		"-----BEGIN KEY-----\nof another":    "-----BEGIN KEY-----\nof another",
		"the end= is too short to be masked": "the end= is too short to be masked",
	} {
		if got := m.String(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// encodings are all the ways base64 shows a value, with before and after as data
// around it.
func encodings(value, before, after string) []string {
	var out []string
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		out = append(out, e.EncodeToString([]byte(before+value+after)))
	}
	return out
}

func TestS2Base64IsMasked(t *testing.T) {
	t.Parallel()
	value := "\xfb\xff\xbe?>~secret??>>value\xff\xfe" // has the characters in which the alphabets differ
	m := mask.New(map[string]string{"S": value})
	for before := range 5 {
		for after := range 5 {
			for i, text := range encodings(value, strings.Repeat("b", before), strings.Repeat("a", after)) {
				got := m.String("x " + text + " y")
				if !strings.Contains(got, "***S***") {
					t.Errorf("%d before, %d after, encoding %d: %q is shown", before, after, i, got)
				}
				// What is left are the neighbours and at most one character of the value on each side.
				if left := len(got) - len("x  y***S***"); left > (before*8+5)/6+(after*8+5)/6+1+2 {
					t.Errorf("%d before, %d after: %q shows %d characters", before, after, got, left)
				}
			}
		}
	}
}

func TestS2WrappedBase64IsMasked(t *testing.T) {
	t.Parallel()
	value := "a-rather-long-secret-value-that-needs-several-lines"
	m := mask.New(map[string]string{"S": value})
	for _, gap := range []string{"\n", "\r\n", "\n    ", "\n\t"} {
		for before := range 80 {
			text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("b", before) + value + "after"))
			var wrapped strings.Builder
			for i, c := range text {
				if i > 0 && i%20 == 0 {
					wrapped.WriteString(gap)
				}
				wrapped.WriteRune(c)
			}
			got := m.String(wrapped.String())
			joined := strings.Join(strings.Fields(got), "")
			// A line break after less than four characters leaves those.
			if !strings.Contains(got, "***S***") || strings.Contains(joined, text[(before+4)*8/6+1:(before+8)*8/6]) {
				t.Fatalf("%d before, gap %q: got %q", before, gap, got)
			}
		}
	}
	if text := "YS1yYXRo\n" + strings.Repeat(" ", 100) + "ZXItbG9uZy1zZWNyZXQ"; m.String(text) != text {
		t.Errorf("text that is far apart was changed: %q", m.String(text))
	}
}

// A line must not wait for the next one because it ends like a secret begins.
func TestS2LinesAreNotHeldBackForBase64(t *testing.T) {
	t.Parallel()
	m := mask.New(map[string]string{"S": "secret-value"})
	begins := base64.StdEncoding.EncodeToString([]byte("secret-value"))
	s := m.Stream()
	for n := range 4 {
		line := "line " + begins[:n] + "\n"
		if got := s.Write([]byte(line)); string(got) != line {
			t.Errorf("%q: got %q", line, got)
		}
	}
	if got := s.Write([]byte("line " + begins[:8] + "\n")); string(got) != "line " {
		t.Errorf("a likely beginning was given out: %q", got)
	}
	if got := s.Write([]byte("no\n")); string(got) != begins[:8]+"\nno\n" {
		t.Errorf("got %q", got)
	}
}

func TestS2StreamHoldsBackOnlyBeginnings(t *testing.T) {
	t.Parallel()
	m := mask.New(map[string]string{"T": "secret-value", "U": "value-of-u"})
	s := m.Stream()
	for _, step := range []struct{ in, want string }{
		{"hello", "hello"},
		{" se", " "},
		{"cret", ""},
		{"!", "secret!"},
		{"secret-", ""},
		{"valu", ""},
		{"e", "***T***"}, // the end may begin another one: it is covered in any case
		{"-of-u", ""},
		{" and!", " and!"},
		{"sec", ""},
	} {
		if got := s.Write([]byte(step.in)); string(got) != step.want {
			t.Errorf("%q: got %q, want %q", step.in, got, step.want)
		}
	}
	if got := s.Flush(); string(got) != "sec" {
		t.Errorf("end: got %q", got)
	}
	if got := s.Write([]byte("ret-valu!")); string(got) != "ret-valu!" {
		t.Errorf("after the end: got %q", got)
	}
}

func TestS2StreamDoesNotShareWhatItHolds(t *testing.T) {
	t.Parallel()
	s := mask.New(map[string]string{"T": "secret-value"}).Stream()
	p := []byte("x secret-")
	first := string(s.Write(p))
	for i := range p {
		p[i] = '#'
	}
	if got := first + string(s.Write([]byte("value y"))); got != "x ***T*** y" {
		t.Errorf("got %q", got)
	}
}

func TestS2JSON(t *testing.T) {
	t.Parallel()
	m := mask.New(map[string]string{"T": token, "Q": "li\"ne\nbr\\eak é", "N": "1234567890", "B": "raw\xff\xfebytes"})
	for in, want := range map[string]string{
		`{"z":1, "a" : [true,null,1.50e+3]}`:              `{"z":1, "a" : [true,null,1.50e+3]}`,
		`{"a":"x ` + token + ` y"}`:                       `{"a":"x ***T*** y"}`,
		`{"` + token + `":1}`:                             `{"***T***":1}`,
		`["ghp_s3cr3t\/Value\u002b42"]`:                   `["***T***"]`,
		`"li\"ne\nbr\\eak \u00e9"`:                        `"***Q***"`,
		`{"n":1234567890,"m":-12345678901}`:               `{"n":"***N***","m":"-***N***1"}`,
		`{"s":"\u00e9 stays \/ as \u003c it is"}`:         `{"s":"\u00e9 stays \/ as \u003c it is"}`,
		`not json ` + token:                               `not json ***T***`,
		`{"cut":"` + token:                                `{"cut":"***T***`,
		"\"raw\xff\xfebytes\"":                            `"***B***"`,
		"\"other \xff\xfe bytes\"":                        "\"other \xff\xfe bytes\"",
		`{"e":"` + encodings(token, "", "")[0] + `"}`:     "",
		`{"nested":"{\"a\":\"li\\\"ne\\nbr\\\\eak é\"}"}`: `{"nested":"{\"a\":\"***Q***\"}"}`,
		`"a\\"`: `"a\\"`,
		``:      ``,
	} {
		got := string(m.JSON([]byte(in)))
		if want != "" && got != want || strings.Contains(got, token[5:]) {
			t.Errorf("%s:\ngot  %s\nwant %s", in, got, want)
		}
		if json.Valid([]byte(in)) && !json.Valid([]byte(got)) {
			t.Errorf("%s: became invalid: %s", in, got)
		}
	}
}

func TestS2JSONStaysValidWithStrangeNames(t *testing.T) {
	t.Parallel()
	m := mask.New(map[string]string{`a"b\`: "secret\xffvalue", `c"d`: `"quoted-secret"`})
	for _, in := range []string{"\"secret\xffvalue\"", `"quoted-secret"`, `["\"quoted-secret\""]`} {
		if got := m.JSON([]byte(in)); !json.Valid(got) || bytes.Contains(got, []byte("secret\xffvalue")) {
			t.Errorf("%q: got %q", in, got)
		}
	}
}

// The result must not depend on the order in which a map is walked.
func TestS2SameValueTwiceHasOneName(t *testing.T) {
	t.Parallel()
	for range 20 {
		m := mask.New(map[string]string{"B_COPY": token, "A_FIRST": token, "C_PART": token[2:]})
		if got := m.String(token + " " + encodings(token, "", "")[1]); !strings.HasPrefix(got, "***A_FIRST*** ***A_FIRST***") {
			t.Fatalf("got %q", got)
		}
	}
}

func TestS2OneMaskerServesManyStreams(t *testing.T) {
	t.Parallel()
	m := mask.New(map[string]string{"T": token, "KEY": "-----BEGIN-----\nfirst line\nsecond line"})
	text := strings.Repeat("some "+token+" text\nand second line\n", 200)
	want := strings.Repeat("some ***T*** text\nand ***KEY***\n", 200)
	var wg sync.WaitGroup
	for size := 1; size <= 16; size++ {
		wg.Go(func() {
			s := m.Stream()
			var got []byte
			for rest := []byte(text); len(rest) > 0; rest = rest[min(size, len(rest)):] {
				got = append(got, s.Write(rest[:min(size, len(rest))])...)
			}
			if got = append(got, s.Flush()...); string(got) != want {
				t.Errorf("pieces of %d: got %.200q", size, got)
			}
		})
	}
	wg.Wait()
}

func ExampleMasker_Stream() {
	m := mask.New(map[string]string{"API_KEY": "k-1234567890"})
	s := m.Stream()
	for _, piece := range []string{"key is k-123", "4567890 and", " that is all\n"} {
		fmt.Fprintf(os.Stdout, "%s|", s.Write([]byte(piece)))
	}
	fmt.Fprintf(os.Stdout, "%s", s.Flush())
	// Output: key is |***API_KEY*** and| that is all
	// |
}
