package lineshaft

import (
	"slices"
	"strings"
)

// maxWorkerID bounds the id of a self-hosted worker.
const maxWorkerID = 128

// CheckWorkerID says whether a self-hosted worker may have that id. The names of the
// server's own worker are never free.
func CheckWorkerID(field, id string) error {
	switch {
	case id == "" || len(id) > maxWorkerID || !alphanumeric(id[0]):
		return Invalid(field, "the id of a worker begins with a letter or digit and has at most %d characters", maxWorkerID)
	case id == HostedWorker || id == "warp":
		return Invalid(field, "%q is the server's own worker; give a self-hosted one another id", id)
	}
	for _, c := range []byte(id) {
		if !alphanumeric(c) && !strings.ContainsRune("._-", rune(c)) {
			return Invalid(field, "the id of a worker has letters, digits, '.', '_' and '-' only")
		}
	}
	return nil
}

// Bounds of the labels of a worker.
const (
	maxLabels     = 32
	maxLabelBytes = 63
)

// CheckLabels says whether a worker may have these labels, each KEY=VALUE.
func CheckLabels(field string, labels []string) error {
	if len(labels) > maxLabels {
		return Invalid(field, "a worker has at most %d labels", maxLabels)
	}
	seen := map[string]bool{}
	for _, label := range labels {
		key, value, ok := strings.Cut(label, "=")
		if !ok || key == "" || len(key) > maxLabelBytes || len(value) > maxLabelBytes || !labelText(key) || !labelText(value) {
			return Invalid(field, "a label is KEY=VALUE, of letters, digits, '.', '_', '-' and '/', at most %d on each side", maxLabelBytes)
		}
		if seen[key] {
			return Invalid(field, "the label %q is there twice", key)
		}
		seen[key] = true
	}
	return nil
}

func labelText(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r > '~' || !alphanumeric(byte(r)) && !strings.ContainsRune("._-/", r)
	})
}

// MayWorkFor says whether the caller's key may take runs that are addressed to a
// worker id: an admin for any, a worker key for those it names. A key that is limited to
// factories gets the runs of these only.
func (c Caller) MayWorkFor(workerHost string) bool {
	return c.Role == RoleAdmin || c.Role == RoleWorker && slices.Contains(c.WorkerIDs, workerHost)
}
