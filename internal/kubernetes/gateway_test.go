package kubernetes

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/gateway"
	"github.com/lineshaft/lineshaft/internal/model"
)

const (
	launchersKey = "sk-key-of-the-launcher-alone"
	runsKey      = "sk-key-of-this-run-alone"
)

// withModels puts the launcher's gateway in front of an endpoint that says which key it
// was called with, by the one it wants.
func (r *rig) withModels() {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		which := map[string]string{"Bearer " + launchersKey: "launcher's", "Bearer " + runsKey: "run's"}[q.Header.Get("Authorization")]
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"key":%q,"usage":{"input_tokens":1,"output_tokens":1}}`, which)
	}))
	r.t.Cleanup(upstream.Close)
	r.config.Gateway = gateway.New(gateway.Config{Models: model.Set{Endpoints: []model.Endpoint{{
		Name: "e", Protocol: model.OpenAI, URL: upstream.URL, Key: launchersKey, Models: []string{"m1"}, Prices: map[string]model.Price{"m1": {Input: 1, Output: 1}},
	}}}})
	r.t.Cleanup(r.config.Gateway.Close)
	r.config.GatewayURL = "http://launcher.test"
}

// values are those of the Secret of a job.
func (r *rig) values(job lineshaft.Job) map[string][]byte {
	r.t.Helper()
	r.pod(job)
	secret, err := r.admin.Get(r.ctx, "secrets", jobName(job.ExecutionID))
	if err != nil {
		r.t.Fatal(err)
	}
	data, _ := secret.At("data").(map[string]any)
	values := map[string][]byte{}
	for name, value := range data {
		if values[name], err = base64.StdEncoding.DecodeString(fmt.Sprint(value)); err != nil {
			r.t.Fatal(err)
		}
	}
	return values
}

// ask is a request of a pod to the launcher.
func ask(l *Launcher, address, key string) (int, string) {
	req := httptest.NewRequest(http.MethodPost, address, strings.NewReader(`{"model":"m1"}`))
	req.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	l.ServeHTTP(w, req)
	body, _ := io.ReadAll(w.Result().Body)
	return w.Code, string(body)
}

// TestX12NoModelKeyInAPod: pods reach the launcher's models with a key of their own, and
// neither the launcher's key nor one that the run names is shown to them.
func TestX12NoModelKeyInAPod(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*lineshaft.Job)
		answer string
	}{
		"the launcher's": {func(*lineshaft.Job) {}, "launcher's"},
		"the run's": {func(j *lineshaft.Job) {
			j.Config.Harness = &lineshaft.HarnessConfig{Type: "codex", Auth: &lineshaft.HarnessAuth{Source: lineshaft.AuthManagedSecret, SecretName: "KEY"}}
			j.ModelKey = runsKey
		}, "run's"},
		"the environment's": {func(j *lineshaft.Job) {
			j.Config.Harness = &lineshaft.HarnessConfig{Type: "codex", Auth: &lineshaft.HarnessAuth{Source: lineshaft.AuthWorkerEnvironment}}
		}, "run's"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.withModels()
			r.config.Getenv = func(name string) string { return map[string]string{"OPENAI_API_KEY": runsKey}[name] }
			first := r.launch()
			job := r.plane.queue(test.change)
			values := r.values(job)
			for _, key := range []string{launchersKey, runsKey} {
				if bytes.Contains(values[parcelKey], []byte(key)) {
					t.Errorf("the pod is shown %s", key)
				}
			}
			pod, err := r.admin.Get(r.ctx, "pods", r.pod(job))
			if err != nil || !strings.Contains(fmt.Sprint(pod.At("spec.volumes")), "items:[map[key:job path:job]]") {
				t.Errorf("the pod mounts %v, %v", pod.At("spec.volumes"), err)
			}
			parcel, err := readParcel(values[parcelKey])
			if err != nil || parcel.Models == nil || parcel.Job.ModelKey != "" || parcel.Job.Config.Harness != nil && parcel.Job.Config.Harness.Auth != nil {
				t.Fatalf("%+v %v", parcel, err)
			}
			endpoint := parcel.Models.Set().Endpoints[0]
			if endpoint.Models[0] != "m1" || endpoint.Prices["m1"].Input != 1 {
				t.Errorf("the pod knows of %+v", endpoint)
			}
			address := endpoint.URL + "/responses"
			expect := func(l *Launcher, address, key string, status int, text string) {
				t.Helper()
				if got, body := ask(l, address, key); got != status || !strings.Contains(body, text) || strings.Contains(body, "sk-key") {
					t.Errorf("%s: %d %s, want %d", address, got, body, status)
				}
			}
			expect(first, address, string(endpoint.Key), http.StatusOK, test.answer)
			expect(first, address, "lsx-guessed", http.StatusUnauthorized, "")
			expect(first, strings.Replace(address, job.ExecutionID, "exec-9", 1), string(endpoint.Key), http.StatusNotFound, "")
			expect(first, strings.Replace(address, "/openai/v1/responses", "/api/v1/agent/runs", 1), string(endpoint.Key), http.StatusNotFound, "")

			r.runs(job) // continues with the same key when another launcher takes it on
			r.stop(first)
			r.config.WorkerID = "farm/launcher2"
			second := r.launch()
			r.await("the session is open again", func() bool { status, _ := ask(second, address, string(endpoint.Key)); return status == http.StatusOK })
			expect(second, address, string(endpoint.Key), http.StatusOK, test.answer)
			r.status(r.pod(job), container("Failed", map[string]any{"terminated": map[string]any{"exitCode": 2, "reason": "Error"}}))
			r.result(job)
			r.await("the key is void", func() bool {
				status, _ := ask(second, address, string(endpoint.Key))
				return status == http.StatusNotFound
			})
		})
	}
}

// TestX12WithoutTheRunsKeyThereIsNoPod: a run that names a key which the launcher cannot
// have fails with what to do.
func TestX12WithoutTheRunsKeyThereIsNoPod(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.withModels()
	r.launch()
	job := r.plane.queue(func(j *lineshaft.Job) {
		j.Config.Harness = &lineshaft.HarnessConfig{Type: "codex", Auth: &lineshaft.HarnessAuth{Source: lineshaft.AuthWorkerEnvironment}}
	})
	if result := r.result(job); result.State != lineshaft.Failed || result.Code != lineshaft.CodeEnvironmentSetupFailed || !strings.Contains(result.Message, "OPENAI_API_KEY") {
		t.Errorf("%+v", result)
	}
	if r.count(createJob) != 0 {
		t.Error("a Job was made")
	}
}
