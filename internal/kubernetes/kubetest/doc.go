// Package kubetest is a cluster for tests: an API server that follows the published
// API for the few kinds of objects that are used, the part of the controllers that
// makes pods of Jobs, and a kubelet that runs the commands of pods as local processes.
//
// The kubelet and Admin speak to any API server; the API server here is scripted.
package kubetest
