package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/workerwire"
)

var errIdle = errors.New("nothing moved for too long")

// Upload implements worker.Control. The content is sent as it is read; when reading
// fails the request is cut off, and the server stores nothing.
func (c *Client) Upload(ctx context.Context, ref lineshaft.ExecutionRef, upload lineshaft.Upload, content io.Reader) (string, error) {
	header, err := workerwire.EncodeUpload(workerwire.UploadRequest{
		Process: c.process(), ExecutionRef: ref, Upload: upload,
	})
	if err != nil {
		return "", err
	}
	moving, watch := watched(ctx)
	defer watch.stop()
	body := &movingReader{r: content, watch: watch}
	var out workerwire.UploadAnswer
	err = c.exchangeContent(moving, header, body, &out)
	if failed := body.failure(); failed != nil {
		return "", failed // it is the content's fault, not the server's
	}
	c.noted(ctx, err)
	return out.BlobID, err
}

func (c *Client) exchangeContent(ctx context.Context, header string, body io.Reader, out *workerwire.UploadAnswer) error {
	resp, err := c.send(ctx, workerwire.PathUpload, body, http.Header{
		"Content-Type": {"application/octet-stream"}, workerwire.HeaderUpload: {header},
		// A server that refuses does so before the content is on its way.
		"Expect": {"100-continue"},
	})
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	return decode(workerwire.PathUpload, resp, out)
}

// Download implements worker.Control. An answer that is cut off ends with an error.
func (c *Client) Download(ctx context.Context, ref lineshaft.ExecutionRef, blobID string) (io.ReadCloser, error) {
	moving, watch := watched(ctx)
	body, err := encode(workerwire.DownloadRequest{Process: c.process(), ExecutionRef: ref, BlobID: blobID})
	if err != nil {
		watch.stop()
		return nil, err
	}
	resp, err := c.send(moving, workerwire.PathDownload, body, http.Header{"Content-Type": {"application/json"}}) //nolint:bodyclose // the caller closes it
	c.noted(ctx, err)
	if err != nil {
		watch.stop()
		return nil, err
	}
	return &download{movingReader: movingReader{r: resp.Body, watch: watch}, body: resp.Body}, nil
}

type download struct {
	movingReader
	body io.Closer
}

// Close implements io.Closer.
func (d *download) Close() error {
	defer d.watch.stop()
	return d.body.Close()
}

// watchdog ends a transfer that stands still.
type watchdog struct {
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

func watched(ctx context.Context) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &watchdog{timer: time.AfterFunc(idleTime, func() { cancel(errIdle) }), cancel: cancel}
}

func (w *watchdog) moved() { w.timer.Reset(idleTime) }

func (w *watchdog) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// movingReader tells the watchdog of everything that is read, and remembers why
// reading failed.
type movingReader struct {
	r     io.Reader
	watch *watchdog

	mu  sync.Mutex
	err error
}

// Read implements io.Reader.
func (m *movingReader) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.watch.moved()
	if err != nil && !errors.Is(err, io.EOF) {
		m.mu.Lock()
		m.err = err
		m.mu.Unlock()
	}
	return n, err
}

func (m *movingReader) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}
