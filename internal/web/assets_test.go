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
	if len(found) != 3 {
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
