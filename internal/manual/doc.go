// Package manual renders the documentation for the binary: pages at /docs with a search
// of their own, and the same pages as static files. Nothing is fetched from another host.
package manual
