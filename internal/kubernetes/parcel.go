package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/workerwire"
)

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

// modelKeyKey is the key of the Secret for what no pod is shown: the run's own key of its
// model, for a launcher that takes the Job on.
const modelKeyKey = "model-key"

// Install is the pod's first step, in a container of our own image: it puts this
// program and the parcel where the main container finds them. The Secret itself is not
// there, so what the main container removes is out of the agent's reach.
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

// adopted is the job of a parcel as it was before the pod's part was taken out.
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
