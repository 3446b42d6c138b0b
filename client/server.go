package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
)

// Whoami asks the server who the key belongs to and what it may do.
func (c *Client) Whoami(ctx context.Context) (*Whoami, error) {
	return get[Whoami](ctx, c, "/whoami", nil)
}

// AuditQuery selects a page of the audit log.
type AuditQuery struct {
	Limit  int
	Cursor string
}

// Audit reads one page of the audit log; it needs the role admin.
func (c *Client) Audit(ctx context.Context, q AuditQuery) (*AuditPage, error) {
	query := url.Values{}
	setLimit(query, q.Limit)
	if q.Cursor != "" {
		query.Set("cursor", q.Cursor)
	}
	return get[AuditPage](ctx, c, "/audit", query)
}

// AllAudit goes through the audit log, page by page, newest first.
func (c *Client) AllAudit(ctx context.Context, q AuditQuery) iter.Seq2[AuditEntry, error] {
	return pages(q.Cursor, func(cursor string) ([]AuditEntry, PageInfo, error) {
		q.Cursor = cursor
		page, err := c.Audit(ctx, q)
		if err != nil {
			return nil, PageInfo{}, err
		}
		return page.Entries, page.PageInfo, nil
	})
}

// EgressRanges lists the networks that the server's agents connect from, as far as
// the server knows.
func (c *Client) EgressRanges(ctx context.Context) ([]string, error) {
	out, err := get[struct {
		CIDRs []string `json:"cidrs"`
	}](ctx, c, "/networking/egress-ranges", nil)
	if err != nil {
		return nil, err
	}
	return out.CIDRs, nil
}

// Models lists what this server can run.
func (c *Client) Models(ctx context.Context) (*Models, error) {
	return get[Models](ctx, c, "/agent/models", nil)
}

// Workers lists the workers that are connected now.
func (c *Client) Workers(ctx context.Context) ([]Worker, error) {
	out, err := get[struct {
		Workers []Worker `json:"workers"`
	}](ctx, c, "/agent/connected-self-hosted-workers", nil)
	if err != nil {
		return nil, err
	}
	return out.Workers, nil
}

func get[T any](ctx context.Context, c *Client, path string, query url.Values) (*T, error) {
	var out T
	return result(&out, c.do(ctx, call{method: http.MethodGet, path: path, query: query, out: &out, replay: true}))
}
