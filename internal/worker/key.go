package worker

import (
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/gateway"
	"github.com/lineshaft/lineshaft/internal/model"
)

// vendorKey is whose API an agent calls, and the variable in which people keep its key.
type vendorKey struct {
	protocol model.Protocol
	variable string
}

// vendorKeys has each of lineshaft.KeyedHarnesses.
func vendorKeys() map[string]vendorKey {
	return map[string]vendorKey{
		"claude": {model.Anthropic, "ANTHROPIC_API_KEY"},
		"codex":  {model.OpenAI, "OPENAI_API_KEY"},
		"gemini": {model.Gemini, "GEMINI_API_KEY"},
	}
}

// TakeKey makes the endpoints of a job that has a key of its own; nil for all others. The
// key is for a gateway alone; without it the run fails rather than being paid for by
// somebody else. One of the worker's own environment is put into the job, to be masked.
func TakeKey(job *lineshaft.Job, gate *gateway.Gateway, workerID string, getenv func(name string) string) (*model.Set, error) {
	h := job.Config.Harness
	if h == nil || h.Auth == nil {
		return nil, nil //nolint:nilnil // most runs have none
	}
	vendor, known := vendorKeys()[h.Type]
	if !known || gate == nil {
		return nil, setupFailed("worker %s cannot call the model of %q with a key of the run's own; leave harness.auth out, or send the run to another worker", workerID, h.Type)
	}
	if h.Auth.Source == lineshaft.AuthWorkerEnvironment {
		job.ModelKey = lineshaft.SecretText(getenv(vendor.variable))
		if job.ModelKey == "" {
			return nil, setupFailed("the run takes its model's key from the environment of worker %s, which has no %s; set it and start the worker again", workerID, vendor.variable)
		}
	}
	if job.ModelKey == "" {
		return nil, setupFailed("the server sent no value of secret %s, with which the model is to be called; update the server, or leave harness.auth out", h.Auth.SecretName)
	}
	own := gate.Models().WithKey(vendor.protocol, job.ModelKey)
	return &own, nil
}

// takeKey is TakeKey for this execution.
func (e *execution) takeKey() (err error) {
	config := e.worker.config
	e.models, err = TakeKey(&e.job, config.Gateway, config.WorkerID, config.Getenv)
	return err
}

// takesImages says whether agents work in the image that their run names.
func (e *execution) takesImages() bool {
	box := e.worker.config.Sandbox
	return e.worker.config.Imaged || box == nil || box.Name() == "container"
}

// noticeUnused puts into the log what the run asks for and this worker cannot give.
func (e *execution) noticeUnused() {
	if image := e.job.Prepare.Image; image != "" && !e.takesImages() {
		e.notice("warning", "Image "+image+" is not used: this worker isolates agents without containers, and they see its own programs. Send the run to a worker with --isolation container or kubernetes.")
	}
	if name := e.job.Prepare.Runner.RegistrySecret(); name != "" {
		e.notice("warning", "Secret "+name+", the registry credential of the runner, is not used: images are fetched with the log-in of the machine or the cluster.")
	}
	if h := e.job.Config.Harness; h != nil && h.ReasoningLevel != "" && slices.Contains([]string{"shell", "command"}, e.harnessName) {
		e.notice("info", "Reasoning level "+h.ReasoningLevel+" is not used: the harness "+e.harnessName+" asks no model itself.")
	}
}
