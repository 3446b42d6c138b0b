package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/lineshaft/lineshaft/internal/pause"
)

// watchTime is how long the server keeps a watch open; it is then opened again.
const watchTime = 4 * time.Minute

// listPage is how many objects are read at once.
const listPage = 500

// watcher follows all objects of a kind that have our labels.
type watcher[T any] struct {
	client   *Client
	kind     resource
	selector string
	logger   *slog.Logger
	// all gets everything there is, after each listing.
	all func([]T)
	// one gets what was added or changed, or is gone.
	one  func(object T, gone bool)
	meta func(*T) *Meta
}

// run follows until ctx ends. It keeps asking a server that is unreachable; what
// happened meanwhile is read again.
func (w *watcher[T]) run(ctx context.Context) {
	var again pause.Backoff
	paused := false // since something was seen
	version := ""
	for ctx.Err() == nil {
		var err error
		if version == "" {
			version, err = w.list(ctx)
		} else {
			var seen bool
			version, seen, err = w.watch(ctx, version)
			if seen {
				again.Reset()
				paused = false
			}
		}
		if err == nil {
			continue
		}
		if hasCode(err, http.StatusGone) {
			version = "" // too long ago: the listing makes up for it
			if !paused {
				paused = true
				continue
			}
		}
		if ctx.Err() == nil {
			w.logger.WarnContext(ctx, "cannot watch the cluster", "kind", w.kind.name, "err", err)
			if final(err) {
				version = ""
			}
			paused = true
			again.Wait(ctx, asked(err))
		}
	}
}

// list passes on everything there is and returns the version to watch from.
func (w *watcher[T]) list(ctx context.Context) (version string, err error) {
	var items []T
	query := url.Values{"labelSelector": {w.selector}, "limit": {strconv.Itoa(listPage)}}
	for {
		var page list[T]
		if err := w.client.call(ctx, request{verb: "list", kind: w.kind, query: query}, &page); err != nil {
			return "", err
		}
		items = append(items, page.Items...)
		if page.Metadata.Continue == "" {
			w.all(items)
			return page.Metadata.ResourceVersion, nil
		}
		query.Set("continue", page.Metadata.Continue)
	}
}

// watch passes on changes until the server ends it, and returns the newest version that
// was seen, and whether anything was.
func (w *watcher[T]) watch(ctx context.Context, version string) (newest string, seen bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, watchTime+callTime)
	defer cancel()
	resp, err := w.client.open(ctx, request{verb: "watch", kind: w.kind, query: url.Values{
		"watch": {"true"}, "labelSelector": {w.selector}, "resourceVersion": {version}, "allowWatchBookmarks": {"true"},
		"timeoutSeconds": {strconv.Itoa(int(watchTime.Seconds()))},
	}})
	if err != nil {
		return version, false, err
	}
	defer func() { _ = resp.Body.Close() }()
	lines := json.NewDecoder(resp.Body)
	for {
		var event watchEvent
		if err := lines.Decode(&event); errors.Is(err, io.EOF) {
			return version, seen, nil
		} else if err != nil {
			return version, seen, fmt.Errorf("watch %s: the answer broke off: %w", w.kind.name, err)
		}
		if event.Type == "ERROR" {
			return version, seen, watchRefusal(w.kind, event.Object)
		}
		var object T
		if err := json.Unmarshal(event.Object, &object); err != nil {
			return "", seen, fmt.Errorf("watch %s: an object cannot be read", w.kind.name)
		}
		seen = true
		if now := w.meta(&object).ResourceVersion; now != "" {
			version = now
		}
		switch event.Type {
		case "ADDED", "MODIFIED":
			w.one(object, false)
		case "DELETED":
			w.one(object, true)
		}
	}
}

func watchRefusal(kind resource, raw []byte) error {
	var status Status
	if err := json.Unmarshal(raw, &status); err != nil {
		return fmt.Errorf("watch %s: the server broke it off", kind.name)
	}
	e := &APIError{Code: status.Code, Reason: status.Reason, Message: status.Message, call: "watch " + kind.name}
	if status.Details != nil {
		e.Wait = min(time.Duration(status.Details.RetryAfterSeconds)*time.Second, maxWait)
	}
	return e
}
