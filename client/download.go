package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// open asks for a file, with retries until it begins to come. The timeout covers the
// beginning alone; readers may take their time.
func (c *Client) open(ctx context.Context, at place) (io.ReadCloser, error) {
	target, err := c.endpoint(at, nil)
	if err != nil {
		return nil, err
	}
	var file *download
	err = c.retrying(ctx, true, func() (err error) {
		file, err = c.begin(ctx, at.path, target)
		return err
	})
	if err != nil {
		return nil, err
	}
	return file, nil
}

func (c *Client) begin(ctx context.Context, path, target string) (*download, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	if c.timeout > 0 {
		timer := time.AfterFunc(c.timeout, func() { cancel(context.DeadlineExceeded) })
		defer timer.Stop()
	}
	resp, err := c.send(ctx, http.MethodGet, target, nil, http.Header{"Accept": {"*/*"}})
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		cancel(nil)
		return nil, &transportError{op: "GET " + path, err: err}
	}
	if resp.StatusCode != http.StatusOK {
		defer cancel(nil)
		defer resp.Body.Close()
		return nil, c.readError(http.MethodGet, path, resp)
	}
	c.keep(resp, nil)
	return &download{ReadCloser: resp.Body, path: path, cancel: cancel}, nil
}

// download is a file that is being read.
type download struct {
	io.ReadCloser
	path   string
	cancel context.CancelCauseFunc
}

func (d *download) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &transportError{op: "GET " + d.path + ": read the file", err: err}
	}
	return n, err
}

// Close frees the connection, whatever is left to read.
func (d *download) Close() error {
	defer d.cancel(nil)
	return d.ReadCloser.Close()
}
