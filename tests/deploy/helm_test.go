package deploy_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/goccy/go-yaml"
)

const chart = "deploy/helm/lineshaft"

// render fills the templates of the chart as Helm does, with the few functions that they use.
func render(t *testing.T, changes map[string]any) (string, error) {
	t.Helper()
	return renderFiles(t, changes, ".yaml")
}

// renderFiles fills the templates with that ending.
func renderFiles(t *testing.T, changes map[string]any, ending string) (string, error) {
	t.Helper()
	var values, about map[string]any
	for text, into := range map[string]*map[string]any{"values.yaml": &values, "Chart.yaml": &about} {
		if err := yaml.Unmarshal([]byte(read(t, chart+"/"+text)), into); err != nil {
			t.Fatal(err)
		}
	}
	merge(values, changes)
	all := template.New("chart").Option("missingkey=error")
	all.Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var out bytes.Buffer
			err := all.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
		"nindent": func(n int, text string) string {
			return "\n" + strings.Repeat(" ", n) + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+strings.Repeat(" ", n))
		},
		"toYaml": func(value any) (string, error) {
			out, err := yaml.Marshal(value)
			return strings.TrimSpace(string(out)), err
		},
		"quote":      func(value any) string { return fmt.Sprintf("%q", fmt.Sprint(value)) },
		"trunc":      func(n int, text string) string { return text[:min(n, len(text))] },
		"trimSuffix": func(suffix, text string) string { return strings.TrimSuffix(text, suffix) },
		"default": func(usual, value any) any {
			if value == nil || value == "" {
				return usual
			}
			return value
		},
		"required": func(why string, value any) (any, error) {
			if value == nil || value == "" {
				return nil, errors.New(why)
			}
			return value, nil
		},
	})
	files, err := filepath.Glob(filepath.Join(root, chart, "templates/*"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all.ParseFiles(files...); err != nil {
		t.Fatal(err)
	}
	data := map[string]any{
		"Values": values, "Chart": map[string]any{"AppVersion": about["appVersion"]},
		"Release": map[string]any{"Name": "works", "Namespace": "lineshaft", "Service": "Helm"},
	}
	var out strings.Builder
	for _, file := range files {
		if filepath.Ext(file) == ending {
			if ending == ".yaml" {
				out.WriteString("\n---\n")
			}
			if err := all.ExecuteTemplate(&out, filepath.Base(file), data); err != nil {
				return "", err
			}
		}
	}
	return out.String(), nil
}

func merge(into, changes map[string]any) {
	for key, value := range changes {
		inner, isMap := value.(map[string]any)
		if there, ok := into[key].(map[string]any); ok && isMap {
			merge(there, inner)
			continue
		}
		into[key] = value
	}
}

type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Spec       map[string]any
}

func objects(t *testing.T, text string) (found []object) {
	t.Helper()
	for _, document := range strings.Split(text, "\n---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		var o object
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if o.APIVersion == "" || o.Kind == "" || o.Metadata.Name == "" {
			t.Errorf("not an object: %s", document)
		}
		found = append(found, o)
	}
	return found
}

// everything switches on all that the chart can make.
func everything() map[string]any {
	on := func(more map[string]any) map[string]any {
		all := map[string]any{"enabled": true}
		maps.Copy(all, more)
		return all
	}
	return map[string]any{
		"baseURL": "https://l.example.com", "autoscaling": on(nil), "launcher": on(nil), "trustedProxies": []string{"10.0.0.0/8"},
		"ingress":          on(map[string]any{"host": "l.example.com", "className": "nginx", "tlsSecret": "tls", "annotations": map[string]any{"a": "b"}}),
		"serviceMonitor":   on(map[string]any{"keySecret": "metrics"}),
		"networkPolicy":    on(map[string]any{"from": []any{map[string]any{"podSelector": map[string]any{}}}}),
		"imagePullSecrets": []any{map[string]any{"name": "registry"}}, "extraEnv": []any{map[string]any{"name": "LINESHAFT_EGRESS", "value": "none"}},
		"nodeSelector": map[string]any{"a": "b"}, "tolerations": []any{map[string]any{"key": "x"}}, "affinity": map[string]any{"nodeAffinity": map[string]any{}},
	}
}

// TestI6HelmChart renders the chart and looks at what comes out.
func TestI6HelmChart(t *testing.T) {
	t.Parallel()
	if _, err := render(t, nil); err == nil || !strings.Contains(err.Error(), "baseURL is needed") {
		t.Errorf("without baseURL: %v", err)
	}
	for name, tc := range map[string]struct {
		values map[string]any
		kinds  string
	}{
		"usual":      {map[string]any{"baseURL": "https://l.example.com"}, "Deployment NetworkPolicy PodDisruptionBudget Service"},
		"everything": {everything(), "Deployment Deployment HorizontalPodAutoscaler Ingress NetworkPolicy PodDisruptionBudget Role RoleBinding Service Service ServiceAccount ServiceMonitor"},
	} {
		text, err := render(t, tc.values)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var kinds []string
		for _, o := range objects(t, text) {
			kinds = append(kinds, o.Kind)
			if o.Kind == "Deployment" {
				hardened(t, o)
			}
		}
		slices.Sort(kinds)
		if got := strings.Join(kinds, " "); got != tc.kinds {
			t.Errorf("%s: %s, want %s\n%s", name, got, tc.kinds, text)
		}
	}
}

