// Package catalog is the one table of what triggers can be about: which events each
// provider has, which keys filter them, how the values of a key are written and
// compared, and where an event has them. Triggers are checked against it, schemas and
// documentation are made from it, and deliveries are matched with it.
//
// It is pure. Whether a request is authentic was decided before, and which webhooks
// a trigger listens to is decided by the caller, who holds them. A Matcher does not
// change once made and may be used by many goroutines; an Event belongs to one of them.
//
// # What an event says
//
// A body is read with tolerance: what is missing, or of another shape than the provider
// documents, is a value that is not there. A filter's in then fails and its not_in
// passes. Of several values, such as labels, in wants one of its own and not_in none.
// A value that the provider never sends, such as the files of a pull request, cannot be
// judged: a filter on it fails either way, and Notices says so.
//
//   - labels of an event that puts a label on or takes one off are that label alone;
//     otherwise all labels of the issue or pull request. assignees are alike.
//   - authors are who wrote what the event is about: the issue, the pull request, the
//     comment, the review; of a push, who pushed. GitLab does not say who wrote an
//     issue or a merge request; there it is always who did what the event reports.
//   - paths are the files that the commits of a push add, change or remove.
//   - mentioned are those whom a person mentions in a new text, outside of code.
package catalog
