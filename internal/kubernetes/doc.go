// Package kubernetes places executions in a cluster: one Job for each.
//
// A Launcher claims runs like any worker, but it runs no agent. It makes a Job whose
// pod holds the ordinary worker for that one execution (the hidden command `lineshaft
// execute`), and watches what becomes of it. The pod takes the execution over from the
// launcher with its first call to the server, and from then on it alone keeps the
// lease: whatever happens to the launcher or to the cluster's API, an agent lives only
// as long as it reaches its server itself. When a pod ends without having said how,
// the launcher takes the execution back and reports it.
//
// The package speaks the API through net/http, with the few fields that are needed.
package kubernetes
