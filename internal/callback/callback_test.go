package callback_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/callback"
	"github.com/lineshaft/lineshaft/internal/signature"
)

const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

func call(url string) lineshaft.Callback {
	return lineshaft.Callback{URL: url, ID: "01980f72-4455-7667-8899-aabbccddeeff", Time: time.Now(), Body: []byte(`{"type":"run.state_changed"}`), Secrets: []string{secret}}
}

func send(t *testing.T, s *callback.Sender, c lineshaft.Callback) lineshaft.CallbackResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return s.Send(ctx, c)
}

func local() *callback.Sender {
	return callback.New(callback.Config{AllowPrivate: true, Version: "1.2.3"})
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// What is sent verifies with each secret, as a receiver does it.
func TestC1RequestsAreSigned(t *testing.T) {
	t.Parallel()
	const older = "whsec_YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODk="
	var got *http.Request
	var body []byte
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusNoContent)
	})
	c := call(url + "/hook?x=1")
	c.Secrets, c.TraceParent = []string{secret, older}, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	result := send(t, local(), c)
	if !result.Delivered() || result.StatusCode != http.StatusNoContent || result.Error != "" || result.Took <= 0 {
		t.Fatalf("%+v", result)
	}
	if got.Method != http.MethodPost || got.URL.String() != "/hook?x=1" || !bytes.Equal(body, c.Body) {
		t.Errorf("%s %s: %s", got.Method, got.URL, body)
	}
	for name, want := range map[string]string{
		"webhook-id": c.ID, "webhook-timestamp": strconv.FormatInt(c.Time.Unix(), 10), "Content-Type": "application/json", "User-Agent": "lineshaft/1.2.3", "traceparent": c.TraceParent,
	} {
		if got.Header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Header.Get(name), want)
		}
	}
	for _, key := range c.Secrets {
		v, err := signature.New("standard_webhooks", signature.HMAC{}, key)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Verify(signature.Request{Method: "POST", URL: url, Header: got.Header, Body: body, Now: time.Now()}); err != nil {
			t.Errorf("it does not verify: %v", err)
		}
	}
	if n := len(strings.Fields(got.Header.Get("Webhook-Signature"))); n != 2 {
		t.Errorf("%d signatures", n)
	}
	for _, none := range []string{"Cookie", "Authorization", "Referer"} {
		if got.Header.Get(none) != "" {
			t.Errorf("%s is sent", none)
		}
	}
}

// Of an answer its status is told and nothing else.
func TestC1Answers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status    int
		after     string
		delivered bool
		wait      time.Duration
	}{
		{200, "", true, 0},
		{299, "", true, 0},
		{301, "", false, 0},
		{400, "", false, 0},
		{410, "", false, 0},
		{429, "120", false, 2 * time.Minute},
		{503, "7", false, 7 * time.Second},
		{503, "-7", false, 0},
		{503, "soon", false, 0},
		{503, "99999999999999999999", false, 0},
		{500, "120", false, 0},
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", tc.after)
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(tc.status)
			fmt.Fprint(w, "a secret of the receiver")
		})
		result := send(t, local(), call(url))
		if result.StatusCode != tc.status || result.Delivered() != tc.delivered || result.RetryAfter != tc.wait || (result.Error == "") != tc.delivered {
			t.Errorf("%+v: %+v", tc, result)
		}
		if strings.Contains(result.Error, "secret") {
			t.Errorf("the answer is told: %s", result.Error)
		}
	}
	late := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	if wait := send(t, local(), call(late)).RetryAfter; wait < 59*time.Minute || wait > time.Hour {
		t.Errorf("a date became %s", wait)
	}
}

// A redirect is an answer like any other; where it leads is not asked.
func TestS7RedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	inside := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside, status) })
		result := send(t, local(), call(url))
		if result.Delivered() || result.StatusCode != status || !strings.Contains(result.Error, "redirects are not followed") {
			t.Errorf("%d: %+v", status, result)
		}
	}
	if asked.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

