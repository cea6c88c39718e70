// Package flowgate holds the rules that tie the module together, as tests: which package may import which, what the
// pure packages must not touch, and how big a file may grow. There is nothing to import here.
//
// Flowgate runs durable workflows that wait for the outside world. Hosts use spec to declare a workflow, engine to write
// and run it, and app to serve it.
package flowgate
