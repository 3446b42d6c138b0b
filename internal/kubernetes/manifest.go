package kubernetes

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
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
	// podGrace is what a pod gets to end when it is deleted.
	podGrace = 10
	// keepFinished is how long a finished Job stays when the launcher is away.
	keepFinished = time.Hour
	// deadlineSlack is what a pod may live beyond its run's own limit before the cluster
	// ends it. The worker in the pod keeps the limit; this only ends what it forgot, and
	// a run that waits for an answer uses none of its time.
	deadlineSlack = 7 * 24 * time.Hour
	// containerName is the main container.
	containerName = "agent"
)

// Template is what all pods have in common.
type Template struct {
	// Image has this program; agents whose environment names no image run in it, too.
	Image string
	// Server is where pods reach the server.
	Server string
	// MemoryBytes, CPUs and DiskBytes bound a pod; zero is no limit.
	MemoryBytes int64
	CPUs        float64
	DiskBytes   int64
	// Egress is put on the pod as a label, for a NetworkPolicy to act on.
	Egress   string
	Settings Settings
}

// jobName is the name of the Job and the Secret of an execution.
func jobName(executionID string) string { return "lineshaft-" + strings.ToLower(executionID) }

// workerLabel is the id of a worker as a label, which has fewer letters than an id may.
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

// job makes the Job of an execution.
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
			// The job's folder is there for its file to be removed from; the Secret is not.
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

// bare takes everything from a container that an agent does not need.
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

// secret makes the Secret of an execution. It goes with its Job. The pod is shown the
// parcel and not the key of the model.
func (t Template) secret(host string, job lineshaft.Job, owner *Job, models *PodModels) (*Secret, error) {
	parcel := Parcel{Server: t.Server, WorkerHost: host, Settings: t.Settings, Models: models}
	data := map[string][]byte{}
	if h := job.Config.Harness; h != nil && h.Auth != nil {
		plain := *h
		parcel.Auth, plain.Auth, job.Config.Harness = h.Auth, nil, &plain
		if h.Auth.Source == lineshaft.AuthManagedSecret { // one of the environment is there again
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
