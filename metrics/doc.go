// Package metrics shows what a process counts, and what its database holds, as Prometheus series. It is the only package
// that knows their names. Every label is a word of a fixed set or a name of the operator's configuration: none was sent by a
// caller, and none names a namespace, a run, a workflow or an address.
package metrics
