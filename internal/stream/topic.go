package stream

// Topics of the hub.

// RunTopic is woken when a run's log grew.
func RunTopic(runID string) string { return "run/" + runID }

// QueueTopic is woken when a run may be claimed by workers of a host.
func QueueTopic(host string) string { return "queue/" + host }

// WorkerTopic is woken when there may be a directive for a worker process.
func WorkerTopic(workerID string) string { return "worker/" + workerID }

// StatesTopic is woken when any run changed its state.
const StatesTopic = "states"

// KeysTopic is woken when an API key changed.
const KeysTopic = "keys"

// RepositoriesTopic is woken when a repository that a factory follows is to be looked at.
const RepositoriesTopic = "repositories"

// FactoriesTopic is woken when a factory, or a part of one, changed.
const FactoriesTopic = "factories"

// SkillsTopic is woken when a run waits for its skills to be found.
const SkillsTopic = "skills"

// NotificationsTopic is woken when an endpoint of callbacks changed.
const NotificationsTopic = "notifications"

// CallbacksTopic is woken when there is something to send to an endpoint.
const CallbacksTopic = "callbacks"
