package app_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// A request whose length can be read in two ways is refused, and what follows it on the
// connection is not taken for another one (H-3).
func TestH3AmbiguousFramingIsRefused(t *testing.T) {
	t.Parallel()
	a := start(t, settings(t), options(t, nil))
	host := strings.TrimPrefix(a.URL(), "http://")
	inner := "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, request := range map[string]string{
		"two lengths":             "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}" + inner,
		"no number":               "Content-Length: +2\r\n\r\n{}" + inner,
		"coding with a space":     "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + inner,
		"unknown coding":          "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + inner,
		"two codings":             "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + inner,
		"header with a bare line": "X: a\rContent-Length: 5\r\n\r\n" + inner,
		"2 MB of headers":         "X: " + strings.Repeat("x", 2<<20) + "\r\n\r\n",
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		go func() { _, _ = fmt.Fprintf(conn, "POST /api/v1/agent/runs HTTP/1.1\r\nHost: x\r\n%s", request) }()
		in := bufio.NewReader(conn)
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			continue // cut off, as the server may
		}
		_ = answer.Body.Close()
		if answer.StatusCode < 400 || answer.StatusCode >= 600 || !answer.Close {
			t.Errorf("%s: %s, closed %v", name, answer.Status, answer.Close)
		}
	}
}
