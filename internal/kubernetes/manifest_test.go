package kubernetes

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func testJob() lineshaft.Job {
	return lineshaft.Job{
		ExecutionRef: lineshaft.ExecutionRef{ExecutionID: "0192AB-exec", Token: "fence"}, RunID: "run-1", RunToken: "ls_run_x",
		Secrets: lineshaft.SecretValues{"API": "s3cret-value-1"}, Turn: lineshaft.Turn{Message: "do"},
	}
}

// TestS5PodsAreKeptApart: nothing of a pod has more power than an agent needs, and its
// manifest holds no secret.
func TestS5PodsAreKeptApart(t *testing.T) {
	t.Parallel()
	template := Template{Image: "ls:1", Server: "https://ls.example", MemoryBytes: 4 << 30, CPUs: 1.5, DiskBytes: 10 << 30, Egress: "none"}
	job := testJob()
	job.Prepare.Image = "agent:2"
	made := template.job("farm", job)
	spec := made.Spec.Template.Spec
	if *made.Spec.BackoffLimit != 0 || spec.RestartPolicy != "Never" || *spec.AutomountServiceAccountToken || *spec.EnableServiceLinks || *spec.TerminationGracePeriodSeconds != 10 {
		t.Errorf("%+v", spec)
	}
	if s := spec.SecurityContext; !*s.RunAsNonRoot || *s.RunAsUser == 0 || s.SeccompProfile.Type != "RuntimeDefault" {
		t.Errorf("%+v", s)
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		if s := c.SecurityContext; *s.AllowPrivilegeEscalation || *s.Privileged || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) {
			t.Errorf("%s: %+v", c.Name, s)
		}
		want := map[string]string{"memory": "4294967296", "cpu": "1500m", "ephemeral-storage": "10737418240"}
		if !maps.Equal(c.Resources.Limits, want) {
			t.Errorf("%s: %v", c.Name, c.Resources)
		}
	}
	for _, mount := range spec.Containers[0].VolumeMounts {
		if mount.Name == "secret" {
			t.Error("the agent's container has the Secret")
		}
	}
	if spec.InitContainers[0].Image != "ls:1" || spec.Containers[0].Image != "agent:2" {
		t.Error("wrong images")
	}
	raw, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"s3cret-value-1", "ls_run_x", "fence"} {
		if strings.Contains(string(raw), secret) {
			t.Errorf("the Job shows %s", secret)
		}
	}
	want := map[string]string{labelManaged: "lineshaft", labelWorker: "farm", labelRun: "run-1", labelExecution: "0192AB-exec", labelEgress: "none"}
	if !maps.Equal(made.Metadata.Labels, want) || !maps.Equal(made.Spec.Template.Metadata.Labels, want) {
		t.Errorf("%v", made.Metadata.Labels)
	}
	if made.Metadata.Name != "lineshaft-0192ab-exec" {
		t.Error(made.Metadata.Name)
	}
}

func TestX5ManifestFollowsRunAndRunner(t *testing.T) {
	t.Parallel()
	job := testJob()
	plain := Template{Image: "ls:1"}.job("farm", job)
	if c := plain.Spec.Template.Spec.Containers[0]; c.Image != "ls:1" || c.Resources.Limits != nil {
		t.Errorf("%+v", c)
	}
	if got := *plain.Spec.ActiveDeadlineSeconds; got != 60*60+7*24*3600 {
		t.Errorf("deadline %d", got)
	}
	job.Config.TimeoutMinutes = new(5)
	job.Prepare.Runner = lineshaft.RunnerConfig{Image: "runner:1", Platform: "linux/arm64", Shape: lineshaft.InstanceShape{VCPUs: 2, MemoryGB: 1}}
	made := Template{Image: "ls:1", MemoryBytes: 8 << 30, CPUs: 1}.job("farm", job)
	spec := made.Spec.Template.Spec
	if spec.Containers[0].Image != "runner:1" || spec.NodeSelector["kubernetes.io/arch"] != "arm64" {
		t.Errorf("%+v", spec)
	}
	if l := spec.Containers[0].Resources.Limits; l["memory"] != "1073741824" || l["cpu"] != "1000m" {
		t.Errorf("%v", l)
	}
	if got := *made.Spec.ActiveDeadlineSeconds; got != 5*60+7*24*3600 {
		t.Errorf("deadline %d", got)
	}
	for _, host := range []string{strings.Repeat("x", 100), "ends-in."} {
		if label := workerLabel(host); len(label) > 63 || !strings.HasPrefix(label, "sha256-") {
			t.Error(label)
		}
	}
}

// TestX5ParcelIsRemovedBeforeTheAgent: the job goes from the Secret through the two
// steps of a pod, and is gone when the agent comes.
func TestX5ParcelIsRemovedBeforeTheAgent(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dirs := map[string]string{}
	for _, name := range []string{"secret", "tools", "job"} {
		dirs[name] = filepath.Join(root, name)
		if err := os.Mkdir(dirs[name], 0o700); err != nil {
			t.Fatal(err)
		}
	}
	owner := &Job{Metadata: Meta{Name: "lineshaft-0192ab-exec", UID: "u1"}}
	secret, err := Template{Server: "https://ls.example", Settings: Settings{EventLimit: 7}}.secret("farm", testJob(), owner, nil)
	if err != nil {
		t.Fatal(err)
	}
	if o := secret.Metadata.OwnerReferences[0]; o.UID != "u1" || o.Kind != "Job" || !*secret.Immutable {
		t.Errorf("%+v", secret.Metadata)
	}
	if err := os.WriteFile(filepath.Join(dirs["secret"], "job"), secret.Data["job"], 0o400); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(root, "program")
	if err := os.WriteFile(program, []byte("binary"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Install(program, dirs["secret"], dirs["tools"], dirs["job"]); err != nil {
		t.Fatal(err)
	}
	for file, mode := range map[string]os.FileMode{"tools/lineshaft": 0o555, "job/job": 0o400} {
		info, err := os.Stat(filepath.Join(root, file))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", file, info, err)
		}
	}
	parcel, err := OpenParcel(dirs["job"])
	if err != nil || parcel.WorkerHost != "farm" || parcel.Settings.EventLimit != 7 {
		t.Fatalf("%v", err)
	}
	if job := parcel.Job.Job(); job.Token != "fence" || job.Secrets["API"] != "s3cret-value-1" || job.RunToken != "ls_run_x" {
		t.Error("the job is not whole")
	}
	if left, _ := os.ReadDir(dirs["job"]); len(left) != 0 {
		t.Errorf("%v is left for the agent", left)
	}
	if _, err := OpenParcel(dirs["job"]); err == nil {
		t.Error("it was there twice")
	}
	for _, bad := range []string{"", "{}", "not s3cret-value-1 json"} {
		if _, err := readParcel([]byte(bad)); err == nil || strings.Contains(err.Error(), "s3cret-value-1") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := Install(filepath.Join(root, "none"), dirs["secret"], dirs["tools"], dirs["job"]); err == nil {
		t.Error("there is no such program")
	}
}
