package kubernetes

import (
	"encoding/json"
	"time"
)

// The objects of the API with the fields that are used here. Unknown ones are skipped
// when they are read, and never written back.

// Meta is the metadata of every object.
type Meta struct {
	Name              string            `json:"name,omitempty"`
	Namespace         string            `json:"namespace,omitempty"`
	UID               string            `json:"uid,omitempty"`
	ResourceVersion   string            `json:"resourceVersion,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	OwnerReferences   []OwnerReference  `json:"ownerReferences,omitempty"`
	CreationTimestamp *time.Time        `json:"creationTimestamp,omitempty"`
	DeletionTimestamp *time.Time        `json:"deletionTimestamp,omitempty"`
}

// OwnerReference makes an object go with another.
type OwnerReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

// Job is a batch/v1 Job.
type Job struct {
	APIVersion string    `json:"apiVersion,omitempty"`
	Kind       string    `json:"kind,omitempty"`
	Metadata   Meta      `json:"metadata"`
	Spec       JobSpec   `json:"spec"`
	Status     JobStatus `json:"status,omitzero"`
}

// JobSpec says what a Job runs.
type JobSpec struct {
	BackoffLimit            *int32      `json:"backoffLimit,omitempty"`
	ActiveDeadlineSeconds   *int64      `json:"activeDeadlineSeconds,omitempty"`
	TTLSecondsAfterFinished *int32      `json:"ttlSecondsAfterFinished,omitempty"`
	Template                PodTemplate `json:"template"`
}

// PodTemplate is what a Job makes its pod of.
type PodTemplate struct {
	Metadata Meta    `json:"metadata,omitzero"`
	Spec     PodSpec `json:"spec"`
}

// JobStatus is how far a Job is.
type JobStatus struct {
	Active     int         `json:"active,omitempty"`
	Succeeded  int         `json:"succeeded,omitempty"`
	Failed     int         `json:"failed,omitempty"`
	Conditions []Condition `json:"conditions,omitempty"`
}

// Condition is a fact about an object.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Pod is a core/v1 Pod.
type Pod struct {
	APIVersion string    `json:"apiVersion,omitempty"`
	Kind       string    `json:"kind,omitempty"`
	Metadata   Meta      `json:"metadata"`
	Spec       PodSpec   `json:"spec"`
	Status     PodStatus `json:"status,omitzero"`
}

// PodSpec says what a pod runs.
type PodSpec struct {
	NodeName                      string              `json:"nodeName,omitempty"`
	InitContainers                []Container         `json:"initContainers,omitempty"`
	Containers                    []Container         `json:"containers"`
	Volumes                       []Volume            `json:"volumes,omitempty"`
	RestartPolicy                 string              `json:"restartPolicy,omitempty"`
	ServiceAccountName            string              `json:"serviceAccountName,omitempty"`
	AutomountServiceAccountToken  *bool               `json:"automountServiceAccountToken,omitempty"`
	EnableServiceLinks            *bool               `json:"enableServiceLinks,omitempty"`
	TerminationGracePeriodSeconds *int64              `json:"terminationGracePeriodSeconds,omitempty"`
	SecurityContext               *PodSecurityContext `json:"securityContext,omitempty"`
	NodeSelector                  map[string]string   `json:"nodeSelector,omitempty"`
}

// Container is one container of a pod.
type Container struct {
	Name            string           `json:"name"`
	Image           string           `json:"image"`
	Command         []string         `json:"command,omitempty"`
	WorkingDir      string           `json:"workingDir,omitempty"`
	Env             []EnvVar         `json:"env,omitempty"`
	Resources       Resources        `json:"resources,omitzero"`
	VolumeMounts    []VolumeMount    `json:"volumeMounts,omitempty"`
	SecurityContext *SecurityContext `json:"securityContext,omitempty"`
}

// EnvVar is a variable of a container.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Resources are what a container gets at least and at most.
type Resources struct {
	Requests map[string]string `json:"requests,omitempty"`
	Limits   map[string]string `json:"limits,omitempty"`
}

// VolumeMount puts a volume into a container.
type VolumeMount struct {
	Name      string `json:"name"`
	MountPath string `json:"mountPath"`
	ReadOnly  bool   `json:"readOnly,omitempty"`
}

// Volume is a folder of a pod.
type Volume struct {
	Name     string        `json:"name"`
	EmptyDir *EmptyDir     `json:"emptyDir,omitempty"`
	Secret   *SecretVolume `json:"secret,omitempty"`
}

// EmptyDir is a folder that begins empty and goes with its pod.
type EmptyDir struct {
	Medium    string `json:"medium,omitempty"`
	SizeLimit string `json:"sizeLimit,omitempty"`
}

// SecretVolume shows the values of a Secret as files.
type SecretVolume struct {
	SecretName  string `json:"secretName"`
	DefaultMode *int32 `json:"defaultMode,omitempty"`
	// Items are the values that are shown; none is all.
	Items []SecretItem `json:"items,omitempty"`
}

// SecretItem is a value of a Secret and the file that it becomes.
type SecretItem struct {
	Key  string `json:"key"`
	Path string `json:"path"`
}

// PodSecurityContext is how a pod is kept apart.
type PodSecurityContext struct {
	RunAsNonRoot   *bool           `json:"runAsNonRoot,omitempty"`
	RunAsUser      *int64          `json:"runAsUser,omitempty"`
	RunAsGroup     *int64          `json:"runAsGroup,omitempty"`
	FSGroup        *int64          `json:"fsGroup,omitempty"`
	SeccompProfile *SeccompProfile `json:"seccompProfile,omitempty"`
}

// SeccompProfile bounds the system calls.
type SeccompProfile struct {
	Type string `json:"type"`
}

// SecurityContext is how a container is kept apart.
type SecurityContext struct {
	AllowPrivilegeEscalation *bool         `json:"allowPrivilegeEscalation,omitempty"`
	Privileged               *bool         `json:"privileged,omitempty"`
	ReadOnlyRootFilesystem   *bool         `json:"readOnlyRootFilesystem,omitempty"`
	Capabilities             *Capabilities `json:"capabilities,omitempty"`
}

// Capabilities are the parts of root's power.
type Capabilities struct {
	Drop []string `json:"drop,omitempty"`
}

// PodStatus is how far a pod is.
type PodStatus struct {
	Phase                 string            `json:"phase,omitempty"`
	Reason                string            `json:"reason,omitempty"`
	Message               string            `json:"message,omitempty"`
	Conditions            []Condition       `json:"conditions,omitempty"`
	InitContainerStatuses []ContainerStatus `json:"initContainerStatuses,omitempty"`
	ContainerStatuses     []ContainerStatus `json:"containerStatuses,omitempty"`
}

// ContainerStatus is how far a container is.
type ContainerStatus struct {
	Name         string         `json:"name"`
	Image        string         `json:"image"`
	ImageID      string         `json:"imageID"`
	Ready        bool           `json:"ready"`
	RestartCount int            `json:"restartCount"`
	State        ContainerState `json:"state,omitzero"`
}

// ContainerState has one of three.
type ContainerState struct {
	Waiting    *Waiting    `json:"waiting,omitempty"`
	Running    *Running    `json:"running,omitempty"`
	Terminated *Terminated `json:"terminated,omitempty"`
}

// Waiting is a container that has not started.
type Waiting struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Running is a container that has started.
type Running struct {
	StartedAt *time.Time `json:"startedAt,omitempty"`
}

// Terminated is a container that has ended.
type Terminated struct {
	ExitCode int    `json:"exitCode"`
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
}

// Secret is a core/v1 Secret. Data are never logged.
type Secret struct {
	APIVersion string            `json:"apiVersion,omitempty"`
	Kind       string            `json:"kind,omitempty"`
	Metadata   Meta              `json:"metadata"`
	Immutable  *bool             `json:"immutable,omitempty"`
	Type       string            `json:"type,omitempty"`
	Data       map[string][]byte `json:"data,omitempty"`
}

// Status is the API's description of a call that failed.
type Status struct {
	Status  string         `json:"status"`
	Message string         `json:"message"`
	Reason  string         `json:"reason"`
	Code    int            `json:"code"`
	Details *StatusDetails `json:"details,omitempty"`
}

// StatusDetails may say when to ask again.
type StatusDetails struct {
	RetryAfterSeconds int `json:"retryAfterSeconds,omitempty"`
}

// list is a page of objects.
type list[T any] struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
		Continue        string `json:"continue"`
	} `json:"metadata"`
	Items []T `json:"items"`
}

// watchEvent is one line of a watch.
type watchEvent struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// accessReview asks what the caller may do.
type accessReview struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		ResourceAttributes access `json:"resourceAttributes"`
	} `json:"spec"`
	Status struct {
		Allowed bool   `json:"allowed"`
		Reason  string `json:"reason,omitempty"`
	} `json:"status,omitzero"`
}

// access is a verb on a kind of object.
type access struct {
	Namespace   string `json:"namespace"`
	Verb        string `json:"verb"`
	Group       string `json:"group,omitempty"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
}
