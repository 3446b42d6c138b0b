package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Whoami is what a key is.
type Whoami struct {
	Principal   Principal `json:"principal"`
	Role        string    `json:"role"`
	Permissions []string  `json:"permissions,omitempty"`
	KeyID       string    `json:"key_id,omitempty"`
	// RunID is the run whose token the key is.
	RunID  string    `json:"run_id,omitempty"`
	Limits KeyLimits `json:"limits"`
}

// KeyLimits is what a key is limited to.
type KeyLimits struct {
	// FactoryUIDs are the factories that it reaches; empty means all.
	FactoryUIDs []string `json:"factory_uids,omitempty"`
	// WorkerIDs are the ids that a worker key may claim runs for.
	WorkerIDs []string `json:"worker_ids,omitempty"`
	// RequestsPerMinute is zero when there is no limit.
	RequestsPerMinute int `json:"requests_per_minute,omitempty"`
}

// Whoami asks the server who the key belongs to and what it may do.
func (c *Client) Whoami(ctx context.Context) (*Whoami, error) {
	return get[Whoami](ctx, c, "/whoami", nil)
}

// AuditQuery selects a page of the audit log.
type AuditQuery struct {
	Limit  int
	Cursor string
}

// AuditEntry tells who did what to which thing, from where.
type AuditEntry struct {
	ID         string            `json:"id"`
	Time       time.Time         `json:"time"`
	Actor      Principal         `json:"actor"`
	KeyID      string            `json:"key_id,omitempty"`
	Action     string            `json:"action"`
	TargetType string            `json:"target_type,omitempty"`
	TargetID   string            `json:"target_id,omitempty"`
	RemoteAddr string            `json:"remote_addr,omitempty"`
	RequestID  string            `json:"request_id,omitempty"`
	Detail     map[string]string `json:"detail,omitempty"`
}

// AuditPage is one page of the audit log, newest first.
type AuditPage struct {
	Entries  []AuditEntry `json:"entries"`
	PageInfo PageInfo     `json:"page_info"`
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

// Models is what this server can run.
type Models struct {
	DefaultModelID string        `json:"default_model_id"`
	Models         []Model       `json:"models"`
	Harnesses      []HarnessInfo `json:"harnesses,omitempty"`
}

// HarnessInfo tells whether this server can run a kind of agent.
type HarnessInfo struct {
	Type      string `json:"type"`
	Available bool   `json:"available"`
	// Problem is what is missing.
	Problem string `json:"problem,omitempty"`
}

// Model is one language model.
type Model struct {
	ID              string `json:"id"`
	DisplayName     string `json:"display_name"`
	Provider        string `json:"provider"`
	Description     string `json:"description,omitempty"`
	VisionSupported bool   `json:"vision_supported"`
	ReasoningLevel  string `json:"reasoning_level,omitempty"`
	// DisableReason says why it cannot be used now; empty when it can.
	DisableReason string `json:"disable_reason,omitempty"`
}

// Models lists what this server can run.
func (c *Client) Models(ctx context.Context) (*Models, error) {
	return get[Models](ctx, c, "/agent/models", nil)
}

// Worker is a connected worker id; several processes may share it.
type Worker struct {
	WorkerHost      string    `json:"worker_host"`
	ConnectionCount int       `json:"connection_count"`
	ConnectedAt     time.Time `json:"connected_at"`
	LastSeenAt      time.Time `json:"last_seen_at"`
	// Capacity is how many runs it takes at once, Load how many it has.
	Capacity int `json:"capacity"`
	Load     int `json:"load"`
	// Labels are what its processes say about their machines, each KEY=VALUE.
	Labels []string `json:"labels"`
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
