package runs

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
)

// Download is what a signed download link leads to.
type Download struct {
	// Kind is transcript, artifact or attachment.
	Kind string
	ID   string
}

// loadSignKey reads the key of download links, which all nodes share.
func (s *Runs) loadSignKey(ctx context.Context) error {
	return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		key, err := tx.EnsureSetting(ctx, "download_key", id.Secret(32))
		s.signKey = []byte(key)
		return err
	})
}

// SignDownload makes the token of a link that works without a key for a while.
func (s *Runs) SignDownload(kind, id string, ttl time.Duration) (string, time.Time) {
	expires := s.Store.Now().Add(ttl).Truncate(time.Second)
	text := fmt.Sprintf("%s.%s.%d", kind, id, expires.Unix())
	return base64.RawURLEncoding.EncodeToString([]byte(text + "." + s.sign(text))), expires
}

func (s *Runs) sign(text string) string {
	mac := hmac.New(sha256.New, s.signKey)
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// OpenDownload checks a link's token.
func (s *Runs) OpenDownload(_ context.Context, token string) (Download, error) {
	bad := &lineshaft.Error{Code: lineshaft.CodeNotFound, Message: "this download link is not valid or has expired; ask for a new one"}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil {
		return Download{}, bad
	}
	cut := bytes.LastIndexByte(raw, '.')
	if cut < 0 {
		return Download{}, bad
	}
	text, mac := string(raw[:cut]), string(raw[cut+1:])
	if !hmac.Equal([]byte(mac), []byte(s.sign(text))) {
		return Download{}, bad
	}
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return Download{}, bad
	}
	expires, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || s.Store.Now().Unix() >= expires {
		return Download{}, bad
	}
	return Download{Kind: parts[0], ID: parts[1]}, nil
}

// Transcript reads all events behind a transcript link; the link is the permission.
func (s *Runs) Transcript(ctx context.Context, runID string, after int64, limit int) (EventPage, error) {
	return s.eventPage(ctx, runID, after, limit)
}

// OpenBlob reads a blob; the caller has checked the permission.
func (s *Runs) OpenBlob(ctx context.Context, blobID string) (io.ReadCloser, error) {
	return s.Store.OpenBlob(ctx, blobID)
}

// ArtifactByLink reads an artifact behind a download link; the link is the permission.
func (s *Runs) ArtifactByLink(ctx context.Context, uid string) (*lineshaft.Artifact, error) {
	return s.Store.GetArtifact(ctx, uid)
}
