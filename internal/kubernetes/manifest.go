package kubernetes

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/workerwire"
)

// The labels of what we make. People and policies select by them.
const (
	labelManaged   = "app.kubernetes.io/managed-by"
	labelWorker    = "lineshaft.dev/worker"
	labelRun       = "lineshaft.dev/run"
	labelExecution = "lineshaft.dev/execution"
	labelEgress    = "lineshaft.dev/egress"

	managedBy = "lineshaft"
)

// Folders in the pod. The agent's own files are below dataDir.
const (
	toolsDir  = "/lineshaft/tools"
	jobDir    = "/lineshaft/job"
	secretDir = "/lineshaft/secret"
	dataDir   = "/lineshaft/data"
)

// The user of everything in the pod; it exists in no image and needs not to.
const podUser = 64320

const (
	// podGrace is how long a pod gets to end when it is deleted.
	podGrace = 10
	// keepFinished is how long a finished Job stays when no launcher runs.
	keepFinished = time.Hour
	// deadlineSlack is how long a pod may live beyond its run's own limit before the cluster
	// ends it. The worker in the pod keeps the limit; this only ends what it forgot, and
	// a run that waits for an answer uses none of its time.
	deadlineSlack = 7 * 24 * time.Hour
	// containerName is the main container.
	containerName = "agent"
)

// Template is what all pods have in common.
type Template struct {
	// Image has this program; agents whose environment names no image also run in it.
	Image string
	// Server is where pods reach the server.
	Server string
	// MemoryBytes, CPUs and DiskBytes bound a pod; zero means no limit.
	MemoryBytes int64
	CPUs        float64
	DiskBytes   int64
	// Egress is put on the pod as a label, for a NetworkPolicy to act on.
	Egress   string
	Settings Settings
}

func jobName(executionID string) string { return "lineshaft-" + strings.ToLower(executionID) }

// workerLabel is the id of a worker as a label, which allows fewer characters than an id.
func workerLabel(host string) string {
	if len(host) <= 63 && !strings.HasSuffix(host, ".") && !strings.HasSuffix(host, "-") && !strings.HasSuffix(host, "_") {
		return host
	}
	sum := sha256.Sum256([]byte(host))
	return "sha256-" + hex.EncodeToString(sum[:16])
}

func selector(host string) string {
	return labelManaged + "=" + managedBy + "," + labelWorker + "=" + workerLabel(host)
}

func (t Template) labels(host string, job lineshaft.Job) map[string]string {
	return map[string]string{
		labelManaged: managedBy, labelWorker: workerLabel(host), labelRun: job.RunID, labelExecution: job.ExecutionID, labelEgress: t.Egress,
	}
}

// image is what the agent runs in: the environment's, the runner's, or ours.
func (t Template) image(job lineshaft.Job) string {
	for _, image := range []string{job.Prepare.Image, job.Prepare.Runner.ContainerImage()} {
		if image != "" {
			return image
		}
	}
	return t.Image
}

func (t Template) job(host string, job lineshaft.Job) *Job {
	labels := t.labels(host, job)
	return &Job{
		APIVersion: "batch/v1", Kind: "Job",
		Metadata: Meta{Name: jobName(job.ExecutionID), Labels: labels},
		Spec: JobSpec{
			// A run is tried again by the server, as its retry says, never by the cluster.
			BackoffLimit:            new(int32(0)),
			ActiveDeadlineSeconds:   new(int64(deadline(job.Config).Seconds())),
			TTLSecondsAfterFinished: new(int32(keepFinished.Seconds())),
			Template:                PodTemplate{Metadata: Meta{Labels: labels}, Spec: t.pod(job)},
		},
	}
}

func deadline(config lineshaft.AgentConfig) time.Duration {
	limit := lineshaft.DefaultTimeoutMinutes
	if config.TimeoutMinutes != nil && *config.TimeoutMinutes > 0 {
		limit = *config.TimeoutMinutes
	}
	return time.Duration(limit)*time.Minute + deadlineSlack
}