// Addresses that tell by themselves that they are private are refused before anybody is
// asked, and when they are sent to.
func TestS7PrivateTargetsAreRefused(t *testing.T) {
	t.Parallel()
	strict := callback.New(callback.Config{})
	for _, host := range []string{
		"127.0.0.1", "127.1.2.3", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "0.1.2.3", "192.0.0.8", "198.18.0.1", "240.0.0.1",
		"255.255.255.255", "224.0.0.1", "[::1]", "[::]", "[::127.0.0.1]", "[::ffff:127.0.0.1]", "[::ffff:169.254.169.254]", "[::ffff:0:127.0.0.1]", "[fe80::1]", "[fe80::1%25lo]",
		"[fd00::1]", "[fec0::1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2002:a9fe:a9fe::1]", "[2001::1]", "localhost", "LOCALHOST.", "a.localhost",
		"2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.1", "127.0.1", "1.2.3.256", "1.2.3.4.5", "example.1", "example.0x1", ".",
	} {
		for _, port := range []string{"", ":8443"} {
			url := "https://" + host + port + "/hook"
			err := strict.Check(url)
			if lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest || err == nil {
				t.Errorf("%s passes: %v", url, err)
			}
			if result := send(t, strict, call(url)); result.Delivered() || result.Error == "" || result.StatusCode != 0 {
				t.Errorf("%s was sent to: %+v", url, result)
			}
		}
	}
	for _, url := range []string{"https://example.com/", "https://8.8.8.8/", "https://[2606:4700::1111]:8443/", "https://1password.example.com/", "https://4.example/", "https://a.b.c0x/"} {
		if err := strict.Check(url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	if err := strict.Check("http://example.com/"); err == nil || !strings.Contains(err.Error(), "https") {
		t.Errorf("http passes: %v", err)
	}
	if err := callback.New(callback.Config{AllowPrivate: true}).Check("http://127.0.0.1:99/"); err != nil {
		t.Errorf("it was allowed: %v", err)
	}
}

// A name that first stands for a public address and then for a private one gets nobody
// inside: the address that is dialled is the one that is checked.
func TestS7NamesThatChangeTheirAddress(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			reached.Add(1)
			conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for _, addresses := range [][]string{
		{"192.0.2.1", "127.0.0.1"}, {"127.0.0.1"}, {"169.254.169.254"}, {"::1"}, {"::ffff:127.0.0.1"}, {"64:ff9b::7f00:1"},
	} {
		names := newNames(t, addresses...)
		s := callback.New(callback.Config{Resolve: names.lookup})
		// Whatever was learned of the name before has no say.
		if _, err := names.resolver().LookupHost(t.Context(), "rebind.example"); err != nil {
			t.Fatal(err)
		}
		result := send(t, s, call("https://rebind.example:"+port+"/hook"))
		if result.Delivered() || !strings.Contains(result.Error, "--callback-allow-private") {
			t.Errorf("%v: %+v", addresses, result)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d connections came in", n)
	}
	names := newNames(t, "127.0.0.1")
	allowed := callback.New(callback.Config{Resolve: names.lookup, AllowPrivate: true})
	if result := send(t, allowed, call("http://rebind.example:"+port+"/")); result.Delivered() || reached.Load() == 0 {
		t.Errorf("the name server of this test leads nowhere: %+v", result)
	}
}

// names is a name server that answers with its addresses one after the other, and with
// the last one from then on.
type names struct {
	conn net.PacketConn
	all  []netip.Addr
	next atomic.Int32
}

func newNames(t *testing.T, addresses ...string) *names {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &names{conn: conn}
	for _, text := range addresses {
		n.all = append(n.all, netip.MustParseAddr(text))
	}
	t.Cleanup(func() { conn.Close() })
	go n.serve()
	return n
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", n.conn.LocalAddr().String())
	}}
}

func (n *names) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return n.resolver().LookupNetIP(ctx, "ip", host)
}

func (n *names) serve() {
	packet := make([]byte, 1500)
	for {
		size, from, err := n.conn.ReadFrom(packet)
		if err != nil {
			return
		}
		_, _ = n.conn.WriteTo(n.answer(packet[:size]), from)
	}
}

// answer has one record for a question of the kind that the address is of.
func (n *names) answer(query []byte) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	question := query[12 : end+5]
	kind := query[end+2]
	addr := n.all[min(int(n.next.Load()), len(n.all)-1)]
	out := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
	data := addr.AsSlice()
	if wanted := map[int]byte{4: 1, 16: 28}[len(data)]; kind != wanted {
		return out
	}
	n.next.Add(1)
	out[7] = 1
	out = append(out, 0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 0, 0, byte(len(data)))
	return append(out, data...)
}

