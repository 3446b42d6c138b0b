package workerwire

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// Protocol is the number of the protocol that this program speaks. It grows when the
// two sides cannot understand each other any more, which versions one minor apart
// always do.
const Protocol = 1

// CheckVersions says whether a worker and a server of these versions may work
// together: they may be one minor version apart. A version that is no number, as that
// of a build from a working copy, is let through: the protocol's number still counts.
func CheckVersions(worker, server string) error {
	workerMajor, workerMinor, ok := parseVersion(worker)
	serverMajor, serverMinor, known := parseVersion(server)
	if !ok || !known {
		return nil
	}
	older := "worker"
	if workerMajor > serverMajor || workerMajor == serverMajor && workerMinor > serverMinor {
		older = "server"
	}
	if workerMajor == serverMajor && abs(workerMinor-serverMinor) <= 1 {
		return nil
	}
	return lineshaft.Invalid("version", "the worker has version %s and the server %s; they may be one minor version apart: upgrade the %s",
		clean(worker), clean(server), older)
}

// CheckProtocol says whether a worker's protocol is ours.
func CheckProtocol(number int) error {
	switch {
	case number == Protocol:
		return nil
	case number > Protocol:
		return lineshaft.Invalid("protocol", "the worker speaks protocol %d and the server %d: upgrade the server", number, Protocol)
	}
	return lineshaft.Invalid("protocol", "the worker speaks protocol %d and the server %d: upgrade the worker", number, Protocol)
}

// parseVersion reads v1.2.3, with or without the v and what follows the minor.
func parseVersion(version string) (major, minor int, ok bool) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return 0, 0, false
	}
	major, majorErr := strconv.Atoi(parts[0])
	minor, minorErr := strconv.Atoi(strings.SplitN(strings.SplitN(parts[1], "-", 2)[0], "+", 2)[0])
	return major, minor, majorErr == nil && minorErr == nil && major >= 0 && minor >= 0
}

// clean keeps a stranger's text short and printable.
func clean(version string) string { return fmt.Sprintf("%.40q", version) }

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
