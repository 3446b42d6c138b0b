package web_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// raw asks without letting Go unpack what comes.
func (s *site) raw(path, encoding string) (*http.Response, string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", encoding)
	res, err := s.browser.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.Fatal(err)
	}
	return res, string(text)
}

func TestI2AssetsArePackedAndKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, _, login := s.get("/login")
	found := regexp.MustCompile(`/static/[a-z.]+\?v=[0-9a-f]{12}`).FindAllString(login, -1)
	if len(found) != 3 { // besides the type face
		t.Fatalf("the page loads %q", found)
	}
	for _, address := range found {
		plain, text := s.raw(address, "identity;q=1, gzip;q=0")
		packed, zipped := s.raw(address, "br, gzip")
		if plain.Header.Get("Content-Encoding") != "" || packed.Header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("%s: encodings %q and %q", address, plain.Header.Get("Content-Encoding"), packed.Header.Get("Content-Encoding"))
		}
		z, err := gzip.NewReader(strings.NewReader(zipped))
		if err != nil {
			t.Fatal(err)
		}
		if unpacked, err := io.ReadAll(z); err != nil || string(unpacked) != text || text == "" {
			t.Errorf("%s: unpacked it differs (%v)", address, err)
		}
		if kept := plain.Header.Get("Cache-Control"); !strings.Contains(kept, "immutable") {
			t.Errorf("%s is kept %q", address, kept)
		}
		if old, _ := s.raw(strings.Split(address, "?")[0]+"?v=000000000000", ""); strings.Contains(old.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s of another version is kept for ever", address)
		}
	}
	if res, _ := s.raw("/static/none.css", ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown asset: %d", res.StatusCode)
	}
}

// I-2: the type face is ours, small, loaded from the address that the style sheet names, and kept.
func TestI2TypeFaceIsServedFromHere(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, _, login := s.get("/login")
	face := regexp.MustCompile(`<link rel="preload" href="(/static/inter\.woff2\?v=[0-9a-f]{12})" as="font" type="font/woff2" crossorigin>`).FindStringSubmatch(login)
	style := regexp.MustCompile(`/static/lineshaft\.css\?v=[0-9a-f]{12}`).FindString(login)
	if face == nil {
		t.Fatal("the page names no type face")
	}
	if _, text := s.raw(style, "identity"); !strings.Contains(text, "font-display: swap; src: url("+face[1]+")") || strings.Contains(text, "url(inter") {
		t.Errorf("the style sheet does not name %s", face[1])
	}
	res, body := s.raw(face[1], "br, gzip")
	if res.Header.Get("Content-Type") != "font/woff2" || res.Header.Get("Content-Encoding") != "" || !strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("the type face comes with %v", res.Header)
	}
	if !strings.HasPrefix(body, "wOF2") || len(body) > 60_000 {
		t.Errorf("the type face has %d bytes and begins with %q", len(body), body[:min(len(body), 4)])
	}
	if res, text := s.raw("/static/inter-license.txt", ""); !strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") || !strings.Contains(text, "SIL OPEN FONT LICENSE") {
		t.Errorf("its licence is %v %q", res.Header, text)
	}
}

// I-2: the first load, with everything that the page needs, has at most 100 KB.
func TestI2FirstLoadIsSmall(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	s.start("hello")
	for _, path := range []string{"/", "/runs", "/login"} {
		_, document := s.raw(path, "gzip")
		_, _, text := s.get(path)
		weight := len(document)
		for _, address := range regexp.MustCompile(`(?:src|href)="(/static/[^"]+)"`).FindAllStringSubmatch(text, -1) {
			_, body := s.raw(address[1], "gzip")
			weight += len(body)
		}
		t.Logf("%s: %d bytes", path, weight)
		if weight > 100_000 {
			t.Errorf("%s weighs %d bytes", path, weight)
		}
	}
}
