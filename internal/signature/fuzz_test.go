package signature

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// FuzzVerify gives every scheme whatever headers and body there may be. Without the
// key nothing is accepted; with it, only what was signed.
func FuzzVerify(f *testing.F) {
	list := samples()
	for i, s := range list {
		r := s.signed(f)
		var lines strings.Builder
		for name, values := range r.Header {
			lines.WriteString(name + ":" + values[0] + "\n")
		}
		f.Add(i, lines.String(), r.Body, int64(0), uint16(3), byte(1))
	}
	f.Add(0, "X-Hub-Signature:sha256=\nX-Hub-Signature:\n", []byte{}, int64(-1<<62), uint16(0), byte(0))
	f.Fuzz(func(t *testing.T, which int, lines string, body []byte, offset int64, at uint16, mask byte) {
		s := list[((which%len(list))+len(list))%len(list)]
		r := Request{Method: http.MethodPost, URL: testURL, Header: parseLines(lines), Body: body, Now: testNow.Add(time.Duration(offset))}
		stranger := s
		switch {
		case s.scheme == "standard_webhooks" && s.private == "" || strings.HasPrefix(s.secret, prefixShared):
			stranger.secret = Generate("standard_webhooks")
		case s.private == "":
			stranger.secret = Generate(s.scheme)
		default:
			stranger.secret = "" // a public key is known to all, and the seeds are signed for it
		}
		if stranger.secret != "" {
			if err := stranger.verifier(t).Verify(r); !errors.Is(err, ErrNotAuthentic) {
				t.Fatalf("%s: accepted without the key: %v", s.name, err)
			}
		}
		v := s.verifier(t)
		if v.Verify(r) != nil && v.Handshake(r) != nil {
			t.Fatalf("%s: a handshake that is not authentic", s.name)
		}
		v.Identity(r)
		damaged(t, s, v, body, at, mask)
	})
}

// damaged signs a body, changes one byte of it and wants that to be noticed.
func damaged(t *testing.T, s sample, v *Verifier, body []byte, at uint16, mask byte) {
	t.Helper()
	if s.change != nil || s.kind != "" || s.scheme == "linear" || len(body) == 0 || mask == 0 {
		return // those have rules for bodies
	}
	r := Request{Method: http.MethodPost, URL: testURL, Body: bytes.Clone(body), Now: testNow}
	private := s.private
	if private == "" {
		private = s.secret
	}
	if err := Sign(s.scheme, s.settings, private, &r, "m"); err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	if err := v.Verify(r); err != nil && !errors.Is(err, errBorder) {
		t.Fatalf("%s: what was signed is refused: %v", s.name, err)
	}
	r.Body[int(at)%len(body)] ^= mask
	if err := v.Verify(r); err == nil && !s.unbound {
		t.Fatalf("%s: a changed byte is not noticed", s.name)
	}
}

func parseLines(lines string) http.Header {
	header := http.Header{}
	for line := range strings.SplitSeq(lines, "\n") {
		if name, value, found := strings.Cut(line, ":"); found {
			header.Add(name, value)
		}
	}
	return header
}

// FuzzSignatureHeader reads lists of signatures.
func FuzzSignatureHeader(f *testing.F) {
	for _, value := range []string{
		"", "t=1700000000,v1=aa,v1=bb,v0=cc", "v1,aa v1a,bb v2,cc", "timestamp=1,signature=aa", "sha256=", "v1=,v1=, v1=a",
		strings.Repeat("v1=a,", 20), "t=1,t=2,v1=a", " , ,=,t", "sha256=zzzz,v1=zzzz",
	} {
		f.Add(value, ",", "v1=", "t")
		f.Add(value, " ", "v1,", "timestamp")
		f.Add(value, "", "", "")
	}
	f.Fuzz(func(t *testing.T, value, separator, prefix, name string) {
		sent, err := signatures(nil, value, separator, prefix)
		if (err == nil) != (len(sent) > 0) || len(sent) > maxSignatures {
			t.Fatalf("%d signatures: %v", len(sent), err)
		}
		for _, signature := range sent {
			if signature == "" || !strings.Contains(value, prefix+signature) {
				t.Fatalf("%q is not behind %q in %q", signature, prefix, value)
			}
			if separator != "" && strings.Contains(signature, separator) {
				t.Fatalf("%q has the separator %q", signature, separator)
			}
		}
		stamp, err := stampItem(value, separator, name)
		if err == nil && !strings.Contains(value, name+"="+stamp) && stamp != "" {
			t.Fatalf("the time stamp %q is not in %q", stamp, value)
		}
		if at, ok := instant(stamp, 0); ok && (at < 0 || strings.Trim(stamp, "0123456789") != "") {
			t.Fatalf("%q is read as %d", stamp, at)
		}
	})
}