// A receiver cannot keep a request beyond its time, however it goes about it, nor make
// the server read much.
func TestC1SlowAndEndlessAnswers(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	slow := serve(t, func(http.ResponseWriter, *http.Request) { <-hang })
	t.Cleanup(func() { close(hang) }) // before the server waits for it
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if result := local().Send(ctx, call(slow)); result.Delivered() || result.Error != "it did not answer in time" || result.Took > 5*time.Second {
		t.Errorf("%+v", result)
	}
	var written atomic.Int64
	endless := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		chunk := bytes.Repeat([]byte("x"), 64<<10)
		for written.Load() < 1<<30 {
			n, err := w.Write(chunk)
			written.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	if result := send(t, local(), call(endless)); !result.Delivered() {
		t.Errorf("%+v", result)
	}
	if got := written.Load(); got > 64<<20 {
		t.Errorf("%d bytes were taken", got)
	}
	huge := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Much", strings.Repeat("x", 1<<20)) })
	if result := send(t, local(), call(huge)); result.Delivered() || len(result.Error) > 300 {
		t.Errorf("%+v", result)
	}
}

// raw answers each connection with a text and then says nothing.
func raw(t *testing.T, text string) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, text)
		}
	}()
	return "http://" + listener.Addr().String()
}

// A receiver that changes the protocol and falls silent is not waited for.
func TestC1SwitchingProtocolsIsAFailure(t *testing.T) {
	t.Parallel()
	url := raw(t, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	done := make(chan lineshaft.CallbackResult, 1)
	go func() { done <- send(t, local(), call(url)) }()
	select {
	case result := <-done:
		if result.Delivered() || result.StatusCode != http.StatusSwitchingProtocols || !strings.Contains(result.Error, "101") {
			t.Errorf("%+v", result)
		}
	case <-time.After(time.Minute):
		t.Fatal("it hangs")
	}
}

// What a receiver writes is in no error, however it writes it.
func TestS2NothingOfAnAnswerIsTold(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nbad header line hunter2\r\n\r\n",
		"HTTP/1.1 hunter2 OK\r\n\r\n",
		"hunter2 ready\r\n\r\n",
		"HTTP/1.1 302 Found\r\nLocation: http://[hunter2\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: hunter2\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: hunter2\r\n\r\n",
	} {
		result := send(t, local(), call(raw(t, text)))
		if result.Delivered() || result.Error == "" || strings.Contains(result.Error, "hunter2") {
			t.Errorf("%q: %+v", text, result)
		}
	}
	gone := net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("resolver 10.0.0.2 is gone")
	}}
	lost := callback.New(callback.Config{AllowPrivate: true, Resolve: func(ctx context.Context, host string) ([]netip.Addr, error) { return gone.LookupNetIP(ctx, "ip", host) }})
	if result := send(t, lost, call("http://away.example/")); result.Error != "its name could not be looked up" {
		t.Errorf("%+v", result)
	}
}

// A callback to a webhook of this very server would make runs without end.
func TestC1OwnWebhooksAreNoTargets(t *testing.T) {
	t.Parallel()
	s := callback.New(callback.Config{AllowPrivate: true, Own: func() []string {
		return []string{"https://Lineshaft.example/webhooks/w/", "http://10.0.0.1:8080/base/webhooks/w/"}
	}})
	for url, refused := range map[string]bool{
		"https://lineshaft.example/webhooks/w/abc": true, "https://LINESHAFT.example.:443/webhooks/w/abc?x=1": true, "https://lineshaft.example/x/../webhooks//w/abc": true,
		"https://lineshaft.example/%77ebhooks/w/abc": true, "http://10.0.0.1:8080/base/webhooks/w/abc": true,
		"https://lineshaft.example/other": false, "https://lineshaft.example:8443/webhooks/w/abc": false, "https://other.example/webhooks/w/abc": false,
	} {
		if err := s.Check(url); (err != nil) != refused {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// Errors say what is wrong, without the address, whose query may be secret.
func TestC1ErrorsAreShort(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(untrusted.Close)
	for url, want := range map[string]string{
		closed.URL + "/?token=hidden":    "refused",
		untrusted.URL + "/?token=hidden": "certificate",
		"gopher://x/?token=hidden":       "must begin with https://",
	} {
		result := send(t, local(), call(url))
		if result.Delivered() || !strings.Contains(result.Error, want) || strings.Contains(result.Error, "hidden") || len(result.Error) > 300 {
			t.Errorf("%s: %+v", url, result)
		}
	}
	c := call(closed.URL)
	c.Secrets = nil
	if result := send(t, local(), c); !strings.Contains(result.Error, "secret") {
		t.Errorf("without a secret: %+v", result)
	}
}

// A proxy of the environment is not used: it would be what is dialled and checked.
func TestS7ProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	var asked atomic.Int32
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("http_proxy", proxy)
	s := callback.New(callback.Config{AllowPrivate: true, Resolve: newNames(t, "127.0.0.1").lookup})
	if result := send(t, s, call("http://away.example:1/")); result.Delivered() || asked.Load() != 0 {
		t.Errorf("%+v, the proxy was asked %d times", result, asked.Load())
	}
}
