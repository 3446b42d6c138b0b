package ingress_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

func packed(tb testing.TB, body string) string {
	tb.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, body); err != nil {
		tb.Fatal(err)
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// sized is a JSON string of that many bytes.
func sized(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }

// chunks hides the length of a body, so that it is sent in chunks.
type chunks struct{ io.Reader }

func TestW6SizeAtItsEdge(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		const limit = 262_144
		w := g.hook(factories.NewWebhook{RateLimit: number(0)})
		small := g.hook(factories.NewWebhook{Name: "small", MaxBodyBytes: number(10)})
		zip := http.Header{"Content-Encoding": {"gzip"}}
		for name, tc := range map[string]struct {
			s      sending
			status int
		}{
			"at the limit":           {sending{body: sized(limit)}, 202},
			"one more":               {sending{body: sized(limit + 1)}, 413},
			"in chunks":              {sending{raw: chunks{strings.NewReader(sized(limit - 1))}}, 202},
			"in chunks, one more":    {sending{raw: chunks{strings.NewReader(sized(limit + 1))}}, 413},
			"packed":                 {sending{body: packed(t, sized(limit-2)), header: zip}, 202},
			"packed, but longer":     {sending{body: framed(t, sized(limit)), header: zip}, 202},
			"framed, one more":       {sending{body: framed(t, sized(limit+1)), header: zip}, 413},
			"packed, one more":       {sending{body: packed(t, sized(limit+1)), header: zip}, 413},
			"a bomb":                 {sending{body: packed(t, sized(100<<20)), header: zip}, 413},
			"not packed":             {sending{body: "{}", header: zip}, 400},
			"packed and cut":         {sending{body: packed(t, sized(5000))[:30], header: zip}, 400},
			"packed large and noisy": {sending{body: packed(t, noise(300_000)), header: zip}, 413},
			"another encoding":       {sending{body: "{}", header: http.Header{"Content-Encoding": {"br"}}}, 400},
			"ten bytes":              {sending{path: path(small.UID), token: small.Secret, body: sized(10)}, 202},
			"eleven bytes":           {sending{path: path(small.UID), token: small.Secret, body: sized(11)}, 413},
		} {
			if tc.s.path == "" {
				tc.s.path, tc.s.token = path(w.UID), w.Secret
			}
			g.wants(name, g.send(tc.s), tc.status)
		}
		if d := g.newest(small.UID); d.Status != lineshaft.DeliveryAccepted && d.Status != lineshaft.DeliveryRejectedSize {
			g.Errorf("%+v", d)
		}
		// Without a token the size is not even checked.
		g.wants("large and unknown", g.send(sending{path: path(w.UID), body: sized(limit + 1)}), http.StatusUnauthorized)
	})
}

// framed is gzip without packing, which makes a text longer.
func framed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil || b.Len() <= len(text) {
		t.Fatal(b.Len(), err)
	}
	return b.String()
}

// Forms are answered with what to change.
func TestW6FormsAreNamed(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		w := g.hook(factories.NewWebhook{RateLimit: number(0)})
		for body, form := range map[string]bool{"payload=%7B%7D": true, "AccountSid=AC1&Body=hi+there": true, "not JSON": false, `{"a"=1}`: false, "=": false, "": false} {
			a := g.send(sending{path: path(w.UID), token: w.Secret, body: body})
			g.wants(body, a, http.StatusBadRequest)
			if strings.Contains(a.body, "application/json in the sender") != form {
				g.Errorf("%q: %s", body, a.body)
			}
		}
	})
}

func noise(n int) string {
	var b strings.Builder
	state := uint32(1)
	for b.Len() < n {
		state = state*1664525 + 1013904223
		b.WriteByte(byte('!' + state>>24%90))
	}
	return b.String()
}

// The body as it was sent is what is stored, also when it came packed.
func TestW13PayloadIsByteForByte(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		w := g.hook(factories.NewWebhook{})
		body := "\t{\"b\" : 1.0, \"a\": \"\\u00e9\", \"a\":2}\r\n"
		plain := g.deliveryID(g.send(sending{path: path(w.UID), token: w.Secret, body: body, header: http.Header{"X-Service-Delivery-Id": {"1"}}}))
		zipped := g.deliveryID(g.send(sending{
			path: path(w.UID), token: w.Secret, body: packed(t, body),
			header: http.Header{"X-Service-Delivery-Id": {"2"}, "Content-Encoding": {"gzip"}},
		}))
		for _, deliveryID := range []string{plain, zipped} {
			if got, err := g.store.GetPayload(g.Context(), deliveryID); err != nil || string(got) != body {
				g.Errorf("%q, %v", got, err)
			}
		}
	})
}

// A sender that stops in the middle loses nothing of ours and gets nothing started.
func TestW6CutBodies(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		w := g.hook(factories.NewWebhook{})
		for _, request := range []string{
			"Content-Length: 100\r\n\r\n{\"a\":",
			"Transfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":",
			"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}",
		} {
			conn, err := (&net.Dialer{Timeout: 30 * time.Second}).DialContext(g.Context(), "tcp", strings.TrimPrefix(g.url, "http://"))
			if err != nil {
				g.Fatal(err)
			}
			if _, err := io.WriteString(conn, "POST "+path(w.UID)+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+w.Secret+"\r\n"+request); err != nil {
				g.Fatal(err)
			}
			half, ok := conn.(*net.TCPConn)
			if !ok {
				g.Fatalf("%T", conn)
			}
			if err := half.CloseWrite(); err != nil {
				g.Fatal(err)
			}
			answer, err := io.ReadAll(conn)
			if err != nil || strings.Contains(string(answer), " 202 ") || !strings.Contains(string(answer), " 400 ") {
				g.Errorf("%q: %s, %v", request, answer, err)
			}
			_ = conn.Close()
		}
		for _, d := range g.rows(w.UID) {
			if d.Status != lineshaft.DeliveryRejectedJSON || len(d.Outcomes) != 1 || d.Outcomes[0].RunID != "" || d.Outcomes[0].Reason == "" {
				g.Errorf("%+v", d)
			}
		}
	})
}
