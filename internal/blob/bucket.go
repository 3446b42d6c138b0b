package blob

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

// BucketConfig says where a bucket is.
type BucketConfig struct {
	// URL is the server, the bucket and what names begin with:
	// https://s3.example.com/bucket/prefix.
	URL string
	// Region is part of the signature; default us-east-1, which most servers take.
	Region string
	// KeyID and Secret sign the requests.
	KeyID  string
	Secret lineshaft.SecretText
	// Client sends the requests; default one that waits 60 s for an answer.
	Client *http.Client
	// Now is the clock of the signatures; default time.Now.
	Now func() time.Time
}

// Bucket keeps blobs as objects of an S3-compatible server.
type Bucket struct {
	config BucketConfig
	base   *url.URL
}

const (
	defaultRegion = "us-east-1"
	answerTime    = 60 * time.Second
	// errorBytes is how much of an error's text is shown.
	errorBytes = 512
)

// NewBucket checks the settings; it sends nothing.
func NewBucket(config BucketConfig) (*Bucket, error) {
	base, err := url.Parse(config.URL)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" || strings.Trim(base.Path, "/") == "" || base.RawQuery != "" || base.User != nil {
		return nil, fmt.Errorf("bucket %q is not an address such as https://s3.example.com/bucket", config.URL)
	}
	if strings.Trim(base.Path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._~-") != "" {
		return nil, fmt.Errorf("bucket %q: the path may have letters, digits and / . _ ~ - only", config.URL)
	}
	if config.KeyID == "" || config.Secret == "" {
		return nil, errors.New("a bucket needs a key id and its secret")
	}
	config.Region = cmp.Or(config.Region, defaultRegion)
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Client == nil {
		transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: answerTime, MaxIdleConnsPerHost: 8, IdleConnTimeout: answerTime}
		config.Client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	base.Path = strings.TrimRight(base.Path, "/")
	return &Bucket{config: config, base: base}, nil
}

// Put stores what r yields. It goes through a temporary file: the length and the
// digest have to be known before the first byte is sent.
func (b *Bucket) Put(ctx context.Context, name string, r io.Reader) error {
	f, err := os.CreateTemp("", "lineshaft-blob-*")
	if err != nil {
		return fmt.Errorf("put blob: %w", err)
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}()
	digest := sha256.New()
	size, err := io.Copy(io.MultiWriter(f, digest), r)
	if err != nil {
		return fmt.Errorf("put blob: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("put blob: %w", err)
	}
	res, err := b.send(ctx, http.MethodPut, name, io.NopCloser(f), size, hex.EncodeToString(digest.Sum(nil)))
	if err != nil {
		return fmt.Errorf("put blob: %w", err)
	}
	return res.Body.Close()
}

// Open reads a blob.
func (b *Bucket) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	res, err := b.send(ctx, http.MethodGet, name, nil, 0, emptyDigest)
	if err != nil {
		return nil, fmt.Errorf("open blob: %w", err)
	}
	return res.Body, nil
}

// Delete removes a blob; one that is not there is no error.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	res, err := b.send(ctx, http.MethodDelete, name, nil, 0, emptyDigest)
	switch {
	case lineshaft.CodeOf(err) == lineshaft.CodeNotFound:
		return nil
	case err != nil:
		return fmt.Errorf("delete blob: %w", err)
	}
	return res.Body.Close()
}

// send makes one request; an answer other than 2xx is an error.
func (b *Bucket) send(ctx context.Context, method, name string, body io.Reader, size int64, digest string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, b.base.JoinPath(name).String(), body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = size
	if size == 0 {
		req.Body = http.NoBody
	}
	b.sign(req, digest)
	res, err := b.config.Client.Do(req)
	if err != nil {
		return nil, lineshaft.Unavailable(err, "the blob store does not answer; try again")
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	text, _ := io.ReadAll(io.LimitReader(res.Body, errorBytes)) // it only says more
	_ = res.Body.Close()
	err = fmt.Errorf("%s: %q", res.Status, text)
	switch {
	case res.StatusCode == http.StatusNotFound && !strings.Contains(string(text), "NoSuchBucket"):
		return nil, lineshaft.NotFound("blob", name)
	case res.StatusCode >= http.StatusInternalServerError || res.StatusCode == http.StatusTooManyRequests:
		return nil, lineshaft.Unavailable(err, "the blob store is unavailable; try again")
	}
	return nil, err
}
