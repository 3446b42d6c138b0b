package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	apiPrefix = "/api/v1"

	defaultTimeout       = 60 * time.Second
	defaultRetries       = 2
	defaultStreamRetries = 10
	defaultStreamIdle    = 60 * time.Second
)

// Client calls one server with one key. Make it with New.
type Client struct {
	// Runs starts, reads and steers agent runs.
	Runs *RunsService
	// APIKeys manages keys; it needs the role admin.
	APIKeys *APIKeysService
	// Factories manages factories.
	Factories *FactoriesService
	// Agents manages the named configurations that runs go to.
	Agents *AgentsService
	// Definitions handles factories as folders of files.
	Definitions *DefinitionsService
	// Automations manages what starts runs in a factory.
	Automations *AutomationsService
	// Schedules manages what starts runs at given times.
	Schedules *SchedulesService
	// Environments manages what is made ready before agents start.
	Environments *EnvironmentsService
	// Skills lists the skills of repositories.
	Skills *SkillsService
	// Secrets manages the team's secrets; it needs the role admin.
	Secrets *SecretsService
	// Webhooks manages the addresses that deliveries are sent to.
	Webhooks *WebhooksService
	// Notifications manages the endpoints that get the state changes of runs.
	Notifications *NotificationsService
	// Conversations reads and continues what runs have said.
	Conversations *ConversationsService
	// Artifacts reads what runs have produced.
	Artifacts *ArtifactsService

	base          *url.URL
	key           hidden[string]
	http          *http.Client
	header        hidden[http.Header] // may be as secret as the key
	timeout       time.Duration
	maxAnswer     int64
	retries       int
	streamRetries int
	streamIdle    time.Duration
	backoff       backoff
	sleep         func(context.Context, time.Duration) error
	ownKey        string
	response      *Response
}

// New makes a client for the server at baseURL, with or without the path /api/v1,
// such as "https://lineshaft.example.com". The key starts with "ls_";
// `lineshaft apikey create` makes one. Nothing is sent yet.
func New(baseURL, apiKey string, opts ...Option) (*Client, error) {
	base, err := parseBase(baseURL)
	if err != nil {
		return nil, err
	}
	if apiKey == "" {
		return nil, errors.New("the API key is empty: make one with `lineshaft apikey create`")
	}
	if strings.ContainsFunc(apiKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the API key holds a space or another character that no key has: copy it again")
	}
	c := &Client{
		base:          base,
		key:           hide(apiKey),
		header:        hide(http.Header{"User-Agent": {"lineshaft-go"}}),
		timeout:       defaultTimeout,
		maxAnswer:     maxAnswerBytes,
		retries:       defaultRetries,
		streamRetries: defaultStreamRetries,
		streamIdle:    defaultStreamIdle,
		backoff:       defaultBackoff(),
		sleep:         sleep,
	}
	for _, opt := range opts {
		opt(c)
	}
	c.http = guardRedirects(c.http)
	c.bind()
	return c, nil
}

// With returns a client with further options for one call or for some: a time-out, a
// header, an Idempotency-Key, a place for the answer itself. The client that it
// comes from stays as it is, and both use the same connections.
func (c *Client) With(opts ...Option) *Client {
	changed := *c
	changed.header = hide(c.header().Clone())
	for _, opt := range opts {
		opt(&changed)
	}
	if changed.http != c.http {
		changed.http = guardRedirects(changed.http)
	}
	changed.bind()
	return &changed
}

// bind makes the services call through this client.
func (c *Client) bind() {
	c.Runs = &RunsService{c}
	c.APIKeys = &APIKeysService{c}
	c.Factories = &FactoriesService{c}
	c.Agents = &AgentsService{c}
	c.Definitions = &DefinitionsService{c}
	c.Automations = &AutomationsService{c}
	c.Schedules = &SchedulesService{c}
	c.Environments = &EnvironmentsService{c}
	c.Skills = &SkillsService{c}
	c.Secrets = &SecretsService{c}
	c.Webhooks = &WebhooksService{c}
	c.Notifications = &NotificationsService{c}
	c.Conversations = &ConversationsService{c}
	c.Artifacts = &ArtifactsService{c}
}

// CloseIdleConnections closes connections that are kept for later calls.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

func parseBase(baseURL string) (*url.URL, error) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the server address %q is not an http or https URL such as http://127.0.0.1:8484", clip(baseURL, 100))
	}
	if u.User != nil {
		return nil, errors.New("the server address holds a user name or password: give the API key by itself instead")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the server address holds a query or a fragment: leave out everything from ? or # on")
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = ""
	if !strings.HasSuffix(u.Path, apiPrefix) {
		u.Path += apiPrefix
	}
	return u, nil
}

// endpoint makes the full URL of a path below /api/v1, whose parts are escaped.
func (c *Client) endpoint(at place, query url.Values) (string, error) {
	if at.err != nil {
		return "", at.err
	}
	path := at.path
	rel, err := url.Parse(path)
	if err != nil || rel.IsAbs() || rel.Host != "" || !strings.HasPrefix(path, "/") {
		return "", &usageError{fmt.Sprintf("the path %q must start with one slash and be relative to %s", clip(path, 100), apiPrefix)}
	}
	full := *c.base
	full.Path = c.base.Path + rel.Path
	full.RawPath = c.base.EscapedPath() + rel.EscapedPath()
	full.RawQuery = rel.RawQuery
	if len(query) > 0 {
		full.RawQuery = strings.TrimPrefix(full.RawQuery+"&"+query.Encode(), "&")
	}
	return full.String(), nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func clip(s string, limit int) string {
	if runes := []rune(s); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return s
}