func (t Template) pod(job lineshaft.Job) PodSpec {
	name := jobName(job.ExecutionID)
	spec := PodSpec{
		RestartPolicy: "Never", AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
		TerminationGracePeriodSeconds: new(int64(podGrace)),
		SecurityContext: &PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(int64(podUser)), RunAsGroup: new(int64(podUser)), FSGroup: new(int64(podUser)),
			SeccompProfile: &SeccompProfile{Type: "RuntimeDefault"},
		},
		InitContainers: []Container{{
			Name: "install", Image: t.Image, Command: []string{"lineshaft", "execute", "--install"}, Resources: t.resources(job), SecurityContext: bare(),
			VolumeMounts: []VolumeMount{
				{Name: "tools", MountPath: toolsDir}, {Name: "job", MountPath: jobDir}, {Name: "secret", MountPath: secretDir, ReadOnly: true},
			},
		}},
		Containers: []Container{{
			Name: containerName, Image: t.image(job), Command: []string{toolsDir + "/lineshaft", "execute"}, WorkingDir: dataDir,
			Env: []EnvVar{{Name: "HOME", Value: dataDir}}, Resources: t.resources(job), SecurityContext: bare(),
			// The job's folder is mounted for its file to be removed from; the Secret is not.
			VolumeMounts: []VolumeMount{{Name: "tools", MountPath: toolsDir, ReadOnly: true}, {Name: "job", MountPath: jobDir}, {Name: "data", MountPath: dataDir}},
		}},
		Volumes: []Volume{
			{Name: "tools", EmptyDir: &EmptyDir{}},
			{Name: "job", EmptyDir: &EmptyDir{Medium: "Memory", SizeLimit: "64Mi"}},
			{Name: "data", EmptyDir: &EmptyDir{SizeLimit: quantity(t.DiskBytes)}},
			{Name: "secret", Secret: &SecretVolume{SecretName: name, DefaultMode: new(int32(0o400)), Items: []SecretItem{{Key: parcelKey, Path: parcelKey}}}},
		},
	}
	if system, machine, ok := strings.Cut(job.Prepare.Runner.Target(), "/"); ok {
		spec.NodeSelector = map[string]string{"kubernetes.io/os": system, "kubernetes.io/arch": machine}
	}
	return spec
}

// bare removes everything from a container that an agent does not need.
func bare() *SecurityContext {
	return &SecurityContext{AllowPrivilegeEscalation: new(false), Privileged: new(false), Capabilities: &Capabilities{Drop: []string{"ALL"}}}
}

// resources bounds a container; the runner's shape counts where it is smaller.
func (t Template) resources(job lineshaft.Job) Resources {
	shape := job.Prepare.Runner.Shape
	limits := map[string]string{}
	if memory := smaller(t.MemoryBytes, int64(shape.MemoryGB)<<30); memory > 0 {
		limits["memory"] = quantity(memory)
	}
	if cpus := smaller(t.CPUs, float64(shape.VCPUs)); cpus > 0 {
		limits["cpu"] = strconv.FormatInt(int64(math.Ceil(cpus*1000)), 10) + "m"
	}
	if t.DiskBytes > 0 {
		limits["ephemeral-storage"] = quantity(t.DiskBytes)
	}
	if len(limits) == 0 {
		return Resources{}
	}
	return Resources{Limits: limits} // what is not requested is requested as limited
}

func smaller[N int64 | float64](a, b N) N {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func quantity(bytes int64) string {
	if bytes <= 0 {
		return ""
	}
	return strconv.FormatInt(bytes, 10)
}

// secret makes the Secret of an execution. It is removed with its Job. The pod sees the
// parcel but not the key of the model.
func (t Template) secret(host string, job lineshaft.Job, owner *Job, models *PodModels) (*Secret, error) {
	parcel := Parcel{Server: t.Server, WorkerHost: host, Settings: t.Settings, Models: models}
	data := map[string][]byte{}
	if h := job.Config.Harness; h != nil && h.Auth != nil {
		plain := *h
		parcel.Auth, plain.Auth, job.Config.Harness = h.Auth, nil, &plain
		if h.Auth.Source == lineshaft.AuthManagedSecret { // a key from the environment is available again
			data[modelKeyKey] = []byte(job.ModelKey)
		}
	}
	job.ModelKey = ""
	parcel.Job = workerwire.JobOf(job)
	raw, err := json.Marshal(parcel)
	if err != nil {
		return nil, fmt.Errorf("encode job: %w", err)
	}
	data[parcelKey] = raw
	return &Secret{
		APIVersion: "v1", Kind: "Secret", Type: "Opaque", Immutable: new(true),
		Metadata: Meta{
			Name: jobName(job.ExecutionID), Labels: t.labels(host, job),
			OwnerReferences: []OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: owner.Metadata.Name, UID: owner.Metadata.UID}},
		},
		Data: data,
	}, nil
}

