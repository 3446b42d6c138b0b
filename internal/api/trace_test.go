package api

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/tracing"
	"github.com/lineshaft/lineshaft/internal/tracing/tracingtest"
)

const (
	clientTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	clientSpan   = "00f067aa0ba902b7"
	clientParent = "00-" + clientTrace + "-" + clientSpan + "-01"
)

// tracedServer is a server that traces, with what it makes.
func tracedServer(t *testing.T, tracer *tracing.Tracer) *bench {
	t.Helper()
	return newServerOn(t, base.Config{Lease: time.Minute, Git: scriptedGit{}, Tracer: tracer}, func(d *Deps) { d.Tracer = tracer })
}

// A caller that has proved who it is continues its own trace; so does the run.
func TestH10AuthenticatedCallersGoOnInTheirTrace(t *testing.T) {
	t.Parallel()
	tracer, spans := tracingtest.New()
	b := tracedServer(t, tracer)
	w := b.check(t, scenario{
		method: post, path: "/agent/runs", as: lineshaft.RoleMember, body: `{"prompt": "marker-of-the-prompt"}`, status: 200,
		header: map[string]string{"Traceparent": clientParent},
	})
	list := spans.Named("POST /api/v1/agent/runs")
	starts := spans.Named("start run")
	if len(list) != 1 || len(starts) != 1 || len(spans.All()) != 2 {
		t.Fatalf("%d spans", len(spans.All()))
	}
	request, start := list[0], starts[0]
	if request.TraceID() != clientTrace || request.ParentID() != clientSpan || len(request.Links()) != 0 || start.ParentID() != request.SpanID() {
		t.Errorf("request %v below %s", request.SpanContext(), request.ParentID())
	}
	if got := w.Header().Get("Traceparent"); got != "00-"+clientTrace+"-"+request.SpanID()+"-01" {
		t.Errorf("answered %q", got)
	}
	if request.Attribute("http.route") != "/api/v1/agent/runs" || request.Attribute("http.response.status_code") != "200" {
		t.Errorf("%v", request.Attributes())
	}
	if !strings.Contains(b.log.String(), `"trace_id":"`+clientTrace+`"`) {
		t.Error("the log line has another trace")
	}
	for _, span := range spans.All() {
		for _, kv := range span.Attributes() {
			if strings.Contains(kv.Value.String(), "marker") {
				t.Errorf("%s has the prompt", span.Name())
			}
		}
	}
}

