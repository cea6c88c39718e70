// Package spec is the vocabulary an author declares a workflow with: the WorkflowSpec and what it lists, the identifiers
// callers choose, hook metadata, labels, and the limits of each. It is pure data with its validation. It must not know
// events, storage, HTTP or how a workflow runs, and it imports only the standard library.
package spec
