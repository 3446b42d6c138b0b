package definition

import (
	"github.com/lineshaft/lineshaft"
)

// noEffect says once in a folder that something is kept and changes nothing here.
func (r *reader) noEffect(subject string, line, column int, path, reason string) {
	r.notice(subject, lineshaft.FileProblem{File: r.file, Line: line + r.above, Column: column, Message: path + ": has no effect on this server: " + reason})
}

// notice takes down what is no mistake but should be known, once for each subject.
func (f *findings) notice(subject string, n lineshaft.FileProblem) {
	if f.noticed[subject] {
		return
	}
	if f.noticed == nil {
		f.noticed = map[string]bool{}
	}
	f.noticed[subject] = true
	f.notices = append(f.notices, n)
}