// A caller without proof is linked to: neither its trace nor its wish to be kept counts.
func TestH10StrangersAreLinked(t *testing.T) {
	t.Parallel()
	tracer, spans := tracingtest.New()
	b := tracedServer(t, tracer)
	for _, sc := range []scenario{
		{method: post, path: "/agent/runs", body: `{}`, status: 401},
		{method: get, path: "/agent/runs/x?token=marker", header: map[string]string{"Authorization": "Bearer ls_wrong"}, status: 401},
		{method: get, path: Prefix + "/nowhere/marker", status: 404},
	} {
		if sc.header == nil {
			sc.header = map[string]string{}
		}
		sc.header["Traceparent"] = clientParent
		w := b.check(t, sc)
		list := spans.All()
		span := list[len(list)-1]
		if span.TraceID() == clientTrace || len(span.Links()) != 1 || span.Links()[0].SpanContext.TraceID().String() != clientTrace || strings.Contains(span.Name(), "marker") {
			t.Errorf("%s: %q in trace %s with %d links", sc.path, span.Name(), span.TraceID(), len(span.Links()))
		}
		if tracing.TraceIDOf(w.Header().Get("Traceparent")) != span.TraceID() {
			t.Errorf("%s: answered %q", sc.path, w.Header().Get("Traceparent"))
		}
		var doc struct {
			TraceID string `json:"trace_id"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || w.Code == 404 && doc.TraceID != span.TraceID() {
			t.Errorf("%s: the problem has trace %q, %v", sc.path, doc.TraceID, err)
		}
	}
	unsampled, none := tracingtest.Unsampled()
	b = tracedServer(t, unsampled)
	w := b.check(t, scenario{method: get, path: "/agent/runs", status: 401, header: map[string]string{"Traceparent": clientParent}})
	if n := len(none.All()); n != 0 || !strings.HasSuffix(w.Header().Get("Traceparent"), "-00") {
		t.Errorf("a stranger had %d spans kept, answered %q", n, w.Header().Get("Traceparent"))
	}
	b.check(t, scenario{method: get, path: "/agent/runs", as: lineshaft.RoleViewer, status: 200, header: map[string]string{"Traceparent": clientParent}})
	if n := len(none.All()); n != 1 {
		t.Errorf("of a caller that is known, %d spans", n)
	}
}

// A failed request names its trace in the problem document, and one without a
// traceparent has a trace of its own.
func TestH4ProblemsNameTheTrace(t *testing.T) {
	t.Parallel()
	tracer, spans := tracingtest.New()
	b := tracedServer(t, tracer)
	w := b.check(t, scenario{method: get, path: "/agent/runs/0199a0b0-0000-7000-8000-000000000000", as: lineshaft.RoleViewer, status: 404})
	span := spans.All()[0]
	if span.Name() != "GET /api/v1/agent/runs/{runId}" || !strings.Contains(w.Body.String(), `"trace_id":"`+span.TraceID()+`"`) || len(span.Links()) != 0 {
		t.Errorf("%q, %s", span.Name(), w.Body)
	}
}

// An agent that says nothing of traces is in that of its run.
func TestI5AgentsAreInTheTraceOfTheirRun(t *testing.T) {
	t.Parallel()
	tracer, spans := tracingtest.New()
	b := tracedServer(t, tracer)
	b.key(lineshaft.RoleRun)
	start := spans.Named("start run")[0]
	b.check(t, scenario{method: post, path: "/agent/runs", as: lineshaft.RoleRun, body: `{"prompt": "child"}`, status: 200})
	list := spans.Named("start run")
	if len(list) != 2 || list[1].TraceID() != start.TraceID() {
		t.Errorf("%d starts", len(list))
	}
}

// An agent may say where in its run's trace it is, but not put its children elsewhere.
func TestI5AgentsStayInTheTraceOfTheirRun(t *testing.T) {
	t.Parallel()
	tracer, spans := tracingtest.New()
	b := tracedServer(t, tracer)
	b.key(lineshaft.RoleRun)
	trace := spans.Named("start run")[0].TraceID()
	for i, given := range []string{clientParent, "00-" + trace + "-" + clientSpan + "-01"} {
		b.check(t, scenario{
			method: post, path: "/agent/runs", as: lineshaft.RoleRun, body: `{"prompt": "child"}`, status: 200,
			header: map[string]string{"Traceparent": given},
		})
		requests := spans.Named("POST /api/v1/agent/runs")
		starts := spans.Named("start run")
		if request := requests[i]; request.TraceID() != trace || starts[i+1].TraceID() != trace || (request.ParentID() == clientSpan) != (i == 1) {
			t.Errorf("%s: in %s below %s", given, request.TraceID(), request.ParentID())
		}
	}
}

// Requests that machines make every few seconds make no spans, unless they are a part of something.
func TestI5PollsAreQuiet(t *testing.T) {
	t.Parallel()
	tracer, spans := tracingtest.New()
	b := tracedServer(t, tracer)
	for _, path := range []string{"/healthz", "/readyz", Prefix + "/worker/heartbeat"} {
		w := b.do(t, scenario{method: get, path: path})
		if got := w.Header().Get("Traceparent"); len(spans.All()) != 0 || !strings.HasSuffix(got, "-00") || tracing.Sane(got) == "" {
			t.Errorf("%s: %d spans, answered %q", path, len(spans.All()), got)
		}
	}
}