// Parcel is what a pod gets to work on: the key "job" of its Secret. It holds the
// secrets of one run and nothing that opens more than that run.
type Parcel struct {
	// Server is the address at which the pod reaches the server.
	Server string `json:"server"`
	// WorkerHost is the id that the run was addressed to.
	WorkerHost string         `json:"worker_host"`
	Job        workerwire.Job `json:"job"`
	Settings   Settings       `json:"settings"`
	// Models are what the pod reaches through the launcher's gateway; nil is nothing.
	Models *PodModels `json:"models,omitempty"`
	// Auth is what the run says about the key of its model, which the launcher keeps.
	Auth *lineshaft.HarnessAuth `json:"auth,omitempty"`
}

// Settings are those of the launcher that hold in the pod.
type Settings struct {
	DefaultHarness string   `json:"default_harness,omitempty"`
	AgentCommand   []string `json:"agent_command,omitempty"`
	ForgeURL       string   `json:"forge_url,omitempty"`
	AllowLocalGit  bool     `json:"allow_local_git,omitempty"`
	EventLimit     int      `json:"event_limit,omitempty"`
	OutputLimit    int64    `json:"output_limit,omitempty"`
	// PermissionPolicy is for runs that do not choose one.
	PermissionPolicy string `json:"permission_policy,omitempty"`
	AllowLocalMCP    bool   `json:"allow_local_mcp,omitempty"`
	// ProcessLimit is for all processes of the agent together.
	ProcessLimit int `json:"process_limit,omitempty"`
}

// parcelKey is the key of the Secret, and the name of the file.
const parcelKey = "job"

// modelKeyKey is the key in the Secret of what no pod sees: the run's own key of its
// model, for a launcher that takes the Job on.
const modelKeyKey = "model-key"

// Install is the pod's first step, in a container of our own image: it puts this
// program and the parcel where the main container finds them. The Secret itself is not
// mounted there, so what the main container removes is out of the agent's reach.
func Install(program, secretDir, toolsDir, parcelDir string) error {
	if err := copyFile(program, filepath.Join(toolsDir, "lineshaft"), 0o555); err != nil {
		return fmt.Errorf("install program: %w", err)
	}
	if err := copyFile(filepath.Join(secretDir, parcelKey), filepath.Join(parcelDir, parcelKey), 0o400); err != nil {
		return fmt.Errorf("install job: %w", err)
	}
	return nil
}

// OpenParcel reads the parcel and removes it, before an agent can look.
func OpenParcel(dir string) (Parcel, error) {
	path := filepath.Join(dir, parcelKey)
	raw, err := os.ReadFile(path)
	if err != nil {
		return Parcel{}, fmt.Errorf("read job: %w", err)
	}
	if err := os.Remove(path); err != nil {
		return Parcel{}, fmt.Errorf("remove job from the agent's sight: %w", err)
	}
	return readParcel(raw)
}

func readParcel(raw []byte) (Parcel, error) {
	var p Parcel
	if err := json.Unmarshal(raw, &p); err != nil || p.Job.ExecutionID == "" || p.Server == "" {
		return Parcel{}, errors.New("read job: it is not what a launcher writes") // the reason could quote it
	}
	return p, nil
}

func copyFile(from, to string, mode os.FileMode) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// adopted is the job of a parcel as it was before the pod's part was removed.
func (p Parcel) adopted(modelKey []byte) lineshaft.Job {
	job := p.Job.Job()
	if p.Auth != nil {
		h := lineshaft.HarnessConfig{}
		if job.Config.Harness != nil {
			h = *job.Config.Harness
		}
		h.Auth, job.ModelKey = p.Auth, lineshaft.SecretText(modelKey)
		job.Config.Harness = &h
	}
	return job
}
