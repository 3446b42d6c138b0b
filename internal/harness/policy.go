package harness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// Policy says who decides when the agent of a job asks whether it may do something:
// one of lineshaft.Policies. The control plane has put the server's own policy into the
// job already; the default is for jobs that have none.
func Policy(job lineshaft.Job, standard string) string {
	if h := job.Config.Harness; h != nil && h.Permissions != "" {
		return h.Permissions
	}
	if slices.Contains(lineshaft.Policies(), standard) {
		return standard
	}
	return lineshaft.PermissionsAllow
}

// Decide picks the option that a policy takes without asking; false when there is none
// that fits, and when people are to be asked.
func Decide(policy string, options []lineshaft.PermissionOption) (lineshaft.PermissionOption, bool) {
	switch policy {
	case lineshaft.PermissionsAllow:
		return byKind(options, "allow_once", "allow_always")
	case lineshaft.PermissionsDeny:
		return byKind(options, "reject_once", "reject_always")
	}
	return lineshaft.PermissionOption{}, false
}

// Choose finds the option that an answer means: its id, name or number, or a word
// such as yes, no, always and never. False says that the answer is a text of its own.
func Choose(options []lineshaft.PermissionOption, answer string) (lineshaft.PermissionOption, bool) {
	word := strings.ToLower(strings.Trim(strings.TrimSpace(answer), ".!\"'`"))
	for _, o := range options {
		if word == strings.ToLower(o.ID) || word == strings.ToLower(o.Name) || word == o.Kind {
			return o, true
		}
	}
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(options) {
		return options[n-1], true
	}
	switch word {
	case "y", "yes", "ok", "okay", "allow", "approve", "approved", "go ahead", "sure":
		return byKind(options, "allow_once", "allow_always")
	case "always", "allow always", "yes always", "yes, always":
		return byKind(options, "allow_always", "allow_once")
	case "n", "no", "deny", "reject", "refuse", "cancel", "stop":
		return byKind(options, "reject_once", "reject_always")
	case "never", "reject always", "deny always":
		return byKind(options, "reject_always", "reject_once")
	}
	return lineshaft.PermissionOption{}, false
}

// Astray says what is wrong with an answer that is a number without an option: it is a
// slip, not a text for the agent. It is empty for every other answer.
func Astray(options []lineshaft.PermissionOption, answer string) string {
	if _, ok := Choose(options, answer); ok || len(options) == 0 {
		return ""
	}
	word := strings.Trim(strings.TrimSpace(answer), ".!\"'`")
	if _, err := strconv.Atoi(word); err != nil {
		return ""
	}
	return fmt.Sprintf("There is no answer %s: it is a number from 1 to %d, the name of an answer, yes, no, always or never. The question is asked again.", word, len(options))
}

// byKind is the first option of the first of these kinds that is offered.
func byKind(options []lineshaft.PermissionOption, kinds ...string) (lineshaft.PermissionOption, bool) {
	for _, kind := range kinds {
		for _, o := range options {
			if o.Kind == kind {
				return o, true
			}
		}
	}
	return lineshaft.PermissionOption{}, false
}
