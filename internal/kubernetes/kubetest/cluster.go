package kubetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Token opens the scripted API server.
const Token = "kubetest-token"

// history is how many events can be watched from; older ones are Gone.
const history = 1000

// Cluster is a scripted API server.
type Cluster struct {
	// URL is where it listens.
	URL string

	mu      sync.Mutex
	objects map[string]Object // by kind/name
	events  []event
	version int
	oldest  int
	changed chan struct{}
	denied  []string
	fault   func(r *http.Request) (status int, retryAfter string)
	asked   []string
	logs    map[string]string
}

type event struct {
	version int
	kind    string
	change  string
	object  Object
}

// New starts a scripted API server, which ends with the test.
func New(t *testing.T) *Cluster {
	c := &Cluster{objects: map[string]Object{}, changed: make(chan struct{}), version: 100, oldest: 100, logs: map[string]string{}}
	server := httptest.NewServer(http.HandlerFunc(c.serve))
	c.URL = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return c
}

// Fault is asked before every request; a status other than 0 is the answer.
func (c *Cluster) Fault(fault func(r *http.Request) (status int, retryAfter string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = fault
}

// Deny makes access reviews and requests refuse, such as "create jobs".
func (c *Cluster) Deny(what ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denied = what
}

// Forget makes watches from before now Gone.
func (c *Cluster) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	c.oldest, c.events = c.version, nil
	c.wake()
}

// SetLogs is what a container wrote.
func (c *Cluster) SetLogs(container, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logs[container] = text
}

// Asked lists the requests so far as method and path.
func (c *Cluster) Asked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.asked)
}

func (c *Cluster) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func refuse(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(status(code, reason, message)) // nobody reads it then
}

func status(code int, reason, message string) map[string]any {
	return map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message}
}

func answer(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

// serve answers /api/v1/namespaces/NS/KIND[/NAME[/SUB]] and the same below /apis.
func (c *Cluster) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.asked = append(c.asked, r.Method+" "+r.URL.Path)
	fault := c.fault
	c.mu.Unlock()
	if fault != nil {
		if code, after := fault(r); code != 0 {
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			refuse(w, code, http.StatusText(code), "scripted answer")
			return
		}
	}
	if r.Header.Get("Authorization") != "Bearer "+Token {
		refuse(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
		return
	}
	if strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews") {
		c.review(w, r)
		return
	}
	_, rest, ok := strings.Cut(r.URL.Path, "/namespaces/")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) < 2 {
		refuse(w, http.StatusNotFound, "NotFound", "the server could not find the requested resource")
		return
	}
	parts = append(parts, "", "")
	c.object(w, r, parts[1], parts[2], parts[3])
}

func (c *Cluster) review(w http.ResponseWriter, r *http.Request) {
	var in Object
	if json.NewDecoder(r.Body).Decode(&in) != nil {
		refuse(w, http.StatusBadRequest, "BadRequest", "no JSON")
		return
	}
	what := in.Text("spec.resourceAttributes.verb") + " " + in.Text("spec.resourceAttributes.resource")
	if sub := in.Text("spec.resourceAttributes.subresource"); sub != "" {
		what += "/" + sub
	}
	c.mu.Lock()
	in.set("status.allowed", !slices.Contains(c.denied, what))
	c.mu.Unlock()
	answer(w, http.StatusCreated, in)
}

func verb(r *http.Request, name string) string {
	switch {
	case r.URL.Query().Get("watch") == "true":
		return "watch"
	case r.Method == http.MethodGet && name == "":
		return "list"
	}
	return map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodDelete: "delete", http.MethodPatch: "patch"}[r.Method]
}

func (c *Cluster) object(w http.ResponseWriter, r *http.Request, kind, name, sub string) {
	does := verb(r, name)
	c.mu.Lock()
	denied := slices.Contains(c.denied, does+" "+kind)
	c.mu.Unlock()
	if denied {
		refuse(w, http.StatusForbidden, "Forbidden", fmt.Sprintf("%s is forbidden: User \"launcher\" cannot %s resource %q", kind, does, kind))
		return
	}
	switch {
	case does == "watch":
		c.watch(w, r, kind)
	case sub == "log":
		c.log(w, r)
	case sub == "binding":
		c.bind(w, r, name)
	default:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.change(w, r, does, kind, name)
	}
}

func (c *Cluster) log(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	text, ok := c.logs[r.URL.Query().Get("container")]
	c.mu.Unlock()
	if !ok {
		refuse(w, http.StatusBadRequest, "BadRequest", "container is waiting to start")
		return
	}
	if limit, err := strconv.Atoi(r.URL.Query().Get("limitBytes")); err == nil && len(text) > limit {
		text = text[:limit]
	}
	_, _ = io.WriteString(w, text)
}

