package kubernetes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/internal/pause"
)

const (
	// callTime bounds one call that is not a watch.
	callTime = 15 * time.Second
	// maxAnswer bounds what is read of an answer.
	maxAnswer = 64 << 20
	// maxWait bounds how long a busy server may ask us to wait.
	maxWait = 30 * time.Second
)

// Client calls the API of a cluster, in one namespace.
type Client struct {
	server    string
	namespace string
	http      *http.Client
	token     func() (string, error)
}

// Namespace is where everything is made.
func (c *Client) Namespace() string { return c.namespace }

// APIError is the cluster's own description of a failed call.
type APIError struct {
	// Code is the HTTP status, Reason the API's word for it.
	Code    int
	Reason  string
	Message string
	// Wait is how long the server asks us to wait before the next try.
	Wait time.Duration
	// call is what was asked, for people.
	call string
}

// Error implements error.
func (e *APIError) Error() string {
	text := cmp.Or(e.Message, http.StatusText(e.Code))
	if e.Code == http.StatusForbidden {
		return fmt.Sprintf("the cluster does not allow to %s: %s; add this to the Role of the launcher's service account", e.call, text)
	}
	return fmt.Sprintf("%s: the cluster answered %d: %s", e.call, e.Code, text)
}

func hasCode(err error, code int) bool {
	e, ok := errors.AsType[*APIError](err)
	return ok && e.Code == code
}

// final says that the same call would be refused again.
func final(err error) bool {
	e, ok := errors.AsType[*APIError](err)
	return ok && e.Code >= 400 && e.Code < 500 && e.Code != http.StatusTooManyRequests && e.Code != http.StatusRequestTimeout && e.Code != http.StatusUnauthorized
}

// request is one call.
type request struct {
	verb string // as RBAC says it
	kind resource
	name string
	sub  string
	// cluster is set for what is in no namespace.
	cluster bool
	query   url.Values
	in      any
}

// resource is a kind of object.
type resource struct{ group, version, name string }

func jobsKind() resource     { return resource{"batch", "v1", "jobs"} }
func podsKind() resource     { return resource{"", "v1", "pods"} }
func secretsKind() resource  { return resource{"", "v1", "secrets"} }
func policiesKind() resource { return resource{"networking.k8s.io", "v1", "networkpolicies"} }

func (r request) method() string {
	switch r.verb {
	case "create":
		return http.MethodPost
	case "delete":
		return http.MethodDelete
	default:
		return http.MethodGet
	}
}

func (r request) path(namespace string) string {
	path := "/api/" + r.kind.version
	if r.kind.group != "" {
		path = "/apis/" + r.kind.group + "/" + r.kind.version
	}
	if !r.cluster {
		path += "/namespaces/" + namespace
	}
	path += "/" + r.kind.name
	for _, part := range []string{r.name, r.sub} {
		if part != "" {
			path += "/" + part
		}
	}
	if len(r.query) > 0 {
		path += "?" + r.query.Encode()
	}
	return path
}

// String says what is asked, in the words of a Role.
func (r request) String() string {
	what := r.kind.name
	if r.sub != "" {
		what += "/" + r.sub
	}
	if r.kind.group != "" {
		what += "." + r.kind.group
	}
	return r.verb + " " + what
}

// call makes one request and reads its answer into out.
func (c *Client) call(ctx context.Context, r request, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	resp, err := c.open(ctx, r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%s: read the answer: %w", r, err)
	}
	if out == nil {
		return nil
	}
	if raw, ok := out.(*[]byte); ok {
		*raw = data
		return nil
	}
	if json.Unmarshal(data, out) != nil {
		return fmt.Errorf("%s: the answer is not that of a Kubernetes API server", r) // the reason could quote a secret
	}
	return nil
}

// open makes a request and returns its answer if it is a good one.
func (c *Client) open(ctx context.Context, r request) (*http.Response, error) {
	var body io.Reader
	if r.in != nil {
		raw, err := json.Marshal(r.in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r, err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, r.method(), c.server+r.path(c.namespace), body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	req.Header.Set("Accept", "application/json, */*")
	req.Header.Set("User-Agent", "lineshaft")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	token, err := c.token()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	return nil, refusal(r, resp)
}

func refusal(r request, resp *http.Response) error {
	e := &APIError{Code: resp.StatusCode, call: r.String()}
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what is missing is only words
	var status Status
	if json.Unmarshal(data, &status) == nil {
		e.Reason, e.Message = status.Reason, status.Message
		if status.Details != nil {
			e.Wait = time.Duration(status.Details.RetryAfterSeconds) * time.Second
		}
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		e.Wait = time.Duration(seconds) * time.Second
	}
	e.Wait = min(max(e.Wait, 0), maxWait)
	return e
}

// persist makes a call until it works, is refused for good, or ctx ends.
func persist(ctx context.Context, call func(context.Context) error) error {
	var again pause.Backoff
	for {
		err := call(ctx)
		if err == nil || final(err) {
			return err
		}
		if !again.Wait(ctx, asked(err)) {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// asked is how long the server wants us to wait; 0 if it did not say.
func asked(err error) time.Duration {
	if e, ok := errors.AsType[*APIError](err); ok {
		return e.Wait
	}
	return 0
}

func (c *Client) createJob(ctx context.Context, job *Job) (*Job, error) {
	return made(ctx, c, jobsKind(), job.Metadata.Name, job)
}

func (c *Client) createSecret(ctx context.Context, s *Secret) (*Secret, error) {
	return made(ctx, c, secretsKind(), s.Metadata.Name, s)
}

// made creates an object. An existing one of that name is from an earlier try, whose answer
// was lost: names are those of executions, and nobody else uses them.
func made[T any](ctx context.Context, c *Client, kind resource, name string, object *T) (*T, error) {
	out := new(T)
	err := c.call(ctx, request{verb: "create", kind: kind, in: object}, out)
	if hasCode(err, http.StatusConflict) {
		err = c.call(ctx, request{verb: "get", kind: kind, name: name}, out)
	}
	return out, err
}

// deleteJob ends a Job with its pod; it is not an error if the Job is gone.
func (c *Client) deleteJob(ctx context.Context, name string) error {
	return c.delete(ctx, request{kind: jobsKind(), name: name, query: url.Values{"propagationPolicy": {"Foreground"}}})
}

func (c *Client) deleteSecret(ctx context.Context, name string) error {
	return c.delete(ctx, request{kind: secretsKind(), name: name})
}

func (c *Client) delete(ctx context.Context, r request) error {
	r.verb = "delete"
	if err := c.call(ctx, r, nil); !hasCode(err, http.StatusNotFound) {
		return err
	}
	return nil
}

// logs reads the end of what a container wrote.
func (c *Client) logs(ctx context.Context, pod, container string) (string, error) {
	var raw []byte
	query := url.Values{"container": {container}, "tailLines": {"100"}, "limitBytes": {strconv.Itoa(logBytes)}}
	err := c.call(ctx, request{verb: "get", kind: podsKind(), name: pod, sub: "log", query: query}, &raw)
	return strings.ToValidUTF8(string(raw), "\uFFFD"), err
}
