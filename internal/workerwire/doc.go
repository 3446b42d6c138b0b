// Package workerwire is what a self-hosted worker and a server say to each other
// over HTTP: the paths, the bodies, and how they become the nouns of the root
// package. Both sides use it, so they cannot drift apart within one version; between
// versions unknown fields are skipped and new ones are optional.
//
// Jobs carry secrets. The root package hides them when it is encoded; here, and only
// here, they are spelt out. Nothing of this package may be logged.
package workerwire