func (c *Cluster) bind(w http.ResponseWriter, r *http.Request, name string) {
	var in Object
	c.mu.Lock()
	defer c.mu.Unlock()
	pod := c.objects["pods/"+name]
	if pod == nil || json.NewDecoder(r.Body).Decode(&in) != nil {
		refuse(w, http.StatusNotFound, "NotFound", fmt.Sprintf("pods %q not found", name))
		return
	}
	pod = pod.clone()
	pod.set("spec.nodeName", in.Text("target.name"))
	c.put("pods", pod, "MODIFIED")
	answer(w, http.StatusCreated, in)
}

// change carries out what is not a watch. The lock is held.
func (c *Cluster) change(w http.ResponseWriter, r *http.Request, does, kind, name string) {
	if does == "list" {
		var items []Object
		for key, o := range c.objects {
			if strings.HasPrefix(key, kind+"/") && o.selected(r.URL.Query().Get("labelSelector")) {
				items = append(items, o)
			}
		}
		answer(w, http.StatusOK, map[string]any{"metadata": map[string]any{"resourceVersion": strconv.Itoa(c.version)}, "items": items})
		return
	}
	if does == "create" {
		var in Object
		if json.NewDecoder(r.Body).Decode(&in) != nil {
			refuse(w, http.StatusBadRequest, "BadRequest", "no JSON")
			return
		}
		c.create(w, kind, in)
		return
	}
	o, ok := c.objects[kind+"/"+name]
	if !ok {
		refuse(w, http.StatusNotFound, "NotFound", fmt.Sprintf("%s %q not found", kind, name))
		return
	}
	switch does {
	case "delete":
		c.remove(kind, o, r.URL.Query().Get("gracePeriodSeconds") == "0")
	case "patch":
		var patch map[string]any
		if json.NewDecoder(r.Body).Decode(&patch) != nil {
			refuse(w, http.StatusBadRequest, "BadRequest", "no JSON")
			return
		}
		o = Object(merge(o.clone(), patch))
		c.put(kind, o, "MODIFIED")
	}
	answer(w, http.StatusOK, o)
}

func (c *Cluster) create(w http.ResponseWriter, kind string, in Object) {
	name := in.Text("metadata.name")
	if c.objects[kind+"/"+name] != nil {
		refuse(w, http.StatusConflict, "AlreadyExists", fmt.Sprintf("%s %q already exists", kind, name))
		return
	}
	if strings.Contains(fmt.Sprint(in.At("spec.template.spec.containers")), "NOT-VALID") {
		refuse(w, http.StatusUnprocessableEntity, "Invalid", "spec.template.spec.containers[0].image: Invalid value")
		return
	}
	c.version++
	in.set("metadata.uid", fmt.Sprintf("uid-%d", c.version))
	in.set("metadata.creationTimestamp", time.Now().UTC().Format(time.RFC3339))
	c.put(kind, in, "ADDED")
	answer(w, http.StatusCreated, in)
	c.control(kind, in)
}

// put stores an object and notifies the watches.
func (c *Cluster) put(kind string, o Object, change string) {
	c.version++
	o = o.clone()
	o.set("metadata.resourceVersion", strconv.Itoa(c.version))
	key := kind + "/" + o.Text("metadata.name")
	if c.objects[key] = o; change == "DELETED" {
		delete(c.objects, key)
	}
	c.events = append(c.events, event{c.version, kind, change, o})
	if len(c.events) > history {
		c.oldest, c.events = c.events[0].version, c.events[1:]
	}
	c.wake()
	if change != "ADDED" {
		c.control(kind, o)
	}
}

func (c *Cluster) watch(w http.ResponseWriter, r *http.Request, kind string) {
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	lines := json.NewEncoder(w)
	flush := http.NewResponseController(w)
	w.Header().Set("Content-Type", "application/json")
	for {
		c.mu.Lock()
		gone, changed := from < c.oldest, c.changed
		var fresh []event
		for _, e := range c.events {
			if e.version > from && e.kind == kind && e.object.selected(r.URL.Query().Get("labelSelector")) {
				fresh = append(fresh, e)
			}
		}
		newest := c.version
		c.mu.Unlock()
		if gone {
			_ = lines.Encode(map[string]any{"type": "ERROR", "object": status(http.StatusGone, "Expired", "too old resource version")})
			return
		}
		for _, e := range fresh {
			_ = lines.Encode(map[string]any{"type": e.change, "object": e.object})
		}
		if from = newest; r.URL.Query().Get("allowWatchBookmarks") == "true" {
			_ = lines.Encode(map[string]any{"type": "BOOKMARK", "object": Object{"metadata": map[string]any{"resourceVersion": strconv.Itoa(newest)}}})
		}
		if flush.Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
