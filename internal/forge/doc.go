// Package forge knows the events of code forges: it reads what GitHub and GitLab
// send to a webhook, names the event as triggers do, and matches triggers.
//
// It is pure. Whether a request is authentic was decided before, and which webhooks
// a trigger listens to is decided by whoever holds them. A Matcher does not change
// once made and may be used by many goroutines; an Event belongs to one of them.
//
// # What an event says
//
// A body is read with tolerance: what is missing, or of another shape than the forge
// documents, is a value that is not there. A filter's in then fails and its not_in
// passes. Of several values, such as labels, in wants one of its own and not_in none.
//
//   - repos, labels, authors and conclusions are compared without regard to case,
//     branches and paths with it.
//   - In repos, branches, base_branches and paths, ? is one character and * any
//     number of them, but no slash; ** is anything, and **/ any number of folders,
//     also none.
//   - labels of an event that puts a label on or takes one off are that label alone;
//     otherwise all labels of the issue or pull request.
//   - authors are who wrote what the event is about: the issue, the pull request, the
//     comment, the review; of a push, who pushed. GitLab does not say who wrote an
//     issue or a merge request; there it is always who did what the event tells.
//   - paths are the files that the commits of a push add, change or remove.
package forge
