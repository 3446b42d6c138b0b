package blob_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/blob"
)

// The account of the published examples.
const (
	exampleKey    = "AKIAIOSFODNN7EXAMPLE"
	exampleSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
)

// bucketServer is a server with one bucket that takes requests of one account only.
type bucketServer struct {
	mu      sync.Mutex
	objects map[string][]byte
	fail    int // status to answer with; 0 is none
}

func (s *bucketServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential="+exampleKey+"/") || !strings.HasPrefix(r.URL.Path, "/bucket/runs/") {
		http.Error(w, "<Code>AccessDenied</Code>", http.StatusForbidden)
		return
	}
	if s.fail != 0 {
		http.Error(w, "<Code>SlowDown</Code>", s.fail)
		return
	}
	body, there := s.objects[r.URL.Path]
	switch {
	case r.Method == http.MethodPut:
		if r.ContentLength < 0 {
			http.Error(w, "<Code>MissingContentLength</Code>", http.StatusLengthRequired)
			return
		}
		s.objects[r.URL.Path], _ = io.ReadAll(r.Body)
	case r.Method == http.MethodDelete:
		delete(s.objects, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	case there:
		_, _ = w.Write(body)
	default:
		http.Error(w, "<Code>NoSuchKey</Code>", http.StatusNotFound)
	}
}

func TestX4BucketRoundTrip(t *testing.T) {
	t.Parallel()
	rows := &bucketServer{objects: map[string][]byte{}}
	server := httptest.NewServer(rows)
	t.Cleanup(server.Close)
	b, err := blob.NewBucket(blob.BucketConfig{URL: server.URL + "/bucket/runs/", KeyID: exampleKey, Secret: exampleSecret})
	if err != nil {
		t.Fatal(err)
	}
	roundTrip(t, b)
	rows.mu.Lock()
	rows.fail = http.StatusServiceUnavailable
	rows.mu.Unlock()
	if err := b.Put(t.Context(), "a", strings.NewReader("x")); lineshaft.CodeOf(err) != lineshaft.CodeUnavailable {
		t.Errorf("a server that is not well: %v", err)
	}
	server.Close()
	if _, err := b.Open(t.Context(), "a"); lineshaft.CodeOf(err) != lineshaft.CodeUnavailable || strings.Contains(err.Error(), exampleSecret) {
		t.Errorf("a server that is away: %v", err)
	}
}

// The published examples of version 4 signatures for S3: what this signs, a real
// server accepts.
func TestX4BucketSignatures(t *testing.T) {
	t.Parallel()
	at := func() time.Time { return time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC) }
	b, err := blob.NewBucket(blob.BucketConfig{URL: "https://examplebucket.s3.amazonaws.com/x", KeyID: exampleKey, Secret: exampleSecret, Now: at})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		method, path, digest string
		headers              map[string]string
		signature            string
	}{
		{
			http.MethodGet, "/test.txt", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
			map[string]string{"Range": "bytes=0-9"},
			"f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
		},
		{
			http.MethodPut, "/test%24file.text", "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
			map[string]string{"Date": "Fri, 24 May 2013 00:00:00 GMT", "X-Amz-Storage-Class": "REDUCED_REDUNDANCY"},
			"98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
		},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tc.method, "https://examplebucket.s3.amazonaws.com"+tc.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range tc.headers {
			req.Header.Set(name, value)
		}
		blob.Sign(b, req, tc.digest)
		if got := req.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+tc.signature) {
			t.Errorf("%s %s: %s", tc.method, tc.path, got)
		}
	}
}

func TestX4BucketSettings(t *testing.T) {
	t.Parallel()
	good := blob.BucketConfig{URL: "https://s3.example.com/bucket", KeyID: "k", Secret: "s"}
	if _, err := blob.NewBucket(good); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*blob.BucketConfig){
		func(c *blob.BucketConfig) { c.URL = "https://s3.example.com" },
		func(c *blob.BucketConfig) { c.URL = "s3://bucket" },
		func(c *blob.BucketConfig) { c.URL = "https://user@s3.example.com/bucket" },
		func(c *blob.BucketConfig) { c.URL = "https://s3.example.com/a bucket" },
		func(c *blob.BucketConfig) { c.URL = "https://s3.example.com/bucket?x=1" },
		func(c *blob.BucketConfig) { c.KeyID = "" },
		func(c *blob.BucketConfig) { c.Secret = "" },
	} {
		config := good
		change(&config)
		if _, err := blob.NewBucket(config); err == nil {
			t.Errorf("%+v was taken", config)
		}
	}
}