// workers that keep prepared environments on nodes are off by default. They have a folder of the node, which
// only one of them uses at a time, and the rights to isolate agents and to mount.
func TestX14HelmNodeWorkers(t *testing.T) {
	t.Parallel()
	values := nodeWorkers()
	text, err := render(t, values)
	if err != nil {
		t.Fatal(err)
	}
	var found []object
	for _, o := range objects(t, text) {
		if o.Kind == "DaemonSet" {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d workers in\n%s", len(found), text)
	}
	out, err := yaml.Marshal(found[0].Spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"path: /srv/lineshaft", "type: DirectoryOrCreate", "mountPath: /data", "--data-dir=/data", "--environment-cache=50GB",
		"--isolation=bubblewrap", "--server=http://works:80", "privileged: true", "automountServiceAccountToken: false", "maxSurge: 0",
		"pool: agents", "name: lineshaft-node-worker",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("there is no %s:\n%s", want, out)
		}
	}
	selects(t, found[0])
}

// nodeWorkers are values with workers on nodes.
func nodeWorkers() map[string]any {
	return map[string]any{"baseURL": "https://l.example.com", "nodeWorkers": map[string]any{
		"enabled": true, "hostPath": "/srv/lineshaft", "nodeSelector": map[string]any{"pool": "agents"},
		"tolerations": []any{map[string]any{"key": "agents"}},
	}}
}

// hardened holds a Deployment to what the guide promises.
func hardened(t *testing.T, o object) {
	t.Helper()
	out, err := yaml.Marshal(o.Spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"runAsNonRoot: true", "runAsUser: 64320", "readOnlyRootFilesystem: true", "allowPrivilegeEscalation: false", "RuntimeDefault", "ALL"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s has no %s:\n%s", o.Metadata.Name, want, out)
		}
	}
	selects(t, o)
	if !strings.HasSuffix(o.Metadata.Name, "launcher") && (!strings.Contains(string(out), "/readyz") || !strings.Contains(string(out), "/healthz")) {
		t.Errorf("%s has no probes", o.Metadata.Name)
	}
}

// selects wants an object to select its own pods, and those of its release alone.
func selects(t *testing.T, o object) {
	t.Helper()
	selector, _ := o.Spec["selector"].(map[string]any)
	wanted, _ := selector["matchLabels"].(map[string]any)
	pod, _ := o.Spec["template"].(map[string]any)
	metadata, _ := pod["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	for key, value := range wanted {
		if labels[key] != value || len(wanted) < 2 {
			t.Errorf("%s selects %s=%v, its pods have %v", o.Metadata.Name, key, value, labels)
		}
	}
}

// TestI6HelmNotes: what people read after the installation fits the values that they gave.
func TestI6HelmNotes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		values     map[string]any
		has, lacks string
	}{
		"usual":      {map[string]any{"baseURL": "https://l.example.com"}, "port-forward service/works 8484:80", "start as Jobs"},
		"everything": {everything(), "Runs with the worker host cluster start as Jobs", "port-forward"},
		"nodes":      {nodeWorkers(), "Runs with the worker host nodes start on the nodes", "run no agents"},
	} {
		text, err := renderFiles(t, tc.values, ".txt")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, want := range []string{tc.has, "https://l.example.com", "get secret lineshaft-keys", "rollout status deployment/works"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, text)
			}
		}
		if strings.Contains(text, tc.lacks) || strings.Contains(text, "\n\n\n") {
			t.Errorf("%s: %q, or two empty lines, in\n%s", name, tc.lacks, text)
		}
	}
}

// leaves are the paths of all values; a map without entries is one value.
func leaves(values map[string]any, before string) (found []string) {
	for key, value := range values {
		if inner, ok := value.(map[string]any); ok && len(inner) > 0 && before != "resources." {
			found = append(found, leaves(inner, before+key+".")...)
			continue
		}
		found = append(found, before+key)
	}
	return found
}

// The values that the guide lists are there, and it lists all.
func TestI6HelmValuesAreDocumented(t *testing.T) {
	t.Parallel()
	var values map[string]any
	if err := yaml.Unmarshal([]byte(read(t, chart+"/values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	checked, listed := 0, map[string]bool{}
	for line := range strings.Lines(read(t, "docs/deploy/helm.md")) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for _, name := range strings.Split(cell, ", ") {
			listed[strings.Trim(name, "`")] = true
			var at any = values
			for _, key := range strings.Split(strings.Trim(name, "`"), ".") {
				inner, _ := at.(map[string]any)
				value, there := inner[key]
				if !there {
					t.Errorf("docs/deploy/helm.md names %s, which is not in values.yaml", name)
				}
				at = value
			}
			checked++
		}
	}
	if checked < 12 {
		t.Errorf("only %d values", checked)
	}
	for _, name := range leaves(values, "") {
		if !listed[name] {
			t.Errorf("docs/deploy/helm.md does not list %s", name)
		}
	}
}
